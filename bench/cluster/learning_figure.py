"""A figure of how A3C and IMPALA learn: the mean return over seconds, a panel for each, a line for each transport."""

import look
from learning import RETURNS, TITLES

HEAD, HEIGHT, FOOT = 112, 230, 44  # pixels
LEFT, WIDTH, BETWEEN = 46, 340, 56


def draw(courses, path, png=False):
    """courses: of learning.Course. The path, or None if there is nothing to draw."""
    if not courses:
        return None
    sheet = look.sheet(HEAD + HEIGHT + FOOT)
    look.title(sheet, "How fast the workers learn to play",
               "The mean return of each worker's last 20 episodes, over seconds; each dot is an update.",
               "The dashed line is what is to be reached within the updates shown.")
    names = list(dict.fromkeys(one.who for one in courses))
    look.legend(sheet, names, HEAD - 46, len(names))
    panels = [workload for workload in TITLES if any(one.workload == workload for one in courses)]
    for number, workload in enumerate(panels):
        axes = look.box(sheet, LEFT + number * (WIDTH + BETWEEN), HEAD, WIDTH, HEIGHT)
        fill(axes, workload, [one for one in courses if one.workload == workload])
    return look.save(sheet, path, png)


def fill(axes, workload, courses):
    axes.axhline(RETURNS[workload], color=look.FAINT, linewidth=1, linestyle="--")
    for course in courses:
        known = [point for point in zip(course.seconds, course.returns) if point[1] is not None]
        if known:
            axes.plot(*zip(*known), color=look.color(course.who), marker=look.marker(course.who), markersize=2.5, linewidth=1)
    axes.set_title(TITLES[workload])
    axes.set_xlabel("seconds")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.grid(axis="y")
