"""A figure of what the survivors of a death receive over time: a panel each for broadcast and reduce."""

from course import BIN
from figure import COLORS, OTHER, text

LEFT, WIDTH, RIGHT = 70, 560, 190
HEIGHT, TOP, BETWEEN, BOTTOM = 170, 56, 70, 50
LONGER = 1.1  # a panel is so many times as wide as the longest course that has a result
MEGABIT = 1e6
TITLES = {"broadcast": "broadcast: what comes over a survivor's link",
          "reduce": "reduce: what comes over the link of whoever asked for the sum"}


def draw(courses):
    """SVG; courses: kind -> who -> a Course of each repetition. Shown is the one of median length."""
    parts = [text(LEFT, 22, "A member is killed in the middle (dashed): Mbit/s over seconds", size=14)]
    top = TOP
    for kind, of_peers in courses.items():
        shown = {who: median(several) for who, several in of_peers.items() if any(several)}
        if shown:
            parts += panel(TITLES[kind], shown, top)
            top += HEIGHT + BETWEEN
    height = top - BETWEEN + BOTTOM
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + RIGHT}" height="{height}" '
            f'style="background:white">\n' + "\n".join(parts) + "\n</svg>\n")


def median(courses):
    in_order = sorted(filter(None, courses), key=lambda course: course.seconds())
    return in_order[(len(in_order) - 1) // 2]


def panel(title, courses, top):
    duration = LONGER * max((course.seconds() for course in courses.values() if course.finished), default=1.0)
    highest = max(max(course.rates(), default=0.0) for course in courses.values()) / MEGABIT
    scale = Scale(WIDTH / duration, HEIGHT / max(1.0, highest), top)
    parts = [text(LEFT, top - 8, title), *scale.axes(duration, highest)]
    for place, (who, course) in enumerate(courses.items()):
        color, dashes = style(who, course)
        parts.append(line(course, duration, scale, color, dashes))
        if not course.finished and course.seconds() <= duration:
            parts.append(cross(scale.x(course.seconds()), scale.y(0), color))
        parts.append(key(place, top, color, dashes, who, outcome(course)))
    blows = [scale.x(course.seconds_before_blow()) for course in courses.values() if course.struck]
    return parts + [f'<path d="M{x:.1f},{top} v{HEIGHT}" stroke="#222" stroke-dasharray="4 3"/>'
                    for x in blows[:1]]


class Scale:
    """Turns seconds and megabits into coordinates of the figure."""

    def __init__(self, second, megabit, top):
        self._second, self._megabit, self._top = second, megabit, top

    def x(self, seconds):
        return LEFT + seconds * self._second

    def y(self, megabits):
        return self._top + HEIGHT - megabits * self._megabit

    def axes(self, duration, highest):
        floor = self.y(0)
        parts = [f'<path d="M{LEFT},{self._top} V{floor:.1f} H{LEFT + WIDTH}" fill="none" stroke="#222"/>']
        parts += [text(self.x(second), floor + 16, str(second), anchor="middle")
                  for second in range(0, int(duration) + 1)]
        step = 25 if highest <= 150 else 250
        parts += [text(LEFT - 6, self.y(megabits) + 4, str(megabits), anchor="end")
                  for megabits in range(0, int(highest) + 1, step)]
        return parts


def style(who, course):
    name = who.partition(",")[0]
    return COLORS.get(name, OTHER), "" if course.struck else "2 2"


def line(course, duration, scale, color, dashes):
    rates = course.rates()[:int(duration / BIN)]
    points = " ".join(f"{scale.x((number + 0.5) * BIN):.1f},{scale.y(rate / MEGABIT):.1f}"
                      for number, rate in enumerate(rates))
    return (f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="1.6" '
            f'stroke-dasharray="{dashes}"/>')


def cross(x, y, color):
    return (f'<path d="M{x - 5:.1f},{y - 5:.1f} l10,10 m0,-10 l-10,10" stroke="{color}" '
            f'stroke-width="2.5"/>')


def key(place, top, color, dashes, who, what):
    x, y = LEFT + WIDTH + 12, top + 12 + 32 * place
    return (f'<line x1="{x}" y1="{y - 4}" x2="{x + 18}" y2="{y - 4}" stroke="{color}" stroke-width="2" '
            f'stroke-dasharray="{dashes}"/>' + text(x + 24, y, who) + text(x + 24, y + 13, what, size=11))


def outcome(course):
    if course.finished:
        return f"done at {course.seconds():.2f} s"
    if not course.ended:
        return f"waits on after {course.seconds_after_blow():.0f} s"
    return f"job ends {course.seconds_after_blow():.2f} s after"
