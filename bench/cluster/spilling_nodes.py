"""What no memory holds, with several nodes: served from a disk, full stores in a circle, links, and plain Ray beside it."""

import json
import pathlib
import subprocess
import sys

from hosts import Loopback
from processes import soon
from rounds import Rounds, say
from rows import Goal, Row
from transfers import MIB
from verdicts import OURS

MEMORY = 256 * MIB
SIZE = 64 * MIB
COUNT = 12
READERS = 3
CIRCLES = (2, 3, 8)
STORE, PART = 64 * MIB, 8 * MIB  # of each node of a circle, and one object there
DISK = "the disk"  # a plain program, 2 MiB each, direct, two threads
MEMORY_ONLY, SLOWER = "from memory", "the slower of the disk and memory"
BEFORE = "before"
RAY = "plain Ray"
RAY_PROGRAM = pathlib.Path(__file__).with_name("ray_spill.py")
RAY_PATIENCE = 300  # seconds


class SpillingNodes:
    """Collects the rows; peers makes the programs, folder lies on the disk."""

    def __init__(self, peers, repetitions, failures, folder):
        self._peers, self._repetitions, self._failures, self._folder = peers, repetitions, failures, folder
        self._broadcast = Row(f"spill: broadcast of 64 MiB on disk to {READERS}", "MiB/s", reference=SLOWER,
                              goals=[Goal(f"at least 0.85 x {SLOWER}", OURS, 0.85, SLOWER, at_least=True)])
        self._read = Row("spill: bytes read for that, as a multiple of its size", "x",
                         goals=[Goal("at most 1.05", OURS, 1.05)])
        self._links = Row("spill: believed rate of a link after reads from a disk", "Mbit/s", reference=BEFORE,
                          goals=[Goal(f"at least 0.9 x {BEFORE}", OURS, 0.9, BEFORE, at_least=True),
                                 Goal(f"at most 1.1 x {BEFORE}", OURS, 1.1, BEFORE)])
        self._circles = [Row(f"spill: {count} full stores that read each other", "s", reference=DISK,
                             goals=[Goal(f"at most 2 x all bytes at {DISK}", OURS, 2, DISK)]) for count in CIRCLES]
        self._beside = [Row(f"spill: {COUNT} x 64 MiB, 256 MiB of memory: {what}", "s", reference=RAY,
                            goals=[Goal(f"no slower than {RAY}", OURS, 1, RAY)])
                        for what in ("put", "read by another node", "read back")]

    @property
    def rows(self):
        return [one for one in (self._broadcast, self._read, self._links, *self._circles, *self._beside) if one.series]

    def run(self):
        self._run_broadcast()
        self._run_links()
        for row, count in zip(self._circles, CIRCLES):
            self._run_circle(row, count)
        self._run_beside_ray()

    def _rounds(self, nodes, memory):
        """A plain program and a cluster, by turns."""
        ours = self._peers.spilling(memory, self._folder, 4 * COUNT * SIZE)
        return ours, Rounds(Loopback(nodes), [self._peers.bare(), ours], self._failures)

    def _disk(self, rounds, size, read=False):
        bare = rounds.peers[0]
        seconds = rounds.guarded(bare, lambda: bare.disk_seconds(self._folder, size))
        return seconds and seconds[1 if read else 0]

    def _run_broadcast(self):
        say(self._broadcast.case)
        ours, around = self._rounds(1 + READERS, MEMORY)
        with around as rounds:
            for _ in range(self._repetitions):
                disk = self._disk(rounds, SIZE, read=True)
                found = rounds.guarded(ours, lambda: broadcast(ours)) or {}
                memory, spilled = found.get("memory"), found.get("disk")
                self._broadcast.add(DISK, rate(disk))
                self._broadcast.add(MEMORY_ONLY, rate(memory))
                self._broadcast.add(SLOWER, disk and memory and rate(max(disk, memory)))
                self._broadcast.add(OURS, rate(spilled))
                self._read.add(OURS, found.get("read"))

    def _run_links(self):
        say(self._links.case)
        ours, around = self._rounds(2, MEMORY)
        with around as rounds:
            for _ in range(self._repetitions):
                before, after = rounds.guarded(ours, lambda: believed(ours)) or (None, None)
                self._links.add(BEFORE, before)
                self._links.add(OURS, after)

    def _run_circle(self, row, count):
        say(row.case)
        ours, around = self._rounds(count, STORE)
        with around as rounds:
            for _ in range(self._repetitions):
                row.add(DISK, self._disk(rounds, count * STORE))
                row.add(OURS, rounds.guarded(ours, lambda: circle(ours)))

    def _run_beside_ray(self):
        say(self._beside[0].case)
        python = self._peers.python
        ours, around = self._rounds(2, MEMORY)
        with around as rounds:
            for _ in range(self._repetitions):
                mine = rounds.guarded(ours, lambda: beside(ours)) or [None] * 3
                plain = ray(python, self._folder, self._failures)
                for one, seconds, of_ray in zip(self._beside, mine, plain):
                    one.add(RAY, of_ray)
                    one.add(OURS, seconds)


