"""What a runtime gains: arrays of a Ray program by handles of hoplite.ray, beside plain Ray; calls from Python."""

import dataclasses
import pathlib

from field import Field
from hosts import Testbed
from killed import Killed
from learning import Learning
from operations import Operation, Sample, format_rate, format_size
from processes import Agent, Failed
from ray_hosts import RayHosts
from rounds import Rounds, say
from rows import Goal, Row
from synchronous import MODELS, Ranks, Synchronous
from transfers import GIB, KIB, MIB

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
OURS, PLAIN, BARE = "hoplite", "ray", "bare stream"
PYTHON, CPP = "python", "c++"
BY_PUT = "ray, by ray.put"
TRANSPORT = "transport"
RATE = "100mbit"
STORE = 384 * MIB  # of each Ray node and of each of ours: what the largest case needs, and its last round's
LARGE_STORE = 768 * MIB  # for policies of 64 MiB, of which several are read at a time
JOINING = 180.0  # seconds until actors run on all hosts
WORKLOAD = 600.0  # seconds of all steps of one repetition
LOCAL = "at the node of this host"
PARTS = ("transfers", "workloads", "programs", "synchronous", "killed", "calls")


@dataclasses.dataclass(frozen=True)
class Plan:
    """What is measured; the goals are those of the whole one."""

    large: int = 16 * MIB
    medium: int = MIB
    small: int = KIB
    calls: int = 200
    transfer_hosts: int = 4
    workload_hosts: int = 8
    steps: int = 10
    updates: int = 60  # of a policy that is to learn; 0: none is
    large_steps: int = 5  # with a policy of 64 MiB
    networks: tuple = tuple(MODELS)  # whose gradients are averaged
    steps_around_a_blow: tuple = (24, 12)  # by handles; of plain Ray, whose steps take longer
    huge: int = GIB
    put: int = 256 * MIB
    gets: int = 2000
    with_goals: bool = True

    def goals(self, *goals):
        return list(goals) if self.with_goals else []


QUICK = Plan(large=4 * MIB, calls=50, workload_hosts=4, steps=3, updates=0, large_steps=1, networks=("resnet50",),
             steps_around_a_blow=(6, 6), huge=128 * MIB, put=64 * MIB, gets=500, with_goals=False)


class Program:
    """A Ray cluster on a testbed and ray_driver.py on its first host. Starts once, whoever asks for it first."""

    def __init__(self, python, package, memory=STORE):
        self._python = python
        self._package = package  # the folder that the package hoplite is in
        self._memory = memory  # of each store
        self._bed = None
        self._cluster = None
        self._agent = None

    def start(self, bed):
        if self._agent is not None:
            return
        self._bed = bed
        paths = [self._package, ROOT / "examples" / "ray", ROOT / "examples" / "workloads"]
        try:
            self._cluster = RayHosts(bed, self._python, paths, self._memory).__enter__()
            self._agent = Agent(bed.hosts[0].command(self._python, HERE / "ray_driver.py"), env=self._cluster.environment())
            self._agent.ask("join", self._memory, timeout=JOINING)
        except BaseException:
            self.stop()
            raise

    def stop(self):
        if self._agent is not None:
            self._agent.close()
            self._agent = None
        if self._cluster is not None:
            self._cluster.__exit__()
            self._cluster = None
            self._bed = None

    def ask(self, *words, timeout=WORKLOAD):
        return self._agent.ask(*words, timeout=timeout)

    def beside(self, pid, names):
        """Numbers of the processes of these names on the host where that one is."""
        for host in self._bed.hosts:
            there = list(host.processes())
            if pid in dict(there):
                return [number for number, name in there if name in names]
        raise Failed(f"process {pid} is on no host")


