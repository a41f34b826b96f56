"""Which cases show what a runtime gains: their series and goals, whatever fails, without Ray."""

import contextlib
import pathlib
import unittest
from unittest import mock

import report
import runtimes
from killed import Timeline
from operations import Sample
from processes import Failed
from runtimes import Runtimes, difference
from rows import Row

SECONDS = {"bare stream": 1.0, "ray": 3.0, "hoplite": 1.05, "transport": 1.05}


class FakePeers:
    """Of the bare stream only."""

    def bare(self):
        return FakeBare()

    def mpich(self):
        return [FakeMpich()]


class FakeBare:
    name = "bare stream"

    def start(self, bed):
        pass

    def stop(self):
        pass

    def run(self, operations):
        return [Sample([0], [int(SECONDS[self.name] * 1e9)]) for _ in operations]


class FakeMpich(FakeBare):
    name = "mpich ofi"

    def run(self, operations):
        return [Sample([0], [int(0.9e9)]) for _ in operations]


class FakeRanks:
    """Two ranks; the second one is slower."""

    broken = ()
    hashes = ("aa", "aa")
    seconds_of = {"gloo": 1.0, "hoplite": 1.02}

    def __init__(self, *_):
        pass

    def start(self, bed):
        pass

    def stop(self):
        pass

    def train(self, backend, model, steps):
        if backend in self.broken:
            raise Failed(f"train {backend}: broken")
        times = [int(self.seconds_of[backend] * 1e9)] * steps
        return [{"times": [time - slower for time in times], "computing": 0.1, "loss": 0.25, "hashes": list(self.hashes)}
                for slower in (1000, 0)]


class FakeProgram:
    """Takes the part of the Ray program; a way in `broken` fails."""

    broken = ()

    def __init__(self, *_):
        self.starts = 0

    def start(self, bed):
        self.starts += 1

    def stop(self):
        pass

    def beside(self, pid, names):
        return [pid + 1 + place for place, _ in enumerate(names)]

    def ask(self, what, way, *words):
        if what == "play":
            return self.play(*[way, *words])
        if what in ("worker", "killed"):
            return self.strike(what, *([way, *words]))
        if way in self.broken:
            raise Failed(f"{what} {way}: broken")
        taken = int(SECONDS.get(way, 4.0) * 1e9)
        return {"begins": [0], "ends": [taken], "times": [taken]}

    def play(self, workload, way, policy, steps):
        """Its returns grow by one with each step."""
        if way in self.broken:
            raise Failed(f"play {way}: broken")
        return {"times": [int(SECONDS[way] * 1e9)] * steps, "computing": 0.25, "seconds": [float(one) for one in range(steps)],
                "returns": [None, *range(60, 59 + steps)]}

    def strike(self, what, workload, way, number_or_steps, *words):
        """The struck step takes twice as long as the others, and half a second."""
        if way in self.broken:
            raise Failed(f"{what} {way}: broken")
        if what == "worker":
            return {"pid": 100}
        strike, *self.killed = words
        times = [int(SECONDS[way] * 1e9)] * number_or_steps
        times[strike] = 2 * times[strike] + 500_000_000
        return {"times": times}


class FakeField:
    """Whole programs that take a third of plain Ray's time."""

    def __init__(self, *_):
        self.rows = []

    def run(self):
        self.rows = [Row("a program", "s", series={"ray": [3.0], "hoplite": [1.0]}, reference="ray")]


class FakeCalls:
    seconds_of = {"python": {"get": 11e-6, "aget": 50e-6, "put": 1.01}, "c++": {"get": 1e-6, "put": 1.0}}

    def __init__(self, *_):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def seconds(self, language, what, *_):
        return [self.seconds_of[language][what]]


def measure(repetitions=2, quick=False, broken=(), **options):
    """A Runtimes that has run, and what failed."""
    failures = []
    measured = Runtimes(FakePeers(), "python", pathlib.Path("bin"), repetitions, failures, quick, **options)
    with mock.patch("runtimes.Testbed", lambda *_: contextlib.nullcontext()), \
         mock.patch("runtimes.Program", FakeProgram), mock.patch("runtimes.LocalCalls", FakeCalls), \
         mock.patch("runtimes.Ranks", FakeRanks), mock.patch("runtimes.Field", FakeField), mock.patch("synchronous.say"), \
         mock.patch.object(FakeProgram, "broken", broken), mock.patch.object(FakeRanks, "broken", broken), \
         mock.patch("runtimes.say"), mock.patch("rounds.say"), \
         mock.patch("killed.say"), mock.patch("learning.say"):
        measured.run()
    return measured, failures


