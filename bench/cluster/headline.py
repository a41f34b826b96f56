"""The README's picture: a few cases as bars, for a light page and for a dark one. Plain SVG, so that a test can draw
it again without matplotlib."""

import dataclasses
import re

import peers
from verdicts import ours

# What a reader asks first: with sixteen hosts, and when one dies.
CASES = {
    "broadcast 8 MiB, 16 hosts x 50 Mbit/s": ("Broadcast", "8 MiB to 16 hosts"),
    "reduce 8 MiB, 16 hosts x 50 Mbit/s": ("Reduce", "8 MiB of 16 hosts"),
    "allreduce 8 MiB, 16 hosts x 50 Mbit/s": ("Allreduce", "8 MiB of 16 hosts"),
    "broadcast 64 MiB, a relay killed, 6 hosts x 100 Mbit/s": ("Broadcast, a relay killed", "64 MiB to 6 hosts"),
}
# Why a peer has no result in a case, though it ran.
NO_RESULT = {"broadcast 64 MiB, a relay killed, 6 hosts x 100 Mbit/s": "no result: its job ends with the killed rank"}
NOT_MEASURED, FAILED = "not measured", "no result: it failed in each round"
PEERS = {peer.title: tuple(peer.looks) for peer in peers.PEERS.values()}
TITLE = "Until the last host has everything"
UNIT = "1 = one TCP stream that carries the same bytes over one link; less is better"
WIDTH, LEFT, BAR, GAP, BLOCK_GAP, HEAD = 760, 300, 13, 4, 16, 56
PIXELS_PER_UNIT = 42  # of a bar
LONGEST = 9.5


@dataclasses.dataclass(frozen=True)
class Colors:
    paper: str
    ink: str
    faint: str
    ours: str
    peer: str


THEMES = {"": Colors("#ffffff", "#1f2328", "#59636e", "#0969da", "#afb8c1"),
          "-dark": Colors("#0d1117", "#e6edf3", "#9198a1", "#4493f8", "#656c76")}


def draw(rows, path):
    """The paths written; none where the cases were not measured. path: that of the light one."""
    svgs = {path.with_name(path.stem + suffix + path.suffix): drawn(rows, colors) for suffix, colors in THEMES.items()}
    if None in svgs.values():
        return []
    for one, svg in svgs.items():
        one.write_text(svg)
    return list(svgs)


def drawn(rows, colors):
    by_case = {row.case: row for row in rows}
    if not all(case in by_case for case in CASES):
        return None
    marks, top = [], HEAD
    for case, words in CASES.items():
        bars = bars_of(by_case[case])
        marks += block(top, (words[0], f"{words[1]}, {rate(case)}"), bars, why_none(by_case[case]), colors)
        top += len(bars) * (BAR + GAP) + BLOCK_GAP
    head = [text(16, 24, TITLE, colors.ink, size=15, weight="bold"), text(16, 42, UNIT, colors.faint)]
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{top}" viewBox="0 0 {WIDTH} {top}" role="img"'
        f' font-family="-apple-system, Segoe UI, Helvetica, Arial, sans-serif">',
        f"<title>{TITLE}: {spoken(by_case)}</title>",
        f'<rect width="{WIDTH}" height="{top}" fill="{colors.paper}"/>', *head, *marks, "</svg>", ""])


def bars_of(row):
    """(who, multiple of the bare stream); None: it gave no result."""
    found = [("Hoplite", row.ratio(ours(row)))]
    for name, series in PEERS.items():
        ratios = [row.ratio(one) for one in series if row.values(one)]
        found.append((name, min(ratios) if ratios else None))
    return found


def rate(case):
    """Of each host's link."""
    return re.search(r" x (\S+ \S+)$", case)[1]


def why_none(row):
    """Peer -> why it has no result, if it has none."""
    return {name: NO_RESULT.get(row.case) or (FAILED if any(one in row.series for one in series) else NOT_MEASURED)
            for name, series in PEERS.items()}


def block(top, words, bars, why, colors):
    """A case: its words at the left, a bar for each."""
    yield text(16, top + 12, words[0], colors.ink, size=13, weight="bold")
    yield text(16, top + 29, words[1], colors.faint)
    for number, (who, ratio) in enumerate(bars):
        y, first = top + number * (BAR + GAP), number == 0
        ink = colors.ink if first else colors.faint
        yield text(LEFT - 8, y + BAR - 2, who, ink, anchor="end", weight="bold" if first else "normal")
        if ratio is None:
            yield text(LEFT, y + BAR - 2, why[who], colors.faint)
            continue
        wide = min(ratio, LONGEST) * PIXELS_PER_UNIT
        yield (f'<rect x="{LEFT}" y="{y}" width="{wide:.1f}" height="{BAR}" rx="2" '
               f'fill="{colors.ours if first else colors.peer}"/>')
        yield text(LEFT + wide + 6, y + BAR - 2, f"{ratio:.2f}", ink, weight="bold" if first else "normal")


def text(x, y, words, color, size=12, weight="normal", anchor="start"):
    return (f'<text x="{x:g}" y="{y:g}" font-size="{size}" font-weight="{weight}" text-anchor="{anchor}" '
            f'fill="{color}">{words}</text>')


def spoken(by_case):
    """For who can't see the picture."""
    return "; ".join(
        f"{words[0]} {words[1]}, {rate(case)}: " + ", ".join(
            f"{who} {ratio:.2f}" if ratio else f"{who} {why_none(by_case[case])[who]}" for who, ratio in bars_of(by_case[case]))
        for case, words in CASES.items())
