"""A figure of what survivors receive while a member dies: a strip for each peer, a column for each operation."""

import look
from course import BIN

HEAD, STRIP, FOOT = 108, 68, 34  # pixels of height
FRAME = 46  # of a strip's: its axes, below its name
LEFT, WIDTH, BETWEEN = 52, 335, 56
LONGER = 1.08  # a column is so many times as long as its longest course that has a result
COLUMNS = {"broadcast": "broadcast: over a survivor's link",
           "reduce": "reduce: over the link of who asked for it"}


def draw(courses, path, png=False):
    """courses: kind -> who -> Curve. The path, or None if there is nothing to draw."""
    if not courses:
        return None
    height = HEAD + STRIP * max(map(len, courses.values())) + FOOT
    sheet = look.sheet(height)
    look.title(sheet, "A member is killed in the middle", "Mbit/s that come in, in each tenth of a second.",
               "The line is the moment of the death; a cross, the end without a result.")
    curves = [curve for of_peers in courses.values() for curve in of_peers.values()]
    highest = max((rate for curve in curves for rate in curve.rates), default=1.0)
    for number, (kind, of_peers) in enumerate(courses.items()):
        duration = LONGER * max((curve.seconds for curve in of_peers.values() if curve.finished), default=1.0)
        left = LEFT + number * (WIDTH + BETWEEN)
        look.write(sheet, left, HEAD - 40, COLUMNS[kind], size=10, weight="bold")
        for place, (who, curve) in enumerate(of_peers.items()):
            top = HEAD + place * STRIP
            axes = look.box(sheet, left, top, WIDTH, FRAME)
            fill(axes, who, curve, duration, highest)
            axes.tick_params(labelbottom=place == len(of_peers) - 1)
        axes.set_xlabel("seconds")
    return look.save(sheet, path, png)


def fill(axes, who, curve, duration, highest):
    rates = curve.rates[:int(duration / BIN)]
    edges = [number * BIN for number in range(len(rates) + 1)]
    color = look.color(who.partition(",")[0])
    axes.stairs(rates, edges, fill=True, color=color, alpha=0.85)
    axes.set_xlim(0, duration)
    axes.set_ylim(0, highest * 1.05)
    axes.set_yticks([0, 100] if highest >= 100 else [0, 50])
    axes.set_title(who, pad=3, fontsize=9, color=look.INK)
    axes.set_title(outcome(curve), loc="right", pad=3, fontsize=9, weight="normal",
                   color=look.INK if curve.finished else look.BAD)
    if curve.struck is not None:
        axes.axvline(curve.struck, color=look.INK, linewidth=1.4)
    if not curve.finished and curve.seconds <= duration:
        axes.plot([curve.seconds], [highest / 2], marker="x", markersize=9, markeredgewidth=2.5, color=look.BAD)


def outcome(curve):
    if curve.finished:
        return f"complete after {curve.seconds:.2f} s"
    after = curve.seconds - curve.struck
    if not curve.ended:
        return f"no result, given up {after:.0f} s after the death"
    return f"no result, ends {after:.2f} s after the death"
