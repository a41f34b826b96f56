"""A Ray program on the testbed's first host, as an agent (see agent.h): actors on all hosts, and what they do.

  join MEMORY                               {}: an actor on each host, those of Hoplite with nodes of MEMORY
  broadcast WAY BYTES                       {"begins":[...],"ends":[...]}: an array of the first actor, by all others
  reduce WAY BYTES                          likewise: the sum of an array of each, at the first one
  allreduce WAY BYTES                       likewise: at all of them, who ask before the sum is begun
  calls WAY COUNT BYTES                     {"times":[...]}: nanoseconds from the first actor's call of the second one
                                            until that has the array that it was given
  async_sgd WAY STEPS, serving WAY STEPS    {"times":[...]}: nanoseconds of each step of the workload
  play WORKLOAD WAY POLICY STEPS            {"times":[...],"seconds":[...],"returns":[...],"computing":...}: of a3c or
                                            impala with a policy of that size, on actors of its own: nanoseconds of each
                                            step after the first; of all, seconds since the beginning and returns then; the
                                            part of the time that it computes
  worker WORKLOAD WAY NUMBER                {"pid":...}: the process of that one of its actors
  killed WORKLOAD WAY STEPS STRIKE PID...   {"times":[...]}: as the workload's own; in the middle of step STRIKE, from
                                            0 on, these processes are killed

WAY is how arrays travel: `ray`, plain Ray; `hoplite`, handles of hoplite.ray; `transport`, Ray's own handles over the
transport of hoplite.ray, for broadcasts and calls; for calls also `ray_put`, where `ray` hands over the array itself.
Moments are of CLOCK_MONOTONIC, which all hosts share. What an actor is given is compared after the clock was read.
A step of a workload is what examples/ray and examples/workloads say, on actors on all hosts but the first one.
"""

import itertools
import os
import signal
import statistics
import threading
import time

import a3c
import async_sgd
import frame
import hoplite.ray
import impala
import numpy as np
import policy
import ray
import serving
from answering import answer_all
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
from transports import TRANSPORTS

PERIOD = 1021  # of the numbers, as in agent.h
LEAD = 100_000_000  # nanoseconds from telling the actors to the moment at which they act
PATIENCE = 100.0  # seconds
WARM_UP_CALLS = 20
WARM_UP_STEPS = 1


def places(count):
    return np.resize(np.arange(PERIOD, dtype=np.float32), count)


def element(rank, count):
    return places(count) + np.float32(rank)


