"""What no memory holds: put, and read back at the same node, beside a plain program on the same disk, by turns."""

import pathlib
import tempfile

from hosts import Loopback
from rounds import Rounds, say
from rows import Goal, Row
from transfers import MIB
from verdicts import OURS

MEMORY = 256 * MIB
SIZE = 64 * MIB  # of one object
COUNT = 12  # three times the memory
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

    @property
    def rows(self):
        return [one for one in (self._put, self._read) if one.series]

    def run(self):
        say(self._put.case)
        ours = self._peers.spilling(MEMORY, self._folder, 2 * COUNT * SIZE)
        bare = self._peers.bare()
        with Rounds(Loopback(2), [bare, ours], self._failures) as rounds:
            for _ in range(self._repetitions):
                alone = rounds.guarded(bare, lambda: bare.disk_seconds(self._folder, COUNT * SIZE)) or (None, None)
                spilled = rounds.guarded(ours, lambda: spill(ours)) or (None, None)
                for one, written, plain, bytes_of_ours in ((self._put, spilled[0], alone[0], COUNT * SIZE - MEMORY),
                                                           (self._read, spilled[1], alone[1], COUNT * SIZE)):
                    one.add(ALONE, plain and COUNT * SIZE / MIB / plain)
                    one.add(OURS, written and bytes_of_ours / MIB / written)


def spill(ours):
    """Seconds of the puts, and of gets of what lies on the disk by then."""
    node, name = ours.nodes[0], ours.new_name()
    ours.prepare(SIZE)
    words = (name, COUNT, SIZE, 0, 0)
    puts = node.ask("put", *words)
    node.ask("get", *words)  # then all of them lie there, and coming back costs no write
    gets = node.ask("get", *words)
    ours.delete(name, COUNT)
    return tuple((sum(ends) - sum(begins)) / 1e9 for begins, ends in ((one["begins"], one["ends"]) for one in (puts, gets)))


def row(case, least):
    goal = Goal(f"at least {least:g} x {ALONE}", OURS, least, ALONE, at_least=True)
    return Row(case, "MiB/s", goals=[goal], reference=ALONE)
