"""Plays one round on a cluster: calls and faults at their moments, then rest.

Decides nothing of its own: the plan says what happens, model.py what is right, and `at_rest` that a
cluster after the round is as it was before.
"""

import heapq
import itertools
import hashlib
import json
import os
import selectors
import subprocess
import time

from members import CONNECTION, PATIENCE, Trouble
from model import MARGIN, Ending, Judge, bytes_of
from plan import NODES, Content

HELD = 5.0  # seconds within which everything that the round made is gone after its deletion
DRAINED = 75.0  # seconds after which connections that rest are closed, and a little more
INPUT = "in"  # suffix of the names of files to be put
LOOK = 0.15  # seconds between two looks


def id_of(name):
    """The id of an object, as 40 hexadecimal digits."""
    return hashlib.sha1(name.encode()).hexdigest()


class Running:
    """The process of a call."""

    def __init__(self, call, cluster, folder):
        self.call = call
        self._folder = folder
        self._files = [folder / f"{call.number}.{ending}"
                       for ending in (INPUT, "out", "stdout", "stderr")]
        source, self._output, self._stdout, self._stderr = self._files
        with open(self._stdout, "wb") as stdout, open(self._stderr, "wb") as stderr:
            command = cluster.bulk_command(call) if call.count else cluster.command(call.node, *self._words(source))
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr,
                                            start_new_session=True)
        self.descriptor = os.pidfd_open(self.process.pid)

    def _words(self, source):
        call = self.call
        timeout = ("--timeout", f"{int(call.timeout * 1000)}ms")
        if call.kind == "put":
            return "put", source, "--id", id_of(call.thing), *timeout
        if call.kind == "get":
            return "get", id_of(call.thing), "--output", self._output, *timeout
        if call.kind == "delete":
            return "delete", id_of(call.thing), *timeout
        asked = call.sum
        return ("reduce", "--op", asked.op, "--dtype", asked.dtype, "--num-objects", asked.count,
                "--target", id_of(call.thing), *(["--everyone-reads"] if asked.everyone_reads else []),
                *map(id_of, asked.sources), *timeout)

    def ending(self, began, ended):
        """How the call ended, from its process, which has ended."""
        os.close(self.descriptor)
        ending = Ending(began, ended, self.process.wait(),
                        self._stderr.read_text(encoding="utf-8", errors="replace").strip())
        if ending.status == 0:
            if self.call.kind == "get":
                ending.data = self._output.read_bytes()
            if self.call.kind == "reduce":
                answer = json.loads(self._stdout.read_text(encoding="utf-8"))
                names = {id_of(name): name for name in self.call.sum.sources}
                ending.used = [names[one] for one in answer["used"]]
                ending.unused = [names[one] for one in answer["unused"]]
        for path in self._files:
            path.unlink(missing_ok=True)
        return ending


class Round:
    """One plan on one cluster."""

    def __init__(self, plan, cluster, folder):
        self.plan = plan
        self._cluster = cluster
        self._folder = folder
        self._start = time.monotonic()
        self._queue = []
        self._order = itertools.count()
        self._running = {}
        self._endings = {}
        self._begun = {}
        self._hits = []
        self._starting = 0  # members
        self._lag = 0.0  # the most that this process was late itself: the machine is shared
        self._selector = selectors.DefaultSelector()

    def play(self):
        """What was wrong: a list of sentences."""
        for call in self.plan.calls:
            if call.kind == "put":
                (self._folder / f"{call.number}.{INPUT}").write_bytes(bytes_of(call.content))
            self._at(call.at, self._begin, call)
        for fault in self.plan.faults:
            self._at(fault.at, self._strike, fault)
        self._start = time.monotonic()
        while self._queue or self._running or self._starting:
            self._step()
        self._selector.close()
        return Judge(self.plan, self._hits, self._lag).complaints(self._endings)

    def tell(self):
        """One line for each call: when it ended, and how."""
        for call in self.plan.calls:
            ending = self._endings[call.number]
            how = ending.error or {0: "ok"}.get(ending.status, f"status {ending.status}")
            print(f"  {ending.began:6.2f} {ending.ended:6.2f}  {call.number:2} {call.kind:6} "
                  f"{call.thing} at n{call.node}: {how}")

    def _now(self):
        return time.monotonic() - self._start

    def _at(self, moment, act, *arguments):
        heapq.heappush(self._queue, (moment, next(self._order), act, arguments))

    def _step(self):
        """The next event: a moment of the plan, or the end of a process."""
        wait = max(0.0, self._queue[0][0] - self._now()) if self._queue else 1.0
        for key, _ in self._selector.select(min(wait, 1.0)):
            act, *arguments = key.data
            act(*arguments)
        self._end_hanging()
        while self._queue and self._queue[0][0] <= self._now():
            moment, _, act, arguments = heapq.heappop(self._queue)
            self._lag = max(self._lag, self._now() - moment)
            act(*arguments)

    def _begin(self, call):
        self._begun[call.number] = self._now()
        running = Running(call, self._cluster, self._folder)
        self._running[call.number] = running
        self._selector.register(running.descriptor, selectors.EVENT_READ, (self._ended, running))

    def _end_hanging(self):
        """Gives up calls that are far too late. The judge will complain of them; the round goes on."""
        for number, running in self._running.items():
            if self._now() > self._begun[number] + running.call.timeout + 3 * MARGIN:
                running.process.kill()

    def _ended(self, running):
        number = running.call.number
        self._selector.unregister(running.descriptor)
        del self._running[number]
        self._endings[number] = running.ending(self._begun[number], self._now())

    # Faults

    def _strike(self, fault):
        if fault.kind == "client":
            running = self._running.get(fault.call)
            if running:
                running.process.kill()
            return
        member = (self._cluster.nodes[fault.node] if fault.node is not None
                  else self._cluster.shards[fault.shard])
        kind = fault.kind
        if kind == "cut" and member.host.port is None:
            kind = "stop"
        begin = self._now()
        getattr(member, kind)()
        self._at(begin + fault.lasts, self._heal, fault, kind, member, begin)

    def _heal(self, fault, kind, member, begin):
        if kind == "kill":
            self._launch(fault, member, begin)
            return
        {"stop": member.go_on, "cut": member.connect}[kind]()
        self._hits.append((fault, begin, self._now()))

    def _launch(self, fault, member, begin):
        member.launch()
        self._selector.register(member.output, selectors.EVENT_READ, (self._launched, fault, member, begin))
        self._starting += 1

    def _launched(self, fault, member, begin):
        self._selector.unregister(member.output)
        self._starting -= 1
        if member.is_ready():
            self._hits.append((fault, begin, self._now()))
        else:
            self._at(self._now() + 0.1, self._launch, fault, member, begin)

    # Words

    def summary(self):
        codes = {}
        for ending in self._endings.values():
            codes[ending.code] = codes.get(ending.code, 0) + 1
        return {"round": self.plan.round, "seconds": round(self._now(), 2),
                "lag": round(self._lag, 2), "endings": codes,
                "faults": [f"{fault.kind} {fault.victim} at {begin:.2f}, back at {end:.2f}"
                           for fault, begin, end in self._hits]}


