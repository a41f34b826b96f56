"""What a death costs the workloads of a Ray program: the time of each step around it, by handles and without."""

import dataclasses
import statistics

from processes import Failed
from rounds import say
from rows import Goal, Row

WORKER, HOST = "worker killed", "host killed"
# What dies beside the worker's process: who does not use Hoplite loses no node of it.
BESIDE = {("hoplite", WORKER): ("hoplite",), ("ray", WORKER): (),
          ("hoplite", HOST): ("hoplite", "raylet"), ("ray", HOST): ("raylet",)}
LATE = 1.0  # seconds that a step may take beyond twice the usual


@dataclasses.dataclass
class Timeline:
    """The steps of one run."""

    workload: str  # as ray_driver.py calls it
    who: str
    blow: str
    seconds: list  # of each step
    struck: int  # the step that was under way

    def usual(self):
        return statistics.median(self.seconds[:self.struck])

    def latest(self):
        """The longest of the struck one and those after it."""
        return max(self.seconds[self.struck:])

    def allowed(self):
        return LATE + 2 * self.usual()


class Killed:
    """Runs the cases, and gives their rows and timelines. titles: workload -> what tables call it; steps: name of a way ->
    how many of a run, of which a third are before the blow; failures: sentences."""

    def __init__(self, titles, steps, repetitions, with_goals, failures):
        self._titles = titles
        self._steps = steps
        self._repetitions = repetitions
        self._with_goals = with_goals
        self._failures = failures
        self._found = {}  # workload, blow, who: timelines

    @property
    def rows(self):
        """What there is, also after an interruption."""
        return [self._row(workload, blow) for blow in (WORKER, HOST) for workload in self._titles]

    @property
    def timelines(self):
        """Of each case the run with the latest step."""
        return [max(several, key=Timeline.latest) for several in self._found.values()]

    def run(self, bed, ways):
        """ways: plain Ray and ours. Several runs of what is killed and comes back; a host that is gone stays away, so
        that each such run has a cluster of its own."""
        try:
            for workload in self._titles:
                for way in ways:
                    for number in range(self._repetitions if way.name == "hoplite" else 1):
                        self._strike(bed, way, workload, WORKER, number)
            for workload in self._titles:
                for way in ways:
                    way.stop()
                    self._strike(bed, way, workload, HOST, 0)
        finally:
            for way in ways:
                way.stop()

    def _strike(self, bed, way, workload, blow, number):
        say(f"  {workload}, {way.name}, {blow}, run {number + 1}")
        steps = self._steps[way.name]
        try:
            way.start(bed)
            seconds = way.steps_around_a_blow(workload, steps, steps // 3, number, BESIDE[way.name, blow])
        except Failed as failure:
            way.stop()
            self._failures.append(f"{workload}, {blow}, {way.name}: {failure}")
            say(f"  FAILED {failure}")
            return
        found = Timeline(workload, way.name, blow, seconds, steps // 3)
        self._found.setdefault((workload, blow, way.name), []).append(found)

    def _row(self, workload, blow):
        goals = [Goal("no step longer than 1 s + twice the usual", "hoplite", 1.0, against="allowed")]
        row = Row(f"{self._titles[workload]}, {blow}: the longest from then on", "s",
                  goals=goals if self._with_goals and blow == WORKER else [])
        for (of_workload, of_blow, who), several in self._found.items():
            if (of_workload, of_blow) != (workload, blow):
                continue
            row.add(f"{who}, a usual step", statistics.median(one.usual() for one in several))
            worst = max(several, key=lambda one: one.latest() / one.allowed())
            if who == "hoplite":
                row.add("allowed", worst.allowed())
            row.add(who, worst.latest())
        return row
