"""This project in the comparison: a directory and one node on each host, through the public API."""

import itertools
import time

from operations import Operation, Sample
from processes import Agent, processor_seconds

LEAD = 30_000_000  # nanoseconds from telling the processes to the moment at which they act
WARM_UP = 256 << 10  # bytes: connections are open before the first figure


class Hoplite:
    """Runs as long as its testbed: its nodes wait without using the processor."""

    name = "hoplite"

    def __init__(self, program, memory, directory_with_source=False):
        self._program = program
        self._memory = memory  # of each node's store, in bytes
        self._directory_with_source = directory_with_source
        self._numbers = itertools.count()
        self._agents = []

    def start(self, bed):
        place = bed.hosts[0] if self._directory_with_source else bed.control
        self.directory = self._start(place)
        address = self.directory.ask("directory", f"{place.address}:0")["address"]
        self.nodes = [self._start(host) for host in bed.hosts]
        for node, host in zip(self.nodes, bed.hosts):
            node.tell("node", host.name, f"{host.address}:0", address, self._memory)
        for node in self.nodes:
            node.answer()
        self.run([Operation("broadcast", WARM_UP)])

    def _start(self, host):
        agent = Agent(host.command(self._program))
        self._agents.append(agent)
        return agent

    def stop(self):
        for agent in reversed(self._agents):
            agent.close()
        self._agents.clear()

    def run(self, operations):
        """A sample for each operation, each with an object of its own."""
        return [self._transfer(operation) for operation in operations]

    def _transfer(self, operation):
        receivers = self.nodes[1:] if operation.kind == "broadcast" else self.nodes[1:2]
        name = self.new_name()
        self.prepare(operation.size)
        self.nodes[0].ask("put", name, 1, operation.size, 0, 0)
        moment = time.monotonic_ns() + LEAD
        step = int(operation.step * 1e9)
        for place, node in enumerate(receivers):
            node.tell("get", name, 1, operation.size, moment + place * step, 0)
        answers = [node.answer() for node in receivers]
        self.delete(name)
        return Sample([a["begins"][0] for a in answers], [a["ends"][0] for a in answers])

    def series(self, count, size, gets_first, step=4_000_000):
        """Small objects one by one from the first to the second host: the moments of puts and of gets."""
        name = self.new_name()
        putter, getter = self.nodes[:2]
        self.prepare(size)
        moment = time.monotonic_ns() + LEAD
        getter.tell("get", name, count, size, moment + (-step if gets_first else step) // 2, step)
        puts = putter.ask("put", name, count, size, moment, step)
        gets = getter.answer()
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
        time.sleep(1)  # everybody is blocked
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