class Way:
    """A peer of the rounds: how the arrays of that program travel."""

    def __init__(self, name, program):
        self.name = name
        self._program = program
        self._bed = None

    def beside(self, name):
        """In the same program."""
        return Way(name, self._program)

    def start(self, bed):
        self._bed = bed
        self._program.start(bed)

    def stop(self):
        self._program.stop()

    def run(self, operations):
        return [self.sample(operation) for operation in operations]

    def sample(self, operation):
        answer = self._ask(operation.kind, self.name, operation.size)
        return Sample(answer["begins"], answer["ends"])

    def call_seconds(self, plan, name=None):
        """Of each call. name: of another way that the program knows for them."""
        return in_seconds(self._ask("calls", name or self.name, plan.calls, plan.small))

    def step_seconds(self, workload, steps):
        """Of each step."""
        return in_seconds(self._ask(workload, self.name, steps))

    def play(self, workload, policy, steps):
        """What ray_driver.py says of a3c or impala with a policy of that size."""
        return self._ask("play", workload, self.name, policy, steps)

    def steps_around_a_blow(self, workload, steps, strike, number, names):
        """Seconds of each step; in the middle of step `strike` the worker of that number is killed, and with it the
        processes of these names on its host."""
        worker = self._ask("worker", workload, self.name, number)["pid"]
        killed = [worker, *self._program.beside(worker, names)]
        if len(killed) != 1 + len(names):
            raise Failed(f"beside worker {worker} run {len(killed) - 1} of {', '.join(names)}")
        return [one / 1e9 for one in self._ask("killed", workload, self.name, steps, strike, *killed)["times"]]

    def _ask(self, *words):
        self._program.start(self._bed)  # the other one may have failed, and have ended it
        return self._program.ask(*words)


