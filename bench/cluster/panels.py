"""What a figure of the comparison shows where: which cases in which panel, and what of each."""

import dataclasses

import verdicts
from operations import format_rate, format_size

SMALL = 128 << 10  # bytes: below, what counts is the time itself, not a multiple of that of one hop
BARE = "bare stream"
KINDS = ("broadcast", "reduce", "reductions", "allreduce", "gather", "allgather", "point_to_point", "put_to_get")
UNSHAPED = "links without a limit: processor and memory are"
HEADINGS = {"put_to_get": "from put on one host to got on another", "reductions": "a reduction at each host, all at once"}


@dataclasses.dataclass(frozen=True)
class Line:
    """One case: who -> the median of its figure and its least and greatest; None without one."""

    label: str
    points: dict
    verdict: verdicts.Verdict | None


def of_hops(rows):
    """Heading -> lines, in multiples of the time of one bare hop: how operations use their links."""
    panels = {}
    for row in in_order(rows):
        if row.setting.size >= SMALL and row.values(BARE):
            points = {who: spread(row.ratios(who, BARE)) for who in row.series if who != BARE}
            panels.setdefault(heading(row), []).append(Line(label(row), points, verdicts.verdict(row)))
    return panels


def of_seconds(rows):
    """Heading -> lines, in seconds: small objects."""
    panels = {}
    for row in in_order(rows):
        if row.setting.size < SMALL:
            points = {who: spread(row.values(who)) for who in row.series}
            panels.setdefault(heading(row), []).append(Line(label(row), points, verdicts.verdict(row)))
    return panels


def in_order(rows):
    shown = [row for row in rows if row.setting]
    return sorted(shown, key=lambda row: (row.setting.size >= SMALL and not row.setting.rate,
                                          KINDS.index(row.setting.kind), row.setting.hosts))


def heading(row):
    if row.setting.size >= SMALL and not row.setting.rate:
        return UNSHAPED
    return HEADINGS.get(row.setting.kind, row.setting.kind)


def label(row):
    setting = row.setting
    what = [setting.kind.replace("_", " ")] if heading(row) == UNSHAPED else []
    links = f"{setting.hosts} hosts × {format_rate(setting.rate)}" if setting.rate else f"{setting.hosts} hosts"
    return "\n".join(filter(None, [" ".join([*what, f"{format_size(setting.size)}, {links}"]), setting.note]))


def spread(values):
    """Median, least and greatest."""
    if not values:
        return None
    in_order = sorted(values)
    middle = len(in_order) // 2
    median = in_order[middle] if len(in_order) % 2 else (in_order[middle - 1] + in_order[middle]) / 2
    return median, in_order[0], in_order[-1]
