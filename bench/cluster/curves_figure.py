"""Figures of curves: times over sizes, small and large objects apart; round trips of two hosts."""

from matplotlib.ticker import FuncFormatter, NullFormatter

import look
import panels
from figure import seconds
from operations import format_size
from report import grouped, links
from verdicts import EVERYONE_READS, OURS, PEERS, verdict

LEFT, BETWEEN, RIGHT = 62, 16, 12  # pixels
HEAD, HEADING, PANEL, FOOT = 112, 28, 112, 30
BARS_LEFT, BARS_WIDTH, BAR = 110, 480, 17
BARE = "bare stream"
WAYS = (OURS, EVERYONE_READS)
HOPS = (0.5, 1, 1.5, 2, 3, 5, 10, 20, 50, 100)
SECONDS = tuple(10.0 ** power for power in range(-5, 3))
SHORT = {1 << 10: "K", 1 << 20: "M", 1 << 30: "G"}


def draw_hops(rows, path, png=False):
    large = [row for row in collective(rows) if row.setting.size >= panels.SMALL]
    return grid(large, path, png, lambda row, who: row.ratios(who, BARE), [*WAYS, *PEERS], HOPS, "{:g}".format, (
        "Large objects: until the last host has everything",
        "In multiples of the time that one bare TCP stream takes for the same bytes over one link, by the object's size.",
        "Less is better; shaded: from the least to the greatest."))


def draw_seconds(rows, path, png=False):
    small = [row for row in collective(rows) if row.setting.size < panels.SMALL]
    return grid(small, path, png, lambda row, who: row.values(who), [*WAYS, *PEERS, BARE], SECONDS, seconds, (
        "Small objects: until the last host has everything",
        "Time by the object's size; less is better; shaded: from the least to the greatest.",
        "MPI ranks spin while they wait: with more of them than cores they are in each other's way."))


def collective(rows):
    return [row for row in rows if row.setting.kind != "round_trip"]


def grid(rows, path, png, figures, names, ticks, form, words):
    """A row of panels for each operation, a column for each testbed; figures(row, who) are those of the repetitions."""
    if not rows:
        return None
    kinds = grouped(rows, lambda row: row.setting.kind)
    testbeds = list(grouped(rows, lambda row: (row.setting.hosts, row.setting.rate)))
    sheet = look.sheet(HEAD + FOOT + (HEADING + PANEL) * len(kinds))
    look.title(sheet, *words)
    look.legend(sheet, names, HEAD - 44, len(names))
    width = (look.PIXELS - LEFT - RIGHT - BETWEEN * (len(testbeds) - 1)) / len(testbeds)
    sizes = sorted({row.setting.size for row in rows})
    for line, (kind, of_kind) in enumerate(kinds.items()):
        top = HEAD + HEADING + line * (HEADING + PANEL)
        look.write(sheet, 10, top - 20, kind, size=10, weight="bold")
        values = [value for row in of_kind for who in names for value in figures(row, who)]
        for column, testbed in enumerate(testbeds):
            left = LEFT + column * (width + BETWEEN)
            if line == 0:
                look.write(sheet, left + width / 2, HEAD - 6, links(*testbed), ha="center")
            there = [row for row in of_kind if (row.setting.hosts, row.setting.rate) == testbed]
            axes = look.box(sheet, left, top, width, PANEL)
            panel(axes, there, names, figures)
            scale(axes, sizes, values, ticks, form)
            tally(axes, there)
            axes.tick_params(labelleft=column == 0, labelbottom=line == len(kinds) - 1)
    return look.save(sheet, path, png)


def tally(axes, rows):
    """Above a panel: at how many sizes hoplite is the fastest, or is not."""
    found = [one for one in map(verdict, rows) if one and not one.even]
    wins = sum(one.winner == OURS for one in found)
    losses = len(found) - wins
    color = look.FAINT if wins == losses else look.GOOD if wins > losses else look.BAD
    axes.set_title(f"{OURS} wins {wins}, loses {losses} of {len(rows)}", loc="right", pad=4, fontsize=8, color=color)


def panel(axes, rows, names, figures):
    rows = sorted(rows, key=lambda row: row.setting.size)
    for who in names:
        points = {row.setting.size: panels.spread(figures(row, who)) for row in rows if figures(row, who)}
        if not points:
            continue
        medians, least, greatest = zip(*points.values())
        color = look.color(who)
        axes.fill_between(list(points), least, greatest, color=color, alpha=0.18, linewidth=0)
        axes.plot(list(points), medians, color=color, marker=look.marker(who), markersize=6 if who == OURS else 4.5,
                  linewidth=2.4 if who == OURS else 1.2, markeredgecolor=look.edge(who), markeredgewidth=0.5,
                  zorder=4 if who == OURS else 3)


def scale(axes, sizes, values, ticks, form):
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlim(sizes[0] / 1.4, sizes[-1] * 1.4)
    axes.set_ylim(min(values) / 1.15, max(values) * 1.15)
    axes.set_xticks(sizes, [short(size) for size in sizes])
    axes.set_yticks([tick for tick in ticks if min(values) / 1.15 <= tick <= max(values) * 1.15])
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: form(value)))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_formatter(NullFormatter())
        axis.set_tick_params(which="minor", length=0)
    axes.grid()


def short(size):
    """4K, 16M: as narrow as columns need it."""
    unit = max(unit for unit in SHORT if unit <= size)
    return f"{size // unit}{SHORT[unit]}"


def draw_round_trips(rows, path, png=False):
    """A panel for each size with its own axis, a bar for each peer."""
    rows = sorted((row for row in rows if row.setting.kind == "round_trip"), key=lambda row: row.setting.size)
    if not rows:
        return None
    sheet = look.sheet(60 + sum(HEADING + BAR * len(measured(row)) + 8 for row in rows))
    look.title(sheet, "There and back between two hosts, links without a limit",
               "Time of a round trip, with its spread; less is better.")
    top = 52
    for row in rows:
        names = measured(row)
        axes = look.box(sheet, BARS_LEFT, top + HEADING, BARS_WIDTH, BAR * len(names))
        look.write(sheet, 10, top + HEADING - 20, format_size(row.setting.size), size=10, weight="bold")
        words, looks = look.said(verdict(row))
        look.write(sheet, look.PIXELS - 10, top + HEADING - 20, words, ha="right", **looks)
        bars(axes, row, names)
        top += HEADING + BAR * len(names) + 8
    return look.save(sheet, path, png)


def measured(row):
    return [who for who in row.series if row.values(who)]


def bars(axes, row, names):
    longest = max(value for who in names for value in row.values(who))
    for place, who in enumerate(names):
        median, least, greatest = panels.spread(row.values(who))
        axes.barh(place, median, height=0.72, color=look.color(who))
        axes.plot([least, greatest], [place, place], color=look.INK, linewidth=1.2)
        axes.annotate(seconds(median), (greatest, place), xytext=(6, 0), textcoords="offset points", va="center",
                      weight="bold" if who == OURS else "normal")
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlim(0, longest)
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_visible(False)
    axes.spines["bottom"].set_visible(False)
