"""The course of an operation: the bytes of each receiver over time, and the moment at which a member was hit."""

import bisect
import dataclasses

BIN = 0.1  # seconds over which a rate is taken
MEGABIT = 1e6
AROUND = 300_000_000  # nanoseconds after a blow: a pause that begins within them counts as its consequence


@dataclasses.dataclass
class Curve:
    """How much came over a survivor's link, on average, from the beginning on."""

    seconds: float  # until the end
    struck: float | None  # seconds from the beginning to the blow
    finished: bool
    ended: bool
    rates: list  # Mbit/s in each BIN


@dataclasses.dataclass
class Course:
    """Moments in nanoseconds. flows, arrivals: name of a survivor -> pairs of a moment and the bytes by then,
    which have come over its link, or can be read by the program that asked there."""

    begin: int
    end: int  # the last survivor has everything, or the job is over
    flows: dict
    struck: int | None = None
    finished: bool = True  # False: it has no result
    ended: bool = True  # False: it was given up
    arrivals: dict = dataclasses.field(default_factory=dict)

    def curve(self):
        """What a figure shows of it."""
        return Curve(self.seconds(), self.seconds_before_blow() if self.struck else None, self.finished, self.ended,
                     [round(rate / MEGABIT, 1) for rate in self.rates()])

    def seconds(self):
        return (self.end - self.begin) / 1e9

    def seconds_before_blow(self):
        return (self.struck - self.begin) / 1e9

    def seconds_after_blow(self):
        return (self.end - self.struck) / 1e9

    def silence(self):
        """Seconds from the blow until all survivors that it left without bytes have new ones."""
        _, over = max(silence for pairs in self.arrivals.values() for silence in self._silences(pairs))
        return (over - self.struck) / 1e9

    def _silences(self, pairs):
        """Length and end of every pause between new bytes that had begun soon after the blow."""
        for (before, have), (after, more) in zip(pairs, pairs[1:]):
            if more > have and after > self.struck and before < self.struck + AROUND:
                yield after - before, after

    def rates(self):
        """Bits a second over a survivor's link, on average, in each bin since the beginning."""
        edges = [self.begin + int(BIN * 1e9 * number) for number in range(int(self.seconds() / BIN) + 1)]
        rates = [0.0] * (len(edges) - 1)
        for pairs in self.flows.values():
            levels = [level(pairs, edge) for edge in edges]
            for number, (low, high) in enumerate(zip(levels, levels[1:])):
                rates[number] += 8 * (high - low) / BIN / len(self.flows)
        return rates


def median(courses):
    """That of median length; None if all failed."""
    in_order = sorted(filter(None, courses), key=Course.seconds)
    return in_order[(len(in_order) - 1) // 2] if in_order else None


def level(pairs, moment):
    """Bytes at a moment; between two looks they are taken to grow evenly."""
    after = bisect.bisect(pairs, moment, key=lambda pair: pair[0])
    if after == 0 or after == len(pairs):
        return pairs[max(0, after - 1)][1]
    (early, low), (late, high) = pairs[after - 1], pairs[after]
    return low + (high - low) * (moment - early) / (late - early)
