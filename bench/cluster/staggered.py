"""Equal hosts that ask for one object one after another: how long the slowest of them waits, and how often streams move.

Every member and every get is a process of `hoplite`. So an older build can do the same beside it, round by round. The directory
is on the source's host: what it hears comes beside the object's bytes, as in most clusters.
"""

import collections
import concurrent.futures
import contextlib
import dataclasses
import json
import os
import pathlib
import statistics
import tempfile
import time

from hosts import Testbed, bytes_per_second
from members import cluster, plain
from operations import format_rate, format_size
from processes import Failed, run
from rounds import say
from transfers import MIB
from verdicts import OLDER, OURS, too_slow

PAYLOAD = 1448 / 1514  # the part of a link's bytes that is the object's: of a full frame
LOST = "lost"  # why a stream is moved whose receiver has lost its source: no decision of the shard
PATIENCE = 60.0  # seconds of one get, put or look


@dataclasses.dataclass(frozen=True)
class Case:
    hosts: int  # the first one has the object
    rate: str
    size: int
    apart: float  # seconds from one question to the next; 0: all ask at once

    @property
    def name(self):
        asked = f"one every {self.apart:g} s" if self.apart else "at once"
        return f"gets of {format_size(self.size)}, {asked}, {self.hosts} hosts x {format_rate(self.rate)}"

    @property
    def hop(self):
        """S/B: seconds in which the object comes over one link."""
        return self.size / (bytes_per_second(self.rate) * PAYLOAD)

    @property
    def moments(self):
        """Of each question, in seconds after the first."""
        return [place * self.apart for place in range(self.hosts - 1)]


def cases(quick):
    first = [Case(8, "50mbit", 8 * MIB, 0.15)]
    return first if quick else [*first, Case(4, "100mbit", 16 * MIB, 0.4), Case(16, "50mbit", 8 * MIB, 0.1),
                                Case(24, "20mbit", 4 * MIB, 0.0)]


@dataclasses.dataclass
class Result:
    """What one build did in one case."""

    case: str
    who: str
    figures: list = dataclasses.field(default_factory=list)  # of each round: the longest wait, as a multiple of S/B
    moves: dict | None = None  # of all rounds: reason -> streams; None: the build counts none


class Members:
    """A cluster of one build on the testbed. who: the build's name; directory: the number of its process."""

    def __init__(self, who, program, nodes, folder):
        self.who = who
        self._program = str(program)
        self._nodes = nodes
        self.directory = nodes.directory
        self._folder = pathlib.Path(folder)
        self._rounds = 0

    def round(self, data, moments):
        """Seconds that each receiver waits from its question on; Failed if it gets other bytes."""
        self._rounds += 1
        name = f"name:round-{self._rounds}"
        source = self._folder / "source"
        source.write_bytes(data)
        self._ask(0, "put", source, "--id", name)
        begin = time.monotonic() + 0.05
        with concurrent.futures.ThreadPoolExecutor(len(moments)) as threads:
            gets = [threads.submit(self._get, number, name, begin + moment) for number, moment in enumerate(moments, 1)]
            waited = [one.result() for one in gets]
        self._ask(0, "delete", name)
        for number in range(1, len(moments) + 1):
            got = self._got(number)
            if got.read_bytes() != data:
                raise Failed(f"{self.who}: host {number} got wrong bytes")
            got.unlink()
        return waited

    def _get(self, number, name, asks):
        time.sleep(max(0.0, asks - time.monotonic()))
        begin = time.monotonic()
        self._ask(number, "get", name, "--output", self._got(number), "--timeout", f"{PATIENCE:.0f}s")
        return time.monotonic() - begin

    def _got(self, number):
        return self._folder / f"got-{number}"

    def _ask(self, number, *words):
        command = [self._program, *words, "--socket", self._nodes[number].socket]
        return run([str(word) for word in command], timeout=PATIENCE + 5)

    def moves(self):
        """By reason, since the cluster's start; None if this build does not count them."""
        shards = json.loads(self._ask(0, "status", "--json")).get("shards", [])
        if not shards or "moves" not in shards[0]:
            return None
        return dict(sum((collections.Counter(shard["moves"]) for shard in shards), collections.Counter()))


@contextlib.contextmanager
def members(bed, who, program, size):
    """A cluster of that build, with memory for two rounds' objects and more."""
    with (tempfile.TemporaryDirectory() as folder,
          cluster(bed, program, 4 * size + 16 * MIB, folder, security=plain(program), place=bed.hosts[0]) as nodes):
        yield Members(who, program, nodes, folder)


class Staggered:
    """programs: the folder of this build's; beside: that of an older one's, or None; failures: sentences."""

    def __init__(self, programs, beside, repetitions, failures):
        self._builds = {OURS: programs / "hoplite"} | ({OLDER: beside / "hoplite"} if beside else {})
        self._rounds = 4 * repetitions  # what is rare is seen in many
        self._failures = failures
        self.results = []

    def run(self, case):
        say(case.name)
        results = {who: Result(case.name, who) for who in self._builds}
        self.results += results.values()
        try:
            with Testbed(case.hosts, case.rate) as bed, contextlib.ExitStack() as stack:
                clusters = [stack.enter_context(members(bed, who, program, case.size)) for who, program in self._builds.items()]
                for number in range(self._rounds):
                    for one in clusters if number % 2 == 0 else clusters[::-1]:
                        results[one.who].figures.append(max(one.round(os.urandom(case.size), case.moments)) / case.hop)
                        results[one.who].moves = one.moves()
                        say(f"  round {number + 1} of {self._rounds}: {one.who} {results[one.who].figures[-1]:.2f}")
        except Failed as failure:
            self._failures.append(f"{case.name}: {failure}")
        if OLDER in results:
            self._failures += too_slow(case.name, results[OURS].figures, results[OLDER].figures)


def lines(results):
    """Cells of a table: case, who, median, worst, rounds, moves of a broadcast."""
    case = ""
    for result in results:
        figures = [f"{statistics.median(result.figures):.2f}", f"{max(result.figures):.2f}"] if result.figures else ["failed", ""]
        yield ["" if result.case == case else result.case, result.who, *figures, str(len(result.figures)), moves_text(result)]
        case = result.case


def moves_text(result):
    """ "0.5: faster 0.4, order 0.1"; streams whose source was lost are not among them."""
    if result.moves is None or not result.figures:
        return "not counted"
    means = {why: count / len(result.figures) for why, count in result.moves.items() if count and why != LOST}
    return f"{sum(means.values()):.2f}" + (": " if means else "") + ", ".join(f"{why} {mean:.2f}" for why, mean in means.items())
