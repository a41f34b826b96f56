"""Rows as a Markdown table for readers and as JSON for programs."""

import dataclasses
import json

HEADER = ("case", "who", "median", "spread", "ratio", "goal", "reached")


def markdown(rows):
    """A line for each series; ratios are to the series that has none."""
    lines = ["| " + " | ".join(HEADER) + " |", "|" + "---|" * len(HEADER)]
    for row in rows:
        case = row.case
        for series in row.series:
            lines.append("| " + " | ".join([case, series, *figures(row, series)]) + " |")
            case = ""
        if not row.series:
            lines.append(f"| {case} | | not measured | | | | |")
    return "\n".join(lines) + "\n"


def figures(row, series):
    values = row.values(series)
    if not values:
        return ["failed", "", "", *verdicts(row, series)]
    spread = f"{show(min(values), row.unit)} to {show(max(values), row.unit)}" if len(values) > 1 else ""
    ratio = row.ratio(series) if row.reference and series != row.reference else None
    return [show(row.median(series), row.unit), spread, f"{ratio:.3f}" if ratio else "",
            *verdicts(row, series)]


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
        return f"{value:,.3g}" + (f" {unit}" if unit else "") if value < 1e4 else f"{value:,.0f}"
    if value < 1e-3:
        return f"{value * 1e6:.0f} µs"
    return f"{value * 1e3:.2f} ms" if value < 0.1 else f"{value:.3f} s"


def as_json(environment, rows, failures):
    documents = []
    for row in rows:
        document = dataclasses.asdict(row)
        document["medians"] = {series: row.median(series) for series in row.series}
        if row.reference:
            document["ratios"] = {series: row.ratio(series) for series in row.series}
        for goal, entry in zip(row.goals, document["goals"]):
            entry["figure"], entry["reached"] = row.reached(goal)
        documents.append(document)
    return json.dumps({"environment": environment, "rows": documents, "failures": failures}, indent=1)
