"""A figure of the time of each step while a worker dies: a strip for each way and blow, a column for each workload."""

import look

HEAD, STRIP, FOOT = 112, 100, 20  # pixels of height
FRAME = 72  # of a strip's: its axes, below its name
LEFT, WIDTH, BETWEEN = 46, 736, 48  # of all columns, and from one to the next
COLUMNS = {"async_sgd": "asynchronous SGD: steps", "serving": "serving: queries", "a3c": "A3C: steps"}


def draw(timelines, path, png=False):
    """timelines: of Timeline. The path, or None if there is nothing to draw."""
    if not timelines:
        return None
    strips = list(dict.fromkeys((one.blow, one.who) for one in timelines))
    sheet = look.sheet(HEAD + STRIP * len(strips) + FOOT)
    look.title(sheet, "A worker, or its host, is killed in the middle of a step", "Seconds of each step; the struck one has an edge.",
               "The dashed line is what a step may take then: one second, and twice the median of those before.")
    columns = [workload for workload in COLUMNS if any(one.workload == workload for one in timelines)]
    width = (WIDTH - BETWEEN * (len(columns) - 1)) / len(columns)
    for number, workload in enumerate(columns):
        left = LEFT + number * (width + BETWEEN)
        look.write(sheet, left, HEAD - 40, COLUMNS[workload], size=10, weight="bold")
        of_workload = [one for one in timelines if one.workload == workload]
        ends = (max(one.struck for one in of_workload), max(len(one.seconds) - one.struck for one in of_workload))
        for timeline in of_workload:
            place = strips.index((timeline.blow, timeline.who))
            axes = look.box(sheet, left, HEAD + place * STRIP, width, FRAME)
            fill(axes, timeline)
            axes.set_xlim(-ends[0] - 0.6, ends[1] - 0.4)
            axes.tick_params(labelbottom=place == len(strips) - 1)
    return look.save(sheet, path, png)


def fill(axes, timeline):
    places = [number - timeline.struck for number in range(len(timeline.seconds))]
    late = [seconds > timeline.allowed() for seconds in timeline.seconds]
    usual = look.color(timeline.who)
    axes.bar(places, timeline.seconds, width=0.8, color=[look.BAD if one else usual for one in late], alpha=0.85)
    axes.bar([0], timeline.seconds[timeline.struck], width=0.8, fill=False, edgecolor=look.INK, linewidth=1.6)
    axes.axhline(timeline.allowed(), color=look.FAINT, linewidth=1, linestyle="--")
    axes.set_ylim(0, 1.1 * max(timeline.allowed(), *timeline.seconds))
    axes.locator_params(axis="y", nbins=4)
    axes.locator_params(axis="x", integer=True)
    axes.set_title(f"{timeline.who}, {timeline.blow.removesuffix(' killed')}", pad=3, fontsize=9, color=look.INK)
    axes.set_title(f"{timeline.usual():.2f} s, ≤ {timeline.latest():.2f} s", loc="right", pad=3,
                   fontsize=8, weight="normal", color=look.BAD if any(late[timeline.struck:]) else look.INK)