class Runtimes:
    """Runs the cases and collects their rows. peers: a Peers, for the bare stream; failures: sentences; only: of
    PARTS; hosts: of the workloads, instead of the plan's."""

    def __init__(self, peers, python, programs, repetitions, failures, quick, only=PARTS, hosts=None):
        self._peers = peers
        self._python = python
        self._package = programs.parent / "python"
        self._local_calls = programs / "local_calls"
        self._hoplite = programs / "hoplite"
        self._repetitions = repetitions
        self._failures = failures
        self._plan = QUICK if quick else Plan()
        if hosts:
            self._plan = dataclasses.replace(self._plan, workload_hosts=hosts)
        self._only = only
        self.rows = []
        self.timelines = []
        self.courses = []

    def run(self):
        parts = {"transfers": self.transfers, "workloads": self.workloads, "programs": self.programs,
                 "synchronous": self.synchronous, "killed": self.killed, "calls": self.local_calls}
        for part in PARTS:
            if part in self._only:
                parts[part]()

    def transfers(self):
        """Between actors of four hosts: what one operation takes."""
        plan = self._plan
        links = f"{plan.transfer_hosts} hosts x {format_rate(RATE)}"
        say(f"runtimes: arrays between actors; {links}")
        rows = {operation: Row(f"between actors, {operation.name}, {links}", "s", reference=BARE, goals=goals)
                for operation, goals in self._transfer_goals().items()}
        calls = Row(f"{format_size(plan.small)} from actor to actor, {links}", "s", reference=PLAIN)
        more = Row("what that takes longer by handles, and a put and a call by hoplite's transport", "s",
                   goals=plan.goals(*(Goal(f"at most 2 ms more than {name}", ours, 2e-3)
                                      for name, ours in ((PLAIN, OURS), (BY_PUT, TRANSPORT)))))
        bare, (plain, ours) = self._peers.bare(), self._ways()
        transport = ours.beside(TRANSPORT)
        with Testbed(plan.transfer_hosts, RATE) as bed, Rounds(bed, [bare, plain, ours], self._failures) as rounds:
            rounds.run(rows, self._repetitions)
            for _ in range(self._repetitions):
                say("  broadcasts by Ray over hoplite's transport, calls of actors")
                for operation in (one for one in rows if one.kind == "broadcast"):
                    sample = rounds.guarded(transport, lambda: transport.sample(operation))
                    rows[operation].add(TRANSPORT, sample and sample.seconds(operation.one_by_one))
                calls.add_steps(PLAIN, rounds.guarded(plain, lambda: plain.call_seconds(plan)))
                calls.add_steps(BY_PUT, rounds.guarded(plain, lambda: plain.call_seconds(plan, "ray_put")))
                calls.add_steps(OURS, rounds.guarded(ours, lambda: ours.call_seconds(plan)))
                calls.add_steps(TRANSPORT, rounds.guarded(transport, lambda: transport.call_seconds(plan)))
                more.add(OURS, difference(calls, OURS, PLAIN))
                more.add(TRANSPORT, difference(calls, TRANSPORT, BY_PUT))
        self.rows += [*rows.values(), calls, more]

    def _transfer_goals(self):
        """Operation -> its goals."""
        plan = self._plan

        def hops(limit, *names):
            return plan.goals(*(Goal(f"at most {limit} x S/B", name, limit, against=BARE) for name in names or [OURS]))

        return {
            Operation("broadcast", plan.large): hops(1.10, OURS, TRANSPORT),
            Operation("reduce", plan.large): hops(1.20),
            Operation("allreduce", plan.large): hops(2.3),
            Operation("broadcast", plan.medium): plan.goals(Goal("faster than ray", OURS, 1.0, against=PLAIN)),
        }

    def workloads(self):
        """async_sgd and serving of examples/ray, a3c and impala of examples/workloads: an actor on each host but the
        first one, where the driver is."""
        plan = self._plan
        links = f"{plan.workload_hosts} hosts x {format_rate(RATE)}"
        # By the paper, more hosts gain more.
        gains = {"async_sgd": 2.5, "serving": 3.3} if plan.workload_hosts < 16 else {"async_sgd": 5, "serving": 3.3}
        named = {workload: (self._titles()[workload], gain) for workload, gain in gains.items()}
        rows = {workload: Row(f"{name}, {links}", "s", reference=PLAIN, goals=plan.goals(
                    Goal(f"{gain} x as many a second as ray", OURS, 1 / gain, against=PLAIN)))
                for workload, (name, gain) in named.items()}
        say(f"runtimes: workloads; {links}")
        self.rows += rows.values()  # also those of an interrupted run
        learning = Learning(plan.workload_hosts, links, plan.updates, plan.with_goals, self._failures)
        try:
            with Testbed(plan.workload_hosts, RATE) as bed:
                ways = self._ways()
                with Rounds(bed, ways, self._failures) as rounds:
                    for number in range(1, self._repetitions + 1):
                        for workload, row in rows.items():
                            for way in ways:
                                say(f"  round {number} of {self._repetitions}: {workload}, {way.name}")
                                row.add_steps(way.name, rounds.guarded(way, lambda: way.step_seconds(workload, plan.steps)))
                    learning.run(ways, rounds, self._repetitions, plan.steps)
                ways = self._ways(LARGE_STORE)
                with Rounds(bed, ways, self._failures) as rounds:
                    learning.run_large(ways, rounds, plan.large_steps)
        finally:
            self.rows += learning.rows
            self.courses += learning.courses

    def programs(self):
        """Whole programs, started with an option and without."""
        plan = self._plan
        field = Field(self._python, self._package, plan.workload_hosts, RATE, self._repetitions, plan.with_goals, self._failures)
        try:
            field.run()
        finally:
            self.rows += field.rows

    def synchronous(self):
        """sync_sgd of examples/workloads: a rank on each host."""
        plan = self._plan
        links = f"{plan.workload_hosts} hosts x {format_rate(RATE)}"
        say(f"runtimes: synchronous training; {links}")
        ranks = Ranks(self._python, self._package, self._hoplite)
        cases = Synchronous(self._peers.mpich(), ranks, links, plan.with_goals, self._failures)
        try:
            with Testbed(plan.workload_hosts, RATE) as bed:
                cases.run(bed, plan.networks, self._repetitions, plan.steps)
        finally:
            self.rows += cases.rows

    def killed(self):
        """The same programs, while one of their actors dies."""
        plan = self._plan
        say(f"runtimes: killed workers; {plan.workload_hosts} hosts x {format_rate(RATE)}")
        plain, ours = self._ways()
        cases = Killed(self._titles(), dict(zip((OURS, PLAIN), plan.steps_around_a_blow)), self._repetitions,
                       plan.with_goals, self._failures)
        try:
            with Testbed(plan.workload_hosts, RATE) as bed:
                cases.run(bed, (ours, plain))
        finally:
            self.rows += cases.rows
            self.timelines += cases.timelines

    def _titles(self):
        workers = self._plan.workload_hosts - 1
        return {"async_sgd": f"asynchronous SGD, 8 MiB, first {workers // 2} of {workers} gradients, a step",
                "serving": f"serving, 16 MiB to {workers} models, a query",
                "a3c": f"A3C, 8 MiB, first {workers // 2} of {workers} gradients, a step"}

    def local_calls(self):
        """What Python adds to a call that needs no network: two programs at one node, in turn."""
        plan = self._plan
        say("runtimes: calls from Python and from C++")
        huge = Row(f"get of an array of {format_size(plan.huge)}, {LOCAL}", "s", reference=CPP,
                   goals=plan.goals(Goal("below 1 ms", PYTHON, 1e-3)))
        small = Row(f"get of {format_size(plan.small)}, {LOCAL}", "s", reference=CPP)
        more = Row("what that takes longer from Python", "s",
                   goals=plan.goals(Goal("below 20 µs", PYTHON, 20e-6)))
        awaited = Row(f"aget of {format_size(plan.small)}, {LOCAL}", "s",
                      goals=plan.goals(Goal("below 300 µs", PYTHON, 300e-6)))
        put = Row(f"put of {format_size(plan.put)}, {LOCAL}", "s", reference=CPP,
                  goals=plan.goals(Goal("at most 1.05 x c++", PYTHON, 1.05, against=CPP)))
        try:
            with LocalCalls(self._python, self._package, self._local_calls, plan) as calls:
                for _ in range(self._repetitions):
                    for series in (CPP, PYTHON):
                        huge.add_steps(series, calls.seconds(series, "get", plan.huge, 20))
                        small.add_steps(series, calls.seconds(series, "get", plan.small, plan.gets))
                        put.add_steps(series, calls.seconds(series, "put", plan.put, 3))
                    more.add(PYTHON, difference(small, PYTHON, CPP))
                    awaited.add_steps(PYTHON, calls.seconds(PYTHON, "aget", plan.small, plan.gets))
        except Failed as failure:
            self._failures.append(f"calls from Python: {failure}")
            say(f"  FAILED {failure}")
        self.rows += [huge, small, more, awaited, put]

    def _ways(self, memory=STORE):
        """Plain Ray and ours, in one Ray program: what one of them does not use does nothing. memory: of each store."""
        program = Program(self._python, self._package, memory)
        return Way(PLAIN, program), Way(OURS, program)


