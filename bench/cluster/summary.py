"""The table of bench/results.md: each case in multiples of the bare stream, a column for each peer."""

from headline import PEERS, bars_of

MIB = 1 << 20
COLUMNS = ("Hoplite", *PEERS)


def table(rows):
    """Markdown; the least figure of a line is bold. Only cases that peers ran, too, of objects that take links their time."""
    lines = ["| | " + " | ".join(COLUMNS) + " |", "| --- " * (1 + len(COLUMNS)) + "|"]
    for row in rows:
        if row.reference != "bare stream" or row.setting is None or row.setting.size < MIB:
            continue
        bars = dict(bars_of(row))
        if bars.get("Hoplite") is None or not any(bars[who] for who in COLUMNS[1:]):
            continue
        least = min(ratio for ratio in bars.values() if ratio)
        lines.append(f"| {row.case.replace(' x ', ' × ')} | " + " | ".join(cell(bars[who], least) for who in COLUMNS) + " |")
    return "\n".join(lines) + "\n"


def cell(ratio, least):
    if ratio is None:
        return "no result"
    return f"**{ratio:.2f}**" if f"{ratio:.2f}" == f"{least:.2f}" else f"{ratio:.2f}"
