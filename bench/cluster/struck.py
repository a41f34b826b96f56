"""This project's operations while a member is hit in the middle of them, each seen from its receivers."""

import signal
import time

from course import Course
from links import Links
from operations import Operation
from processes import Failed, soon
from transfers import MIB

LOOK_AHEAD = 100_000_000  # nanoseconds before the blow, in which it is found out which node feeds which
SETTLE = 16 * MIB  # bytes of a broadcast that comes first and measures the links
STEP = 0.02  # seconds between receivers that ask in turn, so that it is known who is where in the line
RECOVERY = 1000  # milliseconds, the programs' default
SPARE = 1  # sources that a reduction can do without
SPARE_COMES = 200_000_000  # nanoseconds after the beginning of an allreduce
MEMBER = 2  # the host that dies in an allreduce, where all members do the same


class Struck:
    """`with Struck(hoplite, bed) as struck:` a new cluster; everything of it is killed at the end."""

    def __init__(self, hoplite, bed):
        self._hoplite = hoplite
        self._bed = bed

    def __enter__(self):
        try:
            self._hoplite.start(self._bed)
            self._hoplite.run([Operation("broadcast", SETTLE)])
        except Failed:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self._hoplite.kill()

    def broadcast(self, size, delay, blow):
        """blow(agent, host) falls on a relay; without a delay on nobody."""
        name, moment = self._begin_broadcast(size, 0.0)
        return self._course(lambda: self._inner(0, name, 0), moment, range(1, len(self._nodes())), delay, blow)

    def reduce(self, size, delay, blow):
        """blow(agent, host) falls on an inner node; the first host asks, and sees the sum come."""
        count = len(self._nodes())
        name = self._hoplite.sources(Operation("reduce", size))
        moment = soon()
        self._nodes()[0].tell("reduce_first", name, count, count - SPARE, size, moment, "here")
        return self._course(lambda: self._inner(1, name, count), moment, [0], delay, blow)

    def allreduce(self, size, delay, blow):
        """blow(agent, host) falls on a member of the ring. The last host's source, the spare one, comes when the others
        have begun; all hosts see the sum come."""
        nodes = self._nodes()
        count = len(nodes)
        name = self._hoplite.sources(Operation("reduce", size), late=True)
        moment = soon()
        nodes[0].tell("reduce_first", name, count, count - SPARE, size, moment, "everywhere")
        nodes[-1].tell("source", name, count - 1, size, moment + SPARE_COMES)
        for node in nodes[1:]:
            node.tell("follow_total", name, count, count - SPARE, size, moment)
        nodes[-1].answer()
        return self._course(lambda: MEMBER, moment, range(count), delay, blow)

    def past_slow(self, size, rate):
        """The second node of a line has had a slow link since the last broadcast; seen from the others."""
        slow = 2
        self._bed.reshape(self._bed.hosts[slow], rate)
        _, moment = self._begin_broadcast(size, STEP)
        others = [number for number in range(1, len(self._nodes())) if number != slow]
        return self._course(None, moment, others, None, None)

    def hold(self, count, size):
        """Objects on all nodes, so many together."""
        self._hoplite.prepare(size)
        nodes = self._nodes()
        for number, node in enumerate(nodes):
            share = len(range(number, count, len(nodes)))
            node.tell("put", f"held-{number}", share, size, 0, 0)
        for node in nodes:
            node.answer()

    def restart_directory(self, size):
        """Seconds from its death to the first get from another node, and to the first put."""
        putter, getter, creator = self._nodes()[:3]
        there, new = self._hoplite.new_name(), self._hoplite.new_name()
        putter.ask("put", there, 1, size, 0, 0)
        killed = time.monotonic_ns()
        self._hoplite.directory.signal(signal.SIGKILL)
        self._hoplite.directory.process.wait()
        getter.tell("get", there, 1, size, 0, 0)
        creator.tell("put", new, 1, size, 0, 0)
        self._hoplite.restart_directory(RECOVERY)
        return tuple((node.answer()["ends"][0] - killed) / 1e9 for node in (getter, creator))

    def _nodes(self):
        return self._hoplite.nodes

    def _begin_broadcast(self, size, step):
        """Begins a broadcast and gives its name and moment; all hosts but the first ask, one every `step` seconds."""
        name = self._hoplite.new_name()
        self._hoplite.prepare(size)
        self._nodes()[0].ask("put", name, 1, size, 0, 0)
        moment = soon()
        for place, node in enumerate(self._nodes()[1:]):
            node.tell("follow", name, size, moment + int(place * step * 1e9))
        return name, moment

    def _course(self, choose, moment, receivers, delay, blow):
        """Waits for these receivers' answers. choose(): the number of the node on which the blow falls."""
        links = Links([self._bed.hosts[number] for number in receivers])
        victim, struck = self._strike(links, choose, moment, delay, blow)
        agents = {self._bed.hosts[number].name: self._nodes()[number] for number in receivers if number != victim}
        links.look_until(lambda: all(agent.says_something() for agent in agents.values()))
        answers = {name: agent.answer() for name, agent in agents.items()}
        return Course(begin=min(answer["begins"][0] for answer in answers.values()),
                      end=max(answer["ends"][0] for answer in answers.values()),
                      flows={name: links.flows[name] for name in agents},
                      struck=struck,
                      arrivals={name: list(zip(answer["times"], answer["bytes"]))
                                for name, answer in answers.items()})

    def _strike(self, links, choose, moment, delay, blow):
        """Hits a member: which one it was, and when."""
        if delay is None:
            return None, None
        moment += int(delay * 1e9)
        links.look_until_moment(moment - LOOK_AHEAD)
        victim = choose()
        links.look_until_moment(moment)
        struck = time.monotonic_ns()
        blow(self._nodes()[victim], self._bed.hosts[victim])
        return victim, struck

    def _inner(self, witness, *thing):
        """The number of a node that is fed, and feeds, and is not the first host. witness: the number of a node that
        can be asked which node feeds which with this object."""
        pairs = self._nodes()[witness].ask("feeds", *thing)["feeds"]
        names = [host.name for host in self._bed.hosts]
        inner = {origin for origin, _ in pairs} & {to for _, to in pairs} - {names[0]}
        if not inner:
            raise Failed(f"nobody relays: {pairs}")
        return names.index(sorted(inner)[len(inner) // 2])