def run(**options):
    measured, failures = measure(**options)
    return measured.rows, failures


def reached(rows):
    """Text of each goal -> its figure and whether that is good enough."""
    return {goal.text: row.reached(goal) for row in rows for goal in row.goals}


class Cases(unittest.TestCase):
    def test_every_goal_has_a_figure(self):
        rows, failures = run()
        self.assertEqual(failures, [])
        found = reached(rows)
        self.assertEqual(set(found), {
            "at most 1.1 x S/B", "at most 1.2 x S/B", "at most 2.3 x S/B", "faster than ray", "at most 2 ms more than ray",
            "at most 2 ms more than ray, by ray.put", "2.5 x as many a second as ray", "3.3 x as many a second as ray",
            "below 1 ms", "below 20 µs", "below 300 µs",
            "no step longer than 1 s + twice the usual", "at most 1.05 x c++", "2.8 x as many a second as ray",
            "2.0 x as many a second as ray", "at most 40 %", "at least 120", "at least 90",
            "at most 1.05 x gloo", "at most 1.15 x gloo", "at most 1e-4"})
        self.assertTrue(all(figure is not None for figure, _ in found.values()))
        self.assertAlmostEqual(found["at most 1.1 x S/B"][0], 1.05)
        self.assertAlmostEqual(found["2.5 x as many a second as ray"][0], 0.35)
        self.assertEqual((found["2.5 x as many a second as ray"][1], found["3.3 x as many a second as ray"][1]),
                         (True, False))
        self.assertAlmostEqual(found["below 20 µs"][0], 10e-6)
        self.assertEqual((found["at most 40 %"], found["at least 120"], found["at least 90"]),
                         ((25, True), (118, False), (118, True)))

    def test_a_value_for_each_repetition(self):
        rows, _ = run(repetitions=3, only=("transfers", "workloads", "calls"))
        once = [row for row in rows if "64 MiB" in row.case or "best return" in row.case]
        self.assertEqual({len(values) for row in once for values in row.series.values()}, {1})
        self.assertEqual({len(values) for row in rows if row not in once for values in row.series.values()}, {3})

    def test_a_quick_run_has_no_goals(self):
        rows, _ = run(quick=True)
        self.assertEqual(reached(rows), {})
        self.assertTrue(all(row.values(who) for row in rows for who in row.series))

    def test_what_fails_is_named_and_the_others_are_measured(self):
        rows, failures = run(repetitions=1, broken=("hoplite",))
        self.assertTrue(failures and all(failure.endswith("hoplite: broken") for failure in failures))
        step = next(row for row in rows if row.case.startswith("asynchronous SGD"))
        self.assertEqual((step.values("ray"), step.values("hoplite")), ([3.0], []))
        self.assertEqual(step.reached(step.goals[0]), (None, False))


class KilledWorkers(unittest.TestCase):
    def test_each_case_has_a_row_and_a_timeline(self):
        measured, failures = measure(only=("killed",))
        self.assertEqual(failures, [])
        self.assertEqual([(one.workload, one.who, one.blow) for one in measured.timelines], [
            (workload, who, blow) for blow in ("worker killed", "host killed")
            for workload in ("async_sgd", "serving", "a3c") for who in ("hoplite", "ray")])
        row = measured.rows[0]
        self.assertEqual(row.series, {"hoplite, a usual step": [1.05], "allowed": [3.1], "hoplite": [2.6],
                                      "ray, a usual step": [3.0], "ray": [6.5]})
        self.assertEqual(row.reached(row.goals[0]), (2.6 / 3.1, True))
        self.assertEqual([len(row.goals) for row in measured.rows], [1, 1, 1, 0, 0, 0])  # the raylet lives, or not

    def test_the_struck_step_and_those_after_it_count(self):
        timeline = Timeline("serving", "hoplite", "worker killed", [9.0, 1.0, 1.0, 2.0, 4.0], struck=3)
        self.assertEqual((timeline.usual(), timeline.allowed(), timeline.latest()), (1.0, 3.0, 4.0))

    def test_who_shows_up_nowhere_is_named(self):
        with mock.patch.object(FakeProgram, "beside", lambda *_: []):
            measured, failures = measure(only=("killed",), repetitions=1)
        self.assertIn("async_sgd, worker killed, hoplite: beside worker 100 run 0 of hoplite", failures)
        self.assertEqual({one.who for one in measured.timelines if one.blow == "worker killed"}, {"ray"})

    def test_more_hosts_are_to_gain_more(self):
        rows, _ = run(only=("workloads",), hosts=16)
        self.assertIn("first 7 of 15 gradients", rows[0].case)
        self.assertEqual(rows[0].goals[0].limit, 1 / 5)


