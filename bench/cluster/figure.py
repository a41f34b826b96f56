"""Figures of the comparison: a panel for each operation, a line for each case, a mark for each peer."""

from matplotlib.ticker import FuncFormatter, NullFormatter

import look
import panels
from verdicts import OURS

LEFT, WIDTH = 206, 380  # pixels: where the axes lie
LINE, NOTE = 32, 6  # of height: of a case, and more if its label has a second line
HEADING, AXIS, FOOT = 34, 20, 8
TITLE, LEGEND_LINE = 64, 20
IN_LINE = 6  # peers of the legend
HOPS = (0.5, 0.7, 1, 1.5, 2, 3, 5, 7, 10, 15, 20, 30, 50, 100)
SECONDS = tuple(10.0 ** power for power in range(-6, 3))
MARGIN = 1.12  # an axis is so many times as long as its marks
BESIDE = 4  # pixels between the marks of two peers across a line, so that none hides another
NOTES = "At the right who is fastest: by what factor hoplite beats the next one, or is beaten."


def draw_hops(rows, path, png=False):
    return draw(panels.of_hops(rows), path, png, HOPS, "{:g}".format, (
        "Until the last host has everything",
        "In multiples of the time that one bare TCP stream takes for the same bytes over one link; less is better.", NOTES))


def draw_seconds(rows, path, png=False):
    return draw(panels.of_seconds(rows), path, png, SECONDS, seconds, (
        "Small objects: how long they take", "Medians and spreads; less is better.", NOTES))


def draw(of_heading, path, png, ticks, form, words):
    """The path, or None if there is nothing to draw."""
    if not any(of_heading.values()):
        return None
    names = list(dict.fromkeys(who for lines in of_heading.values() for line in lines for who in line.points))
    head = TITLE + LEGEND_LINE * -(-len(names) // IN_LINE)
    height = head + FOOT + sum(HEADING + AXIS + sum(map(line_height, lines)) for lines in of_heading.values())
    sheet = look.sheet(height)
    look.title(sheet, *words)
    look.legend(sheet, names, TITLE, IN_LINE)
    together = span([lines for heading, lines in of_heading.items() if heading != panels.UNSHAPED])
    top = head
    for heading, lines in of_heading.items():
        panel = sum(map(line_height, lines))
        axes = look.box(sheet, LEFT, top + HEADING, WIDTH, panel)
        look.write(sheet, 10, top + HEADING - 20, heading, size=10, weight="bold")
        limits(axes, span([lines]) if heading == panels.UNSHAPED else together, ticks, form)
        fill(axes, lines, [who for who in names if any(line.points.get(who) for line in lines)])
        top += HEADING + panel + AXIS
    return look.save(sheet, path, png)


def span(panels_of_lines):
    """The least and the greatest figure."""
    values = [value for lines in panels_of_lines for line in lines for point in line.points.values() if point
              for value in point]
    return (min(values), max(values)) if values else None


def line_height(line):
    return LINE + NOTE * line.label.count("\n")


def fill(axes, lines, names):
    """A line for each case; names: peers with figures, in the order in which their marks lie beside each other."""
    middle, places = 0.0, []
    for line in lines:
        places.append(middle + line_height(line) / 2)
        middle += line_height(line)
    axes.set_ylim(middle, 0)
    axes.set_yticks(places, [line.label for line in lines])
    axes.tick_params(axis="y", length=0, pad=8)
    axes.grid(axis="x")
    for number, who in enumerate(names):
        aside = BESIDE * (number - (len(names) - 1) / 2)
        marks(axes, who, {place + aside: line.points[who] for place, line in zip(places, lines)
                          if line.points.get(who)})
    for place, line in zip(places, lines):
        axes.axhline(place + line_height(line) / 2, color=look.GRID, linewidth=0.6)
        words, looks = look.said(line.verdict)
        axes.annotate(words, (1, place), xycoords=("axes fraction", "data"), xytext=(12, 0),
                      textcoords="offset points", va="center", **looks)


def marks(axes, who, points):
    """points: height -> median, least and greatest."""
    medians, least, greatest = zip(*points.values())
    color, size = look.color(who), 9 if who == OURS else 6.5
    axes.hlines(list(points), least, greatest, color=color, linewidth=2.2, alpha=0.5)
    axes.plot(medians, list(points), color=color, marker=look.marker(who), markersize=size, linestyle="",
              markeredgecolor=look.edge(who), markeredgewidth=0.8, zorder=4 if who == OURS else 3, clip_on=False)


def limits(axes, span_of_values, ticks, form):
    low, high = span_of_values[0] / MARGIN, span_of_values[1] * MARGIN
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    axes.set_xticks([tick for tick in ticks if low <= tick <= high])
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: form(value)))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(axis="x", which="minor", length=0)


def seconds(value):
    for factor, name in ((1e-6, "µs"), (1e-3, "ms")):
        if value < 999 * factor:
            return f"{value / factor:.3g} {name}"
    return f"{value:.3g} s"
