"""The table of bench/results.md: each case in multiples of the bare stream, a column for each peer; in brackets the worst
repetition."""

from headline import PEERS, bars_of
from verdicts import ours

MIB = 1 << 20
COLUMNS = ("Hoplite", *PEERS)


def table(rows, revision):
    """Markdown; the least figure of a line is bold. Only cases that peers ran, too, of objects that take links their time."""
    lines = [f"| revision {revision} | " + " | ".join(COLUMNS) + " |", "| --- " * (1 + len(COLUMNS)) + "|"]
    for row in rows:
        if row.reference != "bare stream" or row.setting is None or row.setting.size < MIB:
            continue
        bars = dict(bars_of(row))
        if bars.get("Hoplite") is None or not any(bars[who] for who in COLUMNS[1:]):
            continue
        least = min(ratio for ratio in bars.values() if ratio)
        lines.append(f"| {row.case.replace(' x ', ' × ')} | " +
                     " | ".join(cell(bars[who], least, worst(row, who, bars[who])) for who in COLUMNS) + " |")
    return "\n".join(lines) + "\n"


def worst(row, who, ratio):
    """Of the repetitions of whichever series the ratio is of; of MPICH that is the better one."""
    several = PEERS.get(who, (ours(row),))
    return max((max(row.ratios(one, row.reference)) for one in several if ratio and row.ratio(one) == ratio), default=None)


def cell(ratio, least, worst):
    if ratio is None:
        return "no result"
    text = f"**{ratio:.2f}**" if f"{ratio:.2f}" == f"{least:.2f}" else f"{ratio:.2f}"
    return f"{text} ({worst:.2f})"
