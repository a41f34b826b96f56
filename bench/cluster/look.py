"""How all figures look: size, colours, and that nothing is cut."""

import io
import re

import matplotlib
import matplotlib.pyplot
from matplotlib.lines import Line2D

import peers
from verdicts import OURS, figure

PIXELS = 800  # a figure's width, as pages show it
DPI = 100
INK, FAINT, GRID = "#222222", "#666666", "#d9d9d9"
# Told apart without seeing red or green (Okabe and Ito), and by their markers: who -> colour, marker.
LOOKS = {"hoplite": ("#0072b2", "o"), "hoplite, everyone reads": ("#003a5c", "p"), **peers.LOOKS,
         "ray": ("#e69f00", "s"), "bare stream": (INK, "|"), "iperf3": (FAINT, "x"),
         "blocking TCP round trip": (INK, "|"), "hoplite, get after put": ("#56b4e9", "o")}
OTHER = (FAINT, "P")
GOOD, BAD = LOOKS["hoplite"][0], "#b00020"

matplotlib.use("agg")
matplotlib.rcParams.update({
    "font.family": "DejaVu Sans", "font.size": 9, "axes.titlesize": 10, "axes.titleweight": "bold",
    "axes.titlelocation": "left", "axes.edgecolor": FAINT, "axes.linewidth": 0.8, "axes.spines.top": False,
    "axes.spines.right": False, "axes.axisbelow": True, "text.color": INK, "axes.labelcolor": INK, "grid.color": GRID,
    "grid.linewidth": 0.8, "xtick.color": FAINT, "ytick.color": FAINT, "xtick.labelcolor": INK, "ytick.labelcolor": INK,
    "svg.hashsalt": "hoplite", "svg.fonttype": "path", "legend.frameon": False})


def color(who):
    return LOOKS.get(who, OTHER)[0]


def marker(who):
    return LOOKS.get(who, OTHER)[1]


def edge(who):
    """Of a mark: a light one sets it apart from those below it, but strokes have none."""
    return color(who) if marker(who) in "|x" else "white"


def said(verdict):
    """Words on who is fastest, and how they look; empty ones without a verdict."""
    if verdict is None:
        return "", {}
    if verdict.even:
        return f"even with {verdict.best_peer}", {"color": FAINT}
    words = f"{verdict.winner} {figure(verdict.factor)} × as fast"
    return words, {"color": GOOD if verdict.winner == OURS else BAD, "weight": "bold"}


def sheet(height):
    """A figure so many pixels high."""
    return matplotlib.pyplot.figure(figsize=(PIXELS / DPI, height / DPI), dpi=DPI, facecolor="white")


def box(sheet, left, top, width, height):
    """Axes whose frame lies there, in pixels from the upper left corner."""
    full = sheet.get_figheight() * DPI
    return sheet.add_axes((left / PIXELS, 1 - (top + height) / full, width / PIXELS, height / full))


def write(sheet, left, top, words, **looks):
    """Text whose upper left corner lies there, in pixels."""
    full = sheet.get_figheight() * DPI
    return sheet.text(left / PIXELS, 1 - top / full, words, **{"va": "top", **looks})


def title(sheet, head, *lines):
    write(sheet, 10, 8, head, size=12, weight="bold")
    for number, line in enumerate(lines):
        write(sheet, 10, 28 + 16 * number, line, color=FAINT)


def legend(sheet, names, top, in_line):
    """The peers' marks, so many in a line, from there on."""
    for first in range(0, len(names), in_line):
        handles = [Line2D([], [], color=color(who), marker=marker(who), markersize=7, markeredgecolor=edge(who),
                          linestyle="", label=who) for who in names[first:first + in_line]]
        sheet.add_artist(sheet.legend(
            handles=handles, loc="upper left", ncols=in_line, handletextpad=0.1, columnspacing=1.4, borderpad=0.2,
            bbox_to_anchor=(2 / PIXELS, 1 - (top + 20 * first / in_line) / sheet.get_figheight() / DPI)))


def save(sheet, path, png=False):
    """Writes the SVG, which is the same for the same data; with png also that, beside it. Nothing may be cut."""
    whole, drawn = sheet.bbox_inches, sheet.get_tightbbox()
    if drawn.x0 < whole.x0 or drawn.x1 > whole.x1 or drawn.y0 < whole.y0 or drawn.y1 > whole.y1:
        raise ValueError(f"{path}: what is drawn, {drawn}, does not fit into the figure, {whole}: inches")
    svg = io.StringIO()
    sheet.savefig(svg, format="svg", metadata={"Date": None})
    path.write_text(re.sub(r"\s*\n\s*(?=[^<\s])", " ", svg.getvalue()))  # a line for each element
    if png:
        sheet.savefig(path.with_suffix(".png"))
    matplotlib.pyplot.close(sheet)
    return path

