"""What reinforcement learning gains: the steps of A3C and IMPALA by handles and without, and how the returns grow."""

import dataclasses

from rounds import say
from rows import Goal, Row

OURS, PLAIN = "hoplite", "ray"
TITLES = {"a3c": "A3C", "impala": "IMPALA"}
# Of 8 hosts, and of 16: so many times as many steps a second as plain Ray.
GAINS = {"a3c": (2.8, 3.9), "impala": (2.0, 3.0)}
RETURNS = {"a3c": 120, "impala": 90}
COMPUTE = 40  # per cent of the time by handles: with more, the figures are no longer those of a transport
POLICY, LARGE = "8MiB", "64MiB"


@dataclasses.dataclass
class Course:
    """How one run learned."""

    workload: str  # as ray_driver.py calls it
    who: str
    seconds: list  # of each update, since the beginning
    returns: list  # then: the mean return of each worker's last 20 episodes; None before there is one


class Learning:
    """Runs the cases, and has their rows and courses. hosts: how many; links: in words; updates: of a run that is to
    learn, or 0; failures: sentences."""

    def __init__(self, hosts, links, updates, with_goals, failures):
        self._hosts = hosts
        self._links = links
        self._updates = updates
        self._with_goals = with_goals
        self._failures = failures
        self._of_handles = f"first {(hosts - 1) // 2} of {hosts - 1}, {links}"
        self.rows = []
        self.courses = []

    def run(self, ways, rounds, repetitions, steps):
        """Plain Ray and ours in turn, and then once until they have learned."""
        for workload in TITLES:
            row, computing = self._step_row(workload), self._compute_row(workload)
            self.rows += [row, computing]
            for number in range(1, repetitions + 1):
                for way in ways:
                    say(f"  round {number} of {repetitions}: {workload}, {way.name}")
                    answer = rounds.guarded(way, lambda: way.play(workload, POLICY, steps))
                    row.add_steps(way.name, seconds_of_steps(answer))
                    computing.add(way.name, answer and 100 * answer["computing"])
        if self._updates:
            for workload in TITLES:
                self._learn(workload, ways, rounds)

    def run_large(self, ways, rounds, steps):
        """Once, with a policy of 64 MiB: too few steps to learn."""
        for workload in TITLES:
            row = Row(f"{TITLES[workload]}, {LARGE[:2]} MiB, {self._of_handles}, a step", "s", reference=PLAIN)
            self.rows.append(row)
            for way in ways:
                say(f"  {workload}, {LARGE}, {way.name}")
                row.add_steps(way.name, seconds_of_steps(rounds.guarded(way, lambda: way.play(workload, LARGE, steps))))

    def _learn(self, workload, ways, rounds):
        row = Row(f"{TITLES[workload]}, the best return within {self._updates} updates, {self._links}", "",
                  goals=self._goals(Goal(f"at least {RETURNS[workload]}", OURS, RETURNS[workload], at_least=True)))
        self.rows.append(row)
        for way in ways:
            say(f"  {workload} learns, {way.name}")
            answer = rounds.guarded(way, lambda: way.play(workload, POLICY, self._updates))
            row.add(way.name, answer and max((one for one in answer["returns"] if one is not None), default=0))
            if answer:
                self.courses.append(Course(workload, way.name, answer["seconds"], answer["returns"]))

    def _step_row(self, workload):
        gain = GAINS[workload][self._hosts >= 16]
        return Row(f"{TITLES[workload]}, 8 MiB, {self._of_handles}, a step", "s", reference=PLAIN, goals=self._goals(
            Goal(f"{gain} x as many a second as ray", OURS, 1 / gain, against=PLAIN)))

    def _compute_row(self, workload):
        return Row(f"{TITLES[workload]}: the part of the time that it computes", "%",
                   goals=self._goals(Goal(f"at most {COMPUTE} %", OURS, COMPUTE)))

    def _goals(self, *goals):
        return list(goals) if self._with_goals else []


def seconds_of_steps(answer):
    return [nanoseconds / 1e9 for nanoseconds in answer["times"]] if answer else None
