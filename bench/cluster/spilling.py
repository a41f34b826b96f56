"""What no memory holds, at one node: put, and read back there, beside a plain program on the same disk, by turns."""

import pathlib
import tempfile
import time

from hosts import Loopback
from rounds import Rounds, say
from rows import Goal, Row
from spilling_nodes import SpillingNodes
from transfers import MIB
from verdicts import OURS

MEMORY = 256 * MIB
SIZE = 64 * MIB  # of one object
COUNT = 12  # three times the memory
SMALL, SMALLS = 4096, 100_000
SMALL_MEMORY = 64 * MIB
ENOUGH = "with memory for all"  # what very many puts cost without a disk
ALONE = "plain program"  # 2 MiB each, direct, two threads


class Spilling:
    """Collects the rows; peers makes the programs, folder lies on the disk."""

    def __init__(self, peers, repetitions, failures, folder=pathlib.Path(tempfile.gettempdir())):
        self._peers = peers
        self._repetitions = repetitions
        self._failures = failures
        self._folder = folder
        sizes = f"{COUNT * SIZE // MIB} MiB, {MEMORY // MIB} MiB of memory"
        self._put = row(f"spill: put of {sizes}", 0.9)
        self._read = row(f"spill: read back of {sizes}", 0.85)
        self._first = Row("spill: first bytes of 64 MiB from the disk", "s", goals=[Goal("at most 20 ms", OURS, 0.02)])
        self._small = row(f"spill: put of {SMALLS:,} x 4 KiB, {SMALL_MEMORY // MIB} MiB of memory", 0.5)
        self._nodes = SpillingNodes(peers, repetitions, failures, folder)

    @property
    def rows(self):
        return [one for one in (self._put, self._read, self._first, self._small) if one.series] + self._nodes.rows

    def run(self):
        self._run_large()
        self._run_small()
        self._nodes.run()

    def _run_large(self):
        say(self._put.case)
        ours = self._peers.spilling(MEMORY, self._folder, 2 * COUNT * SIZE)
        bare = self._peers.bare()
        with Rounds(Loopback(2), [bare, ours], self._failures) as rounds:
            for _ in range(self._repetitions):
                alone = rounds.guarded(bare, lambda: bare.disk_seconds(self._folder, COUNT * SIZE)) or (None, None)
                spilled = rounds.guarded(ours, lambda: spill(ours)) or (None, None, None)
                self._first.add(OURS, spilled[2])
                for one, written, plain, bytes_of_ours in ((self._put, spilled[0], alone[0], COUNT * SIZE - MEMORY),
                                                           (self._read, spilled[1], alone[1], COUNT * SIZE)):
                    one.add(ALONE, plain and COUNT * SIZE / MIB / plain)
                    one.add(OURS, written and bytes_of_ours / MIB / written)


    def _run_small(self):
        say(self._small.case)
        size = SMALLS * SMALL
        for _ in range(self._repetitions):  # each has a cluster of its own: to delete them takes longer than to put them
            ours = self._peers.spilling(SMALL_MEMORY, self._folder, 4 * size)
            held = self._peers.hoplite(2 * size)
            bare = self._peers.bare()
            with Rounds(Loopback(2), [bare, held, ours], self._failures) as rounds:
                alone = rounds.guarded(bare, lambda bare=bare: bare.disk_seconds(self._folder, size))
                self._small.add(ALONE, alone and size / MIB / alone[0])
                for name, peer, memory in ((ENOUGH, held, 0), (OURS, ours, SMALL_MEMORY)):
                    seconds = rounds.guarded(peer, lambda peer=peer: fill(peer))
                    self._small.add(name, seconds and (size - memory) / MIB / seconds)


def spill(ours):
    """Seconds of the puts, of gets of what lies on the disk by then, and until the first bytes of one are there."""
    node, name = ours.nodes[0], ours.new_name()
    ours.prepare(SIZE)
    words = (name, COUNT, SIZE, 0, 0)
    puts = node.ask("put", *words)
    node.ask("get", *words)  # then all of them lie there, and coming back costs no write
    gets = node.ask("get", *words)
    came = node.ask("follow", name, SIZE, 0)
    first = next(when for when, there in zip(came["times"], came["bytes"]) if there > 0) - came["begins"][0]
    ours.delete(name, COUNT)
    return (*((sum(ends) - sum(begins)) / 1e9 for begins, ends in ((one["begins"], one["ends"]) for one in (puts, gets))),
            first / 1e9)


def fill(ours):
    """Seconds of very many puts, many at a time."""
    node = ours.nodes[0]
    ours.prepare(SMALL)
    begin = time.monotonic()
    node.ask("fill", ours.new_name(), SMALLS, SMALL)
    return time.monotonic() - begin


def row(case, least):
    goal = Goal(f"at least {least:g} x {ALONE}", OURS, least, ALONE, at_least=True)
    return Row(case, "MiB/s", goals=[goal], reference=ALONE)
