"""This project in the comparison: a directory and one node on each host, through the public API."""

import contextlib
import dataclasses
import itertools
import signal
import time

from operations import Operation, Sample
from processes import Agent, Failed, processor_seconds, soon
from verdicts import EVERYONE_READS, OURS

WARM_UP = 256 << 10  # bytes: connections are open before the first figure


class Hoplite:
    """Runs as long as its testbed: its nodes wait without using the processor."""

    def __init__(self, program, memory, directory_with_source=False, name=OURS, disk=()):
        self.name = name
        self._program = program
        self._memory = memory  # of each node's store, in bytes
        self._directory_with_source = directory_with_source
        self._disk = disk  # of each node: a folder, and how many bytes of it
        self._numbers = itertools.count()
        self._agents = []

    def start(self, bed):
        self._bed = bed
        self.hosts = bed.hosts
        self._place = bed.hosts[0] if self._directory_with_source else bed.control
        address = self._start_directory(f"{self._place.address}:0", 0)  # each testbed is a new cluster
        self.nodes = [self._start(host) for host in bed.hosts]
        for node, host in zip(self.nodes, bed.hosts):
            node.tell("node", host.name, f"{host.address}:0", address, self._memory, *self._disk)
        for node in self.nodes:
            node.answer()
        self.run([Operation("broadcast", WARM_UP)])

    def _start(self, host):
        agent = Agent(host.command(self._program), **self.options_of(host))
        self._agents.append(agent)
        return agent

    def options_of(self, host):
        """How the process there is started, beside its command."""
        return {}

    def _start_directory(self, listen, collects):
        """collects: milliseconds in which the directory only learns what the nodes hold."""
        self.directory = self._start(self._place)
        self._address = self.directory.ask("directory", listen, collects)["address"]
        return self._address

    def restart_directory(self, collects):
        """A new process at the address of the last one."""
        self._start_directory(self._address, collects)

    def stop(self):
        for agent in reversed(self._agents):
            agent.close()
        self._agents.clear()

    def restart(self):
        """A new cluster on the same testbed."""
        self.stop()
        self.start(self._bed)

    def kill(self):
        """Ends all processes, whatever they are doing."""
        for agent in self._agents:
            agent.signal(signal.SIGKILL)
        self.stop()

    def run(self, operations):
        """A sample for each operation, each with objects of its own."""
        return [getattr(self, f"_{operation.kind}")(operation) for operation in operations]

    def _broadcast(self, operation):
        return self._transfer(operation, self.nodes[1:])

    def _point_to_point(self, operation):
        return self._transfer(operation, self.nodes[1:2])

    def _transfer(self, operation, receivers):
        name = self.new_name()
        self.prepare(operation.size)
        self.nodes[0].ask("put", name, 1, operation.size, 0, 0)
        moment = soon()
        step = int(operation.step * 1e9)
        for place, node in enumerate(receivers):
            node.tell("get", name, 1, operation.size, moment + place * step, 0)
        answers = [node.answer() for node in receivers]
        self.delete(name)
        return sample(answers)

    def _round_trip(self, operation):
        """The first host puts an object; the second one gets it and puts it again, for the first to get."""
        name = self.new_name()
        self.prepare(operation.size)
        moment = soon()
        first, second = self.nodes[:2]
        second.tell("round_trips", name, operation.times, operation.size, 0, 0)
        first.tell("round_trips", name, operation.times, operation.size, moment, 1)
        answers = [node.answer() for node in (first, second)]
        self.delete(name, 2 * operation.times)
        return sample(answers[:1])

    def _reduce(self, operation):
        """The first host asks, and has the target at the end; the last host's source may come late."""
        name = self.sources(operation, late=operation.late > 0)
        moment = soon()
        count = len(self.nodes)
        self.nodes[0].tell("reduce", name, count, operation.size, moment, operation.degree, "here")
        begins = [moment]
        if operation.late:
            self._tell_late_source(name, operation, moment)
            begins = self.nodes[-1].answer()["begins"]
        end = self.nodes[0].answer()["ends"]
        self.delete(name, count + 1)
        return Sample(begins, end)

    def _allreduce(self, operation):
        """The first host asks for the reduction, and everybody for its target."""
        if operation.spread:
            return self._growing_allreduce(operation)
        name = self.sources(operation, late=operation.late > 0)
        moment = soon()
        count = len(self.nodes)
        step = int(operation.step * 1e9)
        amid = moment + step * (count - 2) // 2  # half of the readers ask before the reduction is there
        self.nodes[0].tell("reduce", name, count, operation.size, amid, operation.degree, where(operation))
        if operation.late:
            self._tell_late_source(name, operation, moment)
        for place, node in enumerate(self.nodes[1:]):
            node.tell("total", name, count, operation.size, moment + place * step)
        arrival = self.nodes[-1].answer()["begins"] if operation.late else None
        answers = [node.answer() for node in self.nodes]
        self.delete(name, count + 1)
        whole = sample(answers)
        return Sample(arrival or whole.begins, whole.ends)

    def _growing_allreduce(self, operation):
        """Asked for before any source is there; each host reads the sum when it has put its own."""
        name = self._prepared_sources(operation)
        count = len(self.nodes)
        self.nodes[0].ask("begin_reduce", name, count, where(operation))
        moment = soon()
        for rank, node in enumerate(self.nodes):
            node.tell("source", name, rank, operation.size, moment + int(rank / (count - 1) * operation.spread * 1e9))
            node.tell("total", name, count, operation.size, moment)
        begins = [node.answer()["begins"][0] for node in self.nodes]
        ends = [node.answer()["ends"][0] for node in self.nodes]
        self.delete(name, count + 1)
        return Sample([max(begins)], ends)

    def _gather(self, operation, first=1, takers=1):
        """The first host gets the object of every other."""
        name = self.sources(operation)
        moment = soon()
        takers = self.nodes[:takers]
        for node in takers:
            node.tell("collect", name, first, len(self.nodes), operation.size, moment)
        answers = [node.answer() for node in takers]
        self.delete(name, len(self.nodes))
        return sample(answers)

    def _allgather(self, operation):
        """Everybody gets everybody's object."""
        return self._gather(operation, first=0, takers=len(self.nodes))

    def _reductions(self, operation):
        """As many reductions as hosts, each with an array of every host; each host asks for one and has its target."""
        names = [self.sources(operation) for _ in self.nodes]
        moment = soon()
        count = len(self.nodes)
        for name, node in zip(names, self.nodes):
            node.tell("reduce", name, count, operation.size, moment, operation.degree, "here")
        answers = [node.answer() for node in self.nodes]
        for name in names:
            self.delete(name, count + 1)
        return sample(answers)

    def _tell_late_source(self, name, operation, moment):
        """The last host puts its array that much after the moment, and answers when it began to."""
        arrival = moment + int(operation.late * 1e9)
        self.nodes[-1].tell("source", name, len(self.nodes) - 1, operation.size, arrival)

    def _prepared_sources(self, operation):
        """Makes one array on each host, for sources of this name."""
        for rank, node in enumerate(self.nodes):
            node.tell("prepare_source", rank, operation.size)
        for node in self.nodes:
            node.answer()
        return self.new_name()

    def sources(self, operation, late=False):
        """Puts one array on each host, but not on the last one if that is late; their common name."""
        name = self._prepared_sources(operation)
        early = self.nodes[:-1] if late else self.nodes
        for rank, node in enumerate(early):
            node.tell("source", name, rank, operation.size, 0)
        for node in early:
            node.answer()
        return name

    def series(self, count, size, gets_first, step=4_000_000, getters=1, watch=None):
        """Objects one by one from the first to the next hosts: the moments of puts and of each getter's gets.

        watch: a context in which all of it happens but what is prepared and deleted."""
        name = self.new_name()
        putter, *getting = self.nodes[: 1 + getters]
        self.prepare(size)
        with watch or contextlib.nullcontext():
            moment = soon()
            for getter in getting:
                getter.tell("get", name, count, size, moment + (-step if gets_first else step) // 2, step)
            puts = putter.ask("put", name, count, size, moment, step)
            gets = [getter.answer() for getter in getting]
        self.delete(name, count)
        return puts, gets

    def put_seconds(self, size):
        name = self.new_name()
        self.prepare(size)
        moments = self.nodes[0].ask("put", name, 1, size, 0, 0)
        self.delete(name)
        return (moments["ends"][0] - moments["begins"][0]) / 1e9

    def waiting_shares(self, seconds):
        """Each process's share of a core while all nodes wait for an object; the directory first."""
        name = self.new_name()
        for node in self.nodes:
            node.tell("wait", name, seconds + 2)
        time.sleep(1)  # until all of them are blocked
        agents = [self.directory, *self.nodes]
        before = [processor_seconds(agent.process.pid) for agent in agents]
        time.sleep(seconds)
        after = [processor_seconds(agent.process.pid) for agent in agents]
        for node in self.nodes:
            node.answer()
        return [(late - early) / seconds for early, late in zip(before, after)]

    def prepare(self, size):
        for node in self.nodes:
            node.tell("prepare", size)
        for node in self.nodes:
            node.answer()

    def delete(self, name, count=1):
        self.nodes[0].ask("delete", name, count)

    def new_name(self):
        """A name that no object had."""
        return f"object-{next(self._numbers)}"


class Varied:
    """The same nodes, with operations that differ in these fields."""

    def __init__(self, name, hoplite, **fields):
        self.name = name
        self._hoplite = hoplite
        self._fields = fields

    def start(self, bed):
        pass

    def stop(self):
        pass

    def run(self, operations):
        try:
            return self._hoplite.run([dataclasses.replace(one, **self._fields) for one in operations])
        except Failed:
            self._hoplite.restart()  # answers that nobody has read would be taken for those of what comes next
            raise


class NewClusters:
    """A new cluster for each operation. apart: its second and third host can't connect to each other, which its first
    operation meets."""

    def __init__(self, name, hoplite, apart):
        self.name = name
        self._hoplite = hoplite
        self._apart = apart

    def start(self, bed):
        self._bed = bed

    def stop(self):
        self._hoplite.stop()

    def run(self, operations):
        return [self._run(operation) for operation in operations]

    def _run(self, operation):
        second, third = self._bed.hosts[1:3]
        ways = [(second, third), (third, second)] if self._apart else []
        for one, other in ways:
            one.lose_route_to(other)
        try:
            self._hoplite.start(self._bed)
            return self._hoplite.run([operation] * (2 if operation.again else 1))[-1]
        finally:
            self._hoplite.stop()
            for one, other in ways:
                one.find_route_to(other)


def forced(hoplite, degree):
    """With a forced degree of the reductions' trees."""
    return Varied(f"degree {degree}", hoplite, degree=degree)


def everyone_reads(hoplite):
    """The nodes are told that every host of an allreduce reads the sum."""
    return Varied(EVERYONE_READS, hoplite, everyone_reads=True)


def where(operation):
    """Where the sum of an allreduce is wanted."""
    return "everywhere" if operation.everyone_reads else "anywhere"


def sample(answers):
    return Sample([answer["begins"][0] for answer in answers], [answer["ends"][0] for answer in answers])