class Rest:
    """Whether a cluster is as it was when it was new. Keeps what that was."""

    def __init__(self, cluster, folder):
        self._cluster = cluster
        self._folder = folder
        self._new = {member.name: member.descriptors() for member in cluster.members()}

    def check(self, plan):
        """Complaints after a round. Uses the cluster as users would, then deletes everything."""
        try:
            self._everybody_is_there()
            if plan.shape.kind.memory:  # what was put fills the stores
                self._delete(plan)
            self._it_works(plan)
            self._delete(plan, self._probe(plan))
            return self._until_nothing_is_left()
        except Trouble as trouble:
            return [str(trouble)]

    def _everybody_is_there(self):
        for member in self._cluster.members():
            if not member.alive():
                raise Trouble(f"{member.name} has ended: {member.last_words()}")
        names = {node.name for node in self._cluster.nodes.values()}
        last = self._wait_for(lambda status: {node["name"] for node in status["nodes"] if node["alive"]} == names)
        if last:
            raise Trouble(f"not everybody is back: {last['nodes']}")

    def _it_works(self, plan):
        """One put, and gets of it."""
        content = Content(f"probe {plan.seed} {plan.round}", 100_000)
        path, copy = self._folder / "probe", self._folder / "probe-copy"
        path.write_bytes(bytes_of(content))
        name = self._probe(plan)
        putter = 1 + plan.round % NODES
        self._cluster.run(putter, "put", path, "--id", name)
        # The nodes that were hit, and one more.
        hit = {fault.node for fault in plan.faults if fault.node is not None}
        for number in hit | {putter % NODES + 1}:
            self._cluster.run(number, "get", name, "--output", copy, "--timeout", "5s")
            if copy.read_bytes() != bytes_of(content):
                raise Trouble(f"after the round n{number} got wrong bytes")
            copy.unlink()
        path.unlink()

    @staticmethod
    def _probe(plan):
        return id_of(f"probe-{plan.seed}-{plan.round}")

    def _delete(self, plan, *more):
        names = plan.things()
        for call in plan.calls:
            names += call.sum.sources if call.sum else ()
        many = {f"name:{call.thing}-{number}" for call in plan.calls for number in range(call.count)}
        node = 1 + plan.round * 5 % NODES
        self._cluster.run(node, "delete", *map(id_of, dict.fromkeys(names)), *sorted(many), *more,
                          "--timeout", f"{PATIENCE:.0f}s")

    def _until_nothing_is_left(self):
        last = self._wait_for(lambda status: not status["objects"] and not status["transfers"]
                              and not any(node["used_bytes"] for node in status["nodes"]))
        complaints = []
        if last:
            used = {node["name"]: node["used_bytes"] for node in last["nodes"]}
            complaints.append(f"left: {last['objects']}, {last['transfers']}, used bytes {used}")
        return complaints + self._left_open(HELD, pooled=True)

    def drained(self):
        """Complaints when connections that nobody uses should have been closed too."""
        return self._left_open(DRAINED, pooled=False)

    def _left_open(self, within, pooled):
        """Descriptors of which there are more than when the cluster was new; if `pooled` without
        connections between members, which are kept for a while."""
        deadline = time.monotonic() + within
        while True:
            more = {member.name: member.descriptors() - self._new[member.name]
                    for member in self._cluster.members()}
            if pooled:
                for kinds in more.values():
                    del kinds[CONNECTION]
            more = {name: dict(kinds) for name, kinds in more.items() if kinds}
            if not more:
                return []
            if time.monotonic() > deadline:
                return [f"descriptors left open: {more}"]
            time.sleep(LOOK)

    def _wait_for(self, good):
        """None when the shards' picture was good, else the last picture."""
        deadline = time.monotonic() + HELD
        while True:
            status = self._cluster.status()
            if good(status):
                return None
            if time.monotonic() > deadline:
                return status
            time.sleep(LOOK)