def rate(seconds):
    return seconds and SIZE / MIB / seconds


def bytes_read(agent):
    """From disks, by the process."""
    with open(f"/proc/{agent.process.pid}/io", encoding="ascii") as counters:
        return next(int(line.split()[1]) for line in counters if line.startswith("read_bytes"))


def to_all(ours, name):
    """Seconds until all others have the object with number 0."""
    moment = soon()
    for node in ours.nodes[1:]:
        node.tell("get", name, 1, SIZE, moment, 0)
    ends = [node.answer()["ends"][0] for node in ours.nodes[1:]]
    return (max(ends) - moment) / 1e9


def broadcast(ours):
    """Of an object in memory; then of one that lies on the disk of the first node."""
    source = ours.nodes[0]
    ours.prepare(SIZE)
    name, many = ours.new_name(), ours.new_name()
    source.ask("put", name, 1, SIZE, 0, 0)
    found = {"memory": to_all(ours, name)}
    ours.delete(name)
    source.ask("put", many, COUNT, SIZE, 0, 0)
    before = bytes_read(source)
    found["disk"] = to_all(ours, many)
    found["read"] = (bytes_read(source) - before) / SIZE
    ours.delete(many, COUNT)
    return found


def believed(ours):
    """Mbit/s of a reader's link by the directory: after objects from memory, and after others from a disk."""
    source, reader = ours.nodes
    ours.prepare(SIZE)
    rates = []
    for count in (3, COUNT):
        name = ours.new_name()
        for node, words in ((source, "put"), (reader, "get")):
            node.ask(words, name, count, SIZE, 0, 0)
        rates.append(source.ask("link", ours.hosts[1].name)["rate"] * 8 / 1e6 or None)
        ours.delete(name, count)
    return rates


def circle(ours):
    """Seconds in which each node, whose store is full, reads all that the next one has put."""
    ours.prepare(PART)
    names = [ours.new_name() for _ in ours.nodes]
    for name, node in zip(names, ours.nodes):
        node.tell("put", name, STORE // PART, PART, 0, 0)
    for node in ours.nodes:
        node.answer()
    moment = soon()
    for name, node in zip(names[1:] + names[:1], ours.nodes):
        node.tell("get", name, STORE // PART, PART, moment, 0)
    ends = [max(node.answer()["ends"]) for node in ours.nodes]
    for name in names:
        ours.delete(name, STORE // PART)
    return (max(ends) - moment) / 1e9


def beside(ours):
    """Seconds of puts, of gets at another node, and of gets at the first one."""
    ours.prepare(SIZE)
    name = ours.new_name()
    words = (name, COUNT, SIZE, 0, 0)
    asked = [ours.nodes[0].ask("put", *words), ours.nodes[1].ask("get", *words), ours.nodes[0].ask("get", *words)]
    ours.delete(name, COUNT)
    return [(one["ends"][-1] - one["begins"][0]) / 1e9 for one in asked]


def ray(python, folder, failures):
    """The same by plain Ray; three times None where it is not installed, or fails."""
    command = [str(python), str(RAY_PROGRAM), str(MEMORY), str(COUNT), str(SIZE), str(folder)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=RAY_PATIENCE, check=True)
        return json.loads(done.stdout.splitlines()[-1])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError) as error:
        failures.append(f"{RAY}: {error}")
        print(f"  FAILED {RAY}: {error}", file=sys.stderr)
        return [None] * 3