def total(ranks, count):
    return places(count) * np.float32(ranks) + np.float32(ranks * (ranks - 1) // 2)


def require_equal(got, wanted):
    if not np.array_equal(got, wanted):
        raise RuntimeError("wrong bytes")


class PlainRay:
    """Big arrays are Ray's own objects. A handle stands in a list: Ray then leaves it to the actor to get it."""

    def put(self, array):
        return ray.put(array)

    def get(self, handle):
        return ray.get(handle, timeout=PATIENCE)

    def sum(self, handles):
        arrays = self.get(handles)
        result = arrays[0].copy()
        for array in arrays[1:]:
            result += array
        return result


class ByHoplite:
    """Big arrays are objects of hoplite.ray."""

    def put(self, array):
        return hoplite.ray.put(array)

    def get(self, handle):
        return hoplite.ray.get(handle, timeout=PATIENCE)

    def sum(self, handles):
        return hoplite.ray.reduce(handles).get(timeout=PATIENCE)


class ByTransport(PlainRay):
    """Ray's own objects, whose bytes hoplite.ray carries."""

    def put(self, array):
        return ray.put(array, _tensor_transport="hoplite_numpy")


WAYS = {"ray": PlainRay(), "hoplite": ByHoplite(), "transport": ByTransport()}
PUTS = {"ray": lambda array: array, "ray_put": ray.put, "hoplite": hoplite.ray.put, "transport": WAYS["transport"].put}


class Member:
    """An actor: it has an array of its own, gets those of others, and calls another one. Each host has one."""

    def __init__(self, rank):
        self._rank = rank

    def put(self, way, size):
        """A handle of its array; it lies in the store of this host."""
        return [WAYS[way].put(element(self._rank, size // 4))]

    def fetch(self, way, box, moment):
        """Moments of asking and having; and what it has, to be compared later."""
        begin = at(moment)
        self._got = WAYS[way].get(box[0])
        return begin, time.monotonic_ns()

    def sum(self, way, handles, moment):
        begin = at(moment)
        self._got = WAYS[way].sum(handles)
        return begin, time.monotonic_ns()

    def sum_for_all(self, handles, moment):
        """Plain Ray's: what it returns is the handle that the others have asked for already."""
        at(moment)
        return WAYS["ray"].sum(handles)

    def compare(self, rank, ranks, size):
        """With the array of `rank`, or with the sum of so many. Drops what it has."""
        wanted = element(rank, size // 4) if rank is not None else total(ranks, size // 4)
        require_equal(self._got, wanted)
        self._got = None

    def calls(self, way, other, count, size):
        """Nanoseconds of each: from here until the other one has the array."""
        array = element(self._rank, size // 4)
        times = []
        for _ in range(WARM_UP_CALLS + count):
            begin = time.monotonic_ns()
            times.append(ray.get(other.take.remote(PUTS[way](array)), timeout=PATIENCE) - begin)
        return times[WARM_UP_CALLS:]

    def take(self, given):
        array = hoplite.ray.get(given) if isinstance(given, hoplite.ray.Ref) else given
        moment = time.monotonic_ns()
        require_equal(array[:1], element(0, 1))
        return moment


def at(moment):
    time.sleep(max(0.0, (moment - time.monotonic_ns()) / 1e9))
    return time.monotonic_ns()


class Program:
    def join(self, memory):
        ray.init(log_to_driver=False, logging_level="warning")
        hoplite.ray.init(memory=int(memory))
        here = ray.get_runtime_context().get_node_id()
        others = sorted(node["NodeID"] for node in ray.nodes() if node["Alive"] and node["NodeID"] != here)
        self._hosts = [here, *others]
        self._members = [actor(Member, host, rank, enable_tensor_transport=True) for rank, host in enumerate(self._hosts)]
        self._started = {}  # actors of the workloads: processes that have learned or read already
        for way in WAYS:
            self.broadcast(way, 1 << 18)
        return {}

    def broadcast(self, way, size):
        first, *others = self._members
        box = ray.get(first.put.remote(way, int(size)))
        moment = time.monotonic_ns() + LEAD
        moments = ray.get([one.fetch.remote(way, box, moment) for one in others], timeout=PATIENCE)
        ray.get([one.compare.remote(0, None, int(size)) for one in others])
        return as_answer(moments)

    def reduce(self, way, size):
        handles, root = self._sources(way, int(size)), self._members[0]
        moments = [ray.get(root.sum.remote(way, handles, time.monotonic_ns() + LEAD), timeout=PATIENCE)]
        ray.get(root.compare.remote(None, len(self._members), int(size)))
        return as_answer(moments)

    def allreduce(self, way, size):
        handles = self._sources(way, int(size))
        moment = time.monotonic_ns() + 2 * LEAD
        if way == "ray":
            result = self._members[0].sum_for_all.remote(handles, moment)
            # The first one's answer to itself is there when it has summed.
            asking = [one.fetch.remote(way, [result], 0) for one in self._members]
        else:
            target = hoplite.ray.new_ref()
            asking = [one.fetch.remote(way, [target], 0) for one in self._members]
            at(moment)
            result = hoplite.ray.reduce(handles, ref=target, everyone_reads=True)
        ends = [end for _, end in ray.get(asking, timeout=PATIENCE)]
        if way != "ray":
            result.wait(PATIENCE)
        ray.get([one.compare.remote(None, len(self._members), int(size)) for one in self._members])
        return {"begins": [moment], "ends": ends}

    def calls(self, way, count, size):
        first, second = self._members[:2]
        return {"times": ray.get(first.calls.remote(way, second, int(count), int(size)))}

    def async_sgd(self, way, steps):
        return self._steps("async_sgd", way, int(steps))

    def serving(self, way, steps):
        return self._steps("serving", way, int(steps))

    def play(self, workload, way, size, steps):
        units, transport = policy.SIZES[size], TRANSPORTS[way]()
        actors = [actor(PLAYS[workload].Worker, host, transport, seed, units, frame.ENVIRONMENT)
                  for seed, host in enumerate(self._hosts[1:])]
        try:
            ray.get([one.seconds.remote() for one in actors])
            done = list(itertools.islice(PLAYS[workload].updates(transport, actors, units), WARM_UP_STEPS + int(steps)))
            computing = frame.compute(done, actors).share
        finally:
            for one in actors:
                ray.kill(one)
        return {"times": [int(one.took * 1e9) for one in done[WARM_UP_STEPS:]], "seconds": [one.seconds for one in done],
                "returns": [one.score for one in done], "computing": computing}

    def worker(self, workload, way, number):
        actors = self._actors(workload, way)
        # After a blow: all of them work again.
        ray.get([one.seconds.remote() for one in actors], timeout=PATIENCE)
        asked = actors[int(number) % len(actors)].__ray_call__.remote(lambda _: os.getpid())
        return {"pid": ray.get(asked, timeout=PATIENCE)}

    def killed(self, workload, way, steps, strike, *pids):
        blow = Blow(WARM_UP_STEPS + int(strike), [int(pid) for pid in pids])
        answer = self._steps(workload, way, int(steps), blow)
        if not blow.fell:
            raise RuntimeError("nobody was killed")
        return answer

    def _steps(self, workload, way, count, blow=None):
        actors = self._actors(workload, way)
        steps = STEPS[workload](TRANSPORTS[way](), actors)
        seconds = []
        for one in itertools.islice(steps, WARM_UP_STEPS + count):
            seconds.append(one)
            if blow is not None:
                blow.falls_soon(seconds)
        if blow is None:
            # Those that were computing when it ended: the next run is not to wait for them.
            ray.get([one.seconds.remote() for one in actors])
        return {"times": [int(one * 1e9) for one in seconds[WARM_UP_STEPS:]]}

    def _sources(self, way, size):
        return [box[0] for box in ray.get([one.put.remote(way, size) for one in self._members])]

    def _actors(self, workload, way):
        """One on each host but the first one, where this program is; they stay for the next run."""
        if (workload, way) not in self._started:
            (kind, *arguments), transport = ACTORS[workload], TRANSPORTS[way]()
            actors = [actor(kind, host, transport, number, *arguments, max_restarts=-1)
                      for number, host in enumerate(self._hosts[1:])]
            ray.get([one.seconds.remote() for one in actors])
            self._started[workload, way] = actors
        return self._started[workload, way]


class Blow:
    """Kills processes in the middle of a step."""

    def __init__(self, step, pids):
        self._step = step
        self._pids = pids
        self.fell = False

    def falls_soon(self, seconds):
        """Of the steps until now; called at the end of each."""
        if len(seconds) == self._step:
            threading.Timer(statistics.median(seconds) / 2, self._fall).start()

    def _fall(self):
        for pid in self._pids:
            os.kill(pid, signal.SIGKILL)
        self.fell = True


def learning(transport, workers):
    return (seconds for _, seconds in async_sgd.steps(transport, workers))


def voting(transport, models):
    for seconds, right in serving.queries(transport, models):
        if right < serving.WANTED:
            raise RuntimeError(f"the vote read {right:.0%} of the pictures")
        yield seconds


def playing(transport, workers):
    return (update.took for update in a3c.updates(transport, workers))


STEPS = {"async_sgd": learning, "serving": voting, "a3c": playing}
# Classes, and what they are given beside the transport and a number.
ACTORS = {"async_sgd": (async_sgd.Worker,), "serving": (serving.Model,), "a3c": (a3c.Worker, frame.UNITS, frame.ENVIRONMENT)}
PLAYS = {"a3c": a3c, "impala": impala}


def actor(kind, host, *arguments, **options):
    place = NodeAffinitySchedulingStrategy(host, soft=False)
    return ray.remote(kind).options(num_cpus=0, scheduling_strategy=place, **options).remote(*arguments)


def as_answer(moments):
    return {"begins": [begin for begin, _ in moments], "ends": [end for _, end in moments]}


def main():
    # Ray, too, writes to standard output, of workers that have died: nobody reads that.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    answer_all(Program(), answers)


if __name__ == "__main__":
    main()
