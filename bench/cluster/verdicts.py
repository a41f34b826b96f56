"""Who was fastest, and by how much: this project against the better of its peers, and against an older build of its own."""

import dataclasses

import peers

OURS = "hoplite"
EVERYONE_READS = "hoplite, everyone reads"  # it was told that an allreduce is one, as the peers are
OLDER = "older build"  # of this project, by turns with this one (--beside)
SLOWER = 1.15  # a round that takes so many times the worst one of the older build fails the run
PEERS = peers.SERIES
EVEN = 1.03  # a lesser factor is none


@dataclasses.dataclass(frozen=True)
class Verdict:
    """winner: the fastest one. factor: the time of the best peer by ours, or ours by that of the best peer."""

    winner: str
    best_peer: str
    factor: float
    worst: float  # that factor in the repetition that is worst for the winner
    even: bool  # it is too little to tell, or the repetitions do not agree

    def short(self):
        """For a cell of a table: whoever is fastest, and by what factor."""
        if self.even:
            return f"even ({self.best_peer})"
        figures = f"{figure(self.factor)} ({figure(self.worst)})"
        return f"**{OURS}** {figures}" if self.winner == OURS else f"{self.winner} {figures}"


def ours(row):
    """The series of this project that is compared with the peers'."""
    return EVERYONE_READS if EVERYONE_READS in row.series else OURS


def verdict(row):
    """None if we or all peers have no figure. Compared are times, or whatever is better if it is less."""
    measured = [peer for peer in PEERS if row.values(peer)]
    mine = ours(row)
    if not measured or not row.values(mine):
        return None
    best = min(measured, key=row.median)
    factor = row.ratio(best, mine)
    rounds = row.ratios(best, mine)
    if factor is None:
        return None
    winner, factor, worst = (OURS, factor, min(rounds)) if factor >= 1 else (best, 1 / factor, 1 / max(rounds))
    return Verdict(winner, best, factor, worst, even=factor < EVEN or min(rounds) < 1 < max(rounds))


def too_slow(case, rounds, older):
    """A sentence in a list, if one of our rounds is too long beside those of the older build; figures of one unit."""
    if not rounds or not older or max(rounds) <= SLOWER * max(older):
        return []
    return [f"{case}: the worst round took {max(rounds):.2f} x S/B, that of the older build {max(older):.2f}: at most "
            f"{SLOWER} x as much is allowed"]


def figure(factor):
    """1.98, 12.3 or 123: three digits."""
    return f"{factor:.{2 if factor < 10 else 1 if factor < 100 else 0}f}"