class LocalCalls:
    """`with LocalCalls(...) as calls:` one node, and a program of each language that is attached to it."""

    def __init__(self, python, package, program, plan):
        self._python = python
        self._package = package
        self._program = program
        self._plan = plan
        self._agents = {}

    def __enter__(self):
        plan = self._plan
        try:
            ours = Agent([str(self._python), str(ROOT / "bench" / "python" / "local_calls.py"), str(self._package)])
            self._agents[PYTHON] = ours
            socket = ours.ask("start", plan.huge + 4 * plan.put + 64 * MIB)["socket"]
            self._agents[CPP] = Agent([str(self._program)])
            self._agents[CPP].ask("attach", socket)
            for size in (plan.huge, plan.small):
                ours.ask("make", size)
            for agent in self._agents.values():
                agent.ask("put", plan.put, 2)  # its memory and the store's are warm
                for size in (plan.huge, plan.small):
                    agent.ask("get", size, 20)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for agent in reversed(self._agents.values()):
            agent.close()
        self._agents = {}

    def seconds(self, language, what, size, times):
        return in_seconds(self._agents[language].ask(what, size, times))


def in_seconds(answer):
    return [nanoseconds / 1e9 for nanoseconds in answer["times"]]


def difference(row, series, reference):
    """Of their last values."""
    mine, other = row.series[series][-1], row.series[reference][-1]
    return mine - other if mine is not None and other is not None else None
