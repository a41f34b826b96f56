"""Rows as a Markdown table for readers and as JSON for programs."""

import dataclasses
import json
import re

from operations import OSU, format_rate, format_size
from staggered import lines as staggered_lines
from verdicts import EVEN, verdict

HEADER = ("case", "who", "median", "worst", "spread", "ratio", "worst ratio", "goal", "reached")
STAGGERED_HEADER = ("case, x S/B of the slowest receiver from its question on", "who", "median", "worst", "rounds",
                    "moves a broadcast")
PARTS_HEADER = ("part", "time", "figures", "goal", "reached")
PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
NUMBERS = re.compile(r"\[\s+((?:[-+.\de]+|null)(?:,\s+(?:[-+.\de]+|null))*)\s+\]")  # a list of nothing else


def table(header, lines):
    rows = [header, ["---"] * len(header), *lines]
    return "".join("| " + " | ".join(cells) + " |\n" for cells in rows)


def comparison(rows):
    """A Markdown line for each series; ratios are to the series that has none."""
    lines = []
    for row in rows:
        case = row.case
        for series in row.series:
            lines.append([case, series, *figures(row, series)])
            case = ""
        if not row.series:
            lines.append([case, "", "not measured", *[""] * (len(HEADER) - 3)])
    return table(HEADER, lines)


def staggered(results):
    """A Markdown line for each case and build: staggered.Result."""
    return table(STAGGERED_HEADER, staggered_lines(results))


def curves(rows):
    """Who was fastest where, and then a table for each operation on each testbed: a line for each size."""
    testbeds = grouped(rows, lambda row: (row.setting.hosts, row.setting.rate))
    texts = ["Who is fastest: over the next one if that is hoplite, else over hoplite. Even: less than "
             f"{100 * (EVEN - 1):.0f} % apart, or the repetitions do not agree. In brackets the worst repetition; of times the "
             "least and the worst.\n"]
    texts += [f"### {links(*testbed)}\n\n" + fastest(there) for testbed, there in testbeds.items()]
    for testbed, there in testbeds.items():
        for kind, of_sizes in grouped(there, lambda row: row.setting.kind).items():
            texts.append(f"### {known_as(kind)}, {links(*testbed)}\n\n" + times(of_sizes))
    return "\n".join(texts)


def known_as(kind):
    """With the name that readers of other benchmarks know."""
    return f"{kind.replace('_', ' ')} ({OSU[kind]})" if kind in OSU else kind.replace("_", " ")


def links(hosts, rate):
    return f"{hosts} hosts × {format_rate(rate)}"


def grouped(rows, key):
    groups = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return groups


def fastest(rows):
    """A line for each size, a column for each operation."""
    kinds = list(grouped(rows, lambda row: row.setting.kind))
    lines = []
    for size, of_size in sorted(grouped(rows, lambda row: row.setting.size).items()):
        found = {row.setting.kind: verdict(row) for row in of_size}
        lines.append([format_size(size)] + [found[kind].short() if found.get(kind) else "" for kind in kinds])
    return table(["size", *(kind.replace("_", " ") for kind in kinds)], lines)


def times(rows):
    """A line for each size, a column for each peer: the median, and the least and the worst."""
    names = list(dict.fromkeys(name for row in rows for name in row.series))
    lines = [[format_size(row.setting.size)] + [time_and_spread(row, name) for name in names] for row in rows]
    return table(["size", *names], lines)


def time_and_spread(row, name):
    values = row.values(name)
    if not values:
        return "failed" if name in row.series else ""
    return f"{show(row.median(name), row.unit)} ({show(min(values), row.unit)} to {show(max(values), row.unit)})"


def parts(rows):
    """A Markdown line for each Google Benchmark."""
    lines = []
    for row in rows:
        counted = [counter(name, row.median(name)) for name in row.series if name != "time"]
        goals = verdicts(row, row.goals[0].series) if row.goals else ["", ""]
        lines.append([row.case, show(row.median("time"), "s"), ", ".join(counted), *goals])
    return table(PARTS_HEADER, lines)


def counter(name, value):
    if name.endswith("_seconds"):
        return f"{name.removesuffix('_seconds')} {show(value, 's')}"
    thing = name.removesuffix("_per_second")
    for factor, prefix in PREFIXES:
        if value >= factor:
            return f"{value / factor:.3g} {prefix} {thing}/s"
    return f"{value:.3g} {thing}/s"


def figures(row, series):
    values = row.values(series)
    if not values:
        return ["failed", *[""] * 4, *verdicts(row, series)]
    spread = f"{show(min(values), row.unit)} to {show(max(values), row.unit)}" if len(values) > 1 else ""
    ratios = row.ratios(series, row.reference) if row.reference and series != row.reference else []
    ratio = [f"{row.ratio(series):.3f}", f"{max(ratios):.3f}"] if ratios else ["", ""]
    return [show(row.median(series), row.unit), show(row.worst(series), row.unit), spread, *ratio, *verdicts(row, series)]


def verdicts(row, series):
    goals = [goal for goal in row.goals if goal.series == series]
    texts = []
    for goal in goals:
        figure, reached = row.reached(goal)
        measured = f" ({figure:.3f})" if goal.against and figure else ""
        texts.append(("yes" if reached else "**no**") + measured)
    return ["; ".join(goal.text for goal in goals), "; ".join(texts)]


def show(value, unit):
    if unit != "s":
        return f"{value:.3g} {unit}"
    for factor, name in ((1e-9, "ns"), (1e-6, "µs"), (1e-3, "ms")):
        if abs(value) < 1000 * factor:  # a difference may be below zero
            return f"{value / factor:.3g} {name}"
    return f"{value:.3f} s"


def as_json(environment, failures, **members):
    """members: lists of rows, or what is JSON already."""
    ready = {name: [document(row) for row in member] if isinstance(member, list) else member
             for name, member in members.items()}
    text = json.dumps({"environment": environment, **ready, "failures": failures}, indent=1)
    return NUMBERS.sub(lambda numbers: "[" + re.sub(r"\s+", " ", numbers[1]) + "]", text) + "\n"


def document(row):
    """A row with what follows from its figures."""
    fields = dataclasses.asdict(row)
    fields["medians"] = {series: row.median(series) for series in row.series}
    if row.reference:
        fields["ratios"] = {series: row.ratio(series) for series in row.series}
    for goal, entry in zip(row.goals, fields["goals"]):
        entry["figure"], entry["reached"] = row.reached(goal)
    return fields
