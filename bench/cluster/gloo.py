"""Gloo as a peer: torch.distributed on the processor, a rank in each of the testbed's namespaces."""

import itertools
import pathlib
import signal
import time

import jobs
from operations import of_ranks
from processes import Agent

HERE = pathlib.Path(__file__).parent
LEAD = 50_000_000  # nanoseconds from telling the ranks to the moment at which they act
WARM_UP = 256 << 10  # bytes: connections are open before the first figure
PORTS = itertools.count(29500)


class Gloo:
    """Ranks sleep while they wait, so they stay between their turns."""

    name = "gloo"

    def __init__(self, venv):
        self._command = (venv / "bin" / "python", HERE / "gloo_rank.py")
        self._ranks = []

    def start(self, bed):
        self._ranks = [Agent(host.command("env", "GLOO_SOCKET_IFNAME=eth0", *self._command))
                       for host in bed.hosts]
        address, port = bed.hosts[0].address, next(PORTS)
        for number, rank in enumerate(self._ranks):
            rank.tell("join", number, len(self._ranks), address, port)
        for rank in self._ranks:
            rank.answer()
        self._warm = set()

    def stop(self):
        for rank in self._ranks:
            rank.close()
        self._ranks = []

    def run(self, operations):
        return [self._run(operation) for operation in operations]

    def killed(self, bed, operation, delay):
        """As mpi.Ranks.killed. A rank that gets an error ends, as a program that expects none would."""
        self.start(bed)
        try:
            self._moments(operation.kind, WARM_UP, lambda rank: 0)
            begin = time.monotonic_ns() + LEAD
            for rank in self._ranks:
                rank.tell("run", operation.kind, operation.size, begin)
            return jobs.watch(bed, operation, begin, delay,
                              lambda number: self._ranks[number].signal(signal.SIGKILL), self._all_ended)
        finally:
            for rank in self._ranks:
                rank.signal(signal.SIGKILL)
            self.stop()

    def _all_ended(self):
        for rank in self._ranks:
            if rank.says_something():
                rank.signal(signal.SIGKILL)
        return all(rank.process.poll() is not None for rank in self._ranks)

    def _run(self, operation):
        if operation.kind not in self._warm:
            self._moments(operation.kind, WARM_UP, lambda rank: 0)
            self._warm.add(operation.kind)
        last = len(self._ranks) - 1
        answers = self._moments(operation.kind, operation.size, lambda rank: (
            rank * operation.step + (operation.late if rank == last else 0.0)), operation.times)
        return of_ranks(operation, [a["begins"][0] for a in answers], [a["ends"][0] for a in answers])

    def _moments(self, kind, size, delay, times=1):
        moment = time.monotonic_ns() + LEAD
        for number, rank in enumerate(self._ranks):
            rank.tell("run", kind, size, moment + int(delay(number) * 1e9), times)
        return [rank.answer() for rank in self._ranks]