class LearningToPlay(unittest.TestCase):
    def test_each_way_has_a_course(self):
        measured, failures = measure(only=("workloads",))
        self.assertEqual(failures, [])
        self.assertEqual([(one.workload, one.who, len(one.seconds), len(one.returns)) for one in measured.courses],
                         [(workload, who, 60, 60) for workload in ("a3c", "impala") for who in ("ray", "hoplite")])

    def test_a_quick_run_has_none(self):
        measured, _ = measure(only=("workloads",), quick=True)
        self.assertEqual(measured.courses, [])
        self.assertTrue(any(row.case.startswith("IMPALA, 64 MiB") for row in measured.rows))

    def test_who_fails_has_no_course(self):
        measured, failures = measure(only=("workloads",), broken=("hoplite",))
        self.assertTrue(failures)
        self.assertEqual([one.who for one in measured.courses], ["ray", "ray"])

    def test_more_hosts_are_to_gain_more(self):
        rows, _ = run(only=("workloads",), hosts=16)
        limits = {row.case.split(",")[0]: row.goals[0].limit for row in rows if "8 MiB, first 7 of 15, 16" in row.case}
        self.assertEqual(limits, {"A3C": 1 / 3.9, "IMPALA": 1 / 3.0})


class SynchronousTraining(unittest.TestCase):
    def test_a_step_ends_with_its_slowest_rank(self):
        rows, failures = run(only=("synchronous",), repetitions=2)
        self.assertEqual(failures, [])
        self.assertEqual(rows[0].series, {"gloo": [1.0, 1.0], "hoplite": [1.02, 1.02],
                                          "mpich ofi, the allreduce alone": [0.9, 0.9]})
        self.assertEqual(len(rows), 9)

    def test_weights_that_differ_are_a_failure(self):
        with mock.patch.object(FakeRanks, "hashes", ("aa", "bb")):
            rows, failures = run(only=("synchronous",), repetitions=1)
        self.assertIn("hoplite: vgg16, hoplite: the ranks have different weights: aa bb", failures)
        self.assertEqual(rows[0].values("hoplite"), [])

    def test_a_back_end_that_fails_is_left_out(self):
        rows, failures = run(only=("synchronous",), repetitions=1, broken=("hoplite",))
        self.assertTrue(failures)
        self.assertEqual((rows[0].values("gloo"), rows[0].values("hoplite")), ([1.0], []))


class Differences(unittest.TestCase):
    def test_of_the_last_values(self):
        row = Row("case", "s", series={"a": [1.0, 5.0], "b": [1.0, 2.0]})
        self.assertEqual(difference(row, "a", "b"), 3.0)
        row.add("a", None)
        self.assertIsNone(difference(row, "a", "b"))

    def test_below_zero_is_shown_in_a_fitting_unit(self):
        self.assertEqual(report.show(-2.5e-3, "s"), "-2.5 ms")


class Ways(unittest.TestCase):
    def test_the_program_is_there_again_when_the_other_way_has_ended_it(self):
        program = FakeProgram()
        way = runtimes.Way("ray", program)
        way.start(bed=None)
        way.run([])
        way.step_seconds("serving", 1)
        self.assertEqual(program.starts, 2)


if __name__ == "__main__":
    unittest.main()
