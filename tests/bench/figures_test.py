"""What figures and tables say of the times that were measured."""

import json
import unittest

import panels
import report
import verdicts
from course import Course, median
from rows import Goal, Row, Setting, loaded

KIB, MIB = 1 << 10, 1 << 20


def row(size=16 * MIB, kind="broadcast", hosts=4, rate="100mbit", note="", **series):
    series = {name.replace("_", " "): times for name, times in series.items()}
    return Row(f"{kind} {size}", "s", series=series, reference="bare stream",
               setting=Setting(kind, size, hosts, rate, note))


class Verdicts(unittest.TestCase):
    def test_the_factor_is_to_the_better_peer(self):
        found = verdicts.verdict(row(hoplite=[1.0, 1.0], mpich_ofi=[2.0, 2.0], gloo=[3.0, 3.0]))
        self.assertEqual((found.winner, found.best_peer, found.factor, found.even), ("hoplite", "mpich ofi", 2.0, False))
        self.assertEqual(found.short(), "**hoplite** 2.00 (2.00)")

    def test_a_loss_names_who_is_faster(self):
        found = verdicts.verdict(row(hoplite=[3.0, 3.0], mpich_ofi=[2.0, 2.0], gloo=[1.5, 1.5]))
        self.assertEqual((found.winner, found.factor), ("gloo", 2.0))
        self.assertEqual(found.short(), "gloo 2.00 (2.00)")

    def test_a_small_difference_is_none(self):
        found = verdicts.verdict(row(hoplite=[1.0, 1.0], gloo=[1.02, 1.02]))
        self.assertEqual(found.short(), "even (gloo)")

    def test_repetitions_that_disagree_are_even(self):
        self.assertTrue(verdicts.verdict(row(hoplite=[1.0, 1.0, 1.0], gloo=[2.0, 2.0, 0.9])).even)
        self.assertFalse(verdicts.verdict(row(hoplite=[1.0, 1.0, 1.0], gloo=[2.0, 2.0, 1.1])).even)

    def test_factors_are_of_one_repetition(self):
        slow_moment = row(hoplite=[1.0, 10.0, 3.0], gloo=[4.0, 20.0, 3.3])
        self.assertEqual(verdicts.verdict(slow_moment).factor, 2.0)
        self.assertAlmostEqual(verdicts.verdict(slow_moment).worst, 1.1)

    def test_an_allreduce_counts_as_it_is_told(self):
        both = row(kind="allreduce", hoplite=[2.0, 2.0], gloo=[1.5, 1.5])
        both.series[verdicts.EVERYONE_READS] = [1.0, 1.0]
        self.assertEqual(verdicts.verdict(both).short(), "**hoplite** 1.50 (1.50)")
        both.series[verdicts.EVERYONE_READS] = [None, None]
        self.assertIsNone(verdicts.verdict(both))

    def test_the_bare_stream_is_no_peer(self):
        self.assertIsNone(verdicts.verdict(row(bare_stream=[1.0], hoplite=[1.1])))

    def test_whoever_failed_is_left_out(self):
        self.assertEqual(verdicts.verdict(row(hoplite=[2.0], mpich_ofi=[None], gloo=[4.0])).best_peer, "gloo")
        self.assertIsNone(verdicts.verdict(row(hoplite=[None], gloo=[4.0])))


class Goals(unittest.TestCase):
    def test_a_goal_of_every_round_is_missed_by_one(self):
        measured = row(bare_stream=[1.0, 1.0, 2.0], hoplite=[2.0, 2.5, 4.0])
        usual = Goal("at most 2.3", "hoplite", 2.3, against="bare stream")
        worst = Goal("at most 2.3, the worst", "hoplite", 2.3, against="bare stream", worst=True)
        self.assertEqual(measured.reached(usual), (2.0, True))
        self.assertEqual(measured.reached(worst), (2.5, False))
        self.assertEqual(row(bare_stream=[1.0], hoplite=[None]).reached(worst), (None, False))


    def test_the_table_shows_the_worst_beside_the_median(self):
        measured = row(bare_stream=[1.0, 1.0, 2.0], hoplite=[2.0, 2.5, 4.4])
        self.assertIn("|  | hoplite | 2.500 s | 4.400 s | 2.000 s to 4.400 s | 2.200 | 2.500 |", report.comparison([measured]))

    def test_the_worst_is_of_all_steps(self):
        measured = row()
        measured.add_steps("hoplite", [1.0, 1.0, 7.0])
        measured.add_steps("hoplite", [2.0, 2.0, 2.0])
        measured.add_steps("hoplite", None)
        self.assertEqual((measured.series["hoplite"], measured.worst("hoplite")), ([1.0, 2.0, None], 7.0))
        self.assertIsNone(measured.worst("gloo"))

    def test_where_more_is_better_the_least_is_the_worst(self):
        measured = row(hoplite=[5.0, 3.0])
        measured.goals.append(Goal("at least 4", "hoplite", 4.0, at_least=True))
        self.assertEqual(measured.worst("hoplite"), 3.0)


class Panels(unittest.TestCase):
    def setUp(self):
        times = {"bare_stream": [1.0, 2.0], "hoplite": [1.0, 4.0], "gloo": [3.0, 6.0]}
        self.rows = [row(kind="reduce", **times), row(kind="broadcast", hosts=16, rate="50mbit", **times),
                     row(kind="broadcast", note="one every 0.35 s", **times), row(kind="reduce", size=KIB, **times),
                     row(kind="reduce", hosts=2, rate=None, **times),
                     Row("put", "s", series={"hoplite": [1.0]})]

    def test_each_operation_has_a_panel_and_links_without_limit_have_their_own(self):
        self.assertEqual(list(panels.of_hops(self.rows)), ["broadcast", "reduce", panels.UNSHAPED])
        self.assertEqual([line.label for line in panels.of_hops(self.rows)["broadcast"]],
                         ["16 MiB, 4 hosts × 100 Mbit/s\none every 0.35 s", "16 MiB, 16 hosts × 50 Mbit/s"])
        self.assertEqual([line.label for line in panels.of_hops(self.rows)[panels.UNSHAPED]], ["reduce 16 MiB, 2 hosts"])

    def test_large_objects_are_shown_in_hops_of_their_repetition(self):
        line, = panels.of_hops(self.rows)["reduce"]
        self.assertEqual(line.points, {"hoplite": (1.5, 1.0, 2.0), "gloo": (3.0, 3.0, 3.0)})

    def test_small_objects_are_shown_in_seconds(self):
        small = panels.of_seconds(self.rows)
        self.assertEqual(list(small), ["reduce"])
        self.assertEqual(small["reduce"][0].points["hoplite"], (2.5, 1.0, 4.0))

    def test_a_peer_that_failed_has_no_mark(self):
        line, = panels.of_hops([row(bare_stream=[1.0], hoplite=[1.0], gloo=[None])])["broadcast"]
        self.assertIsNone(line.points["gloo"])


class Documents(unittest.TestCase):
    def test_rows_come_back_as_they_were(self):
        one = row(note="special", hoplite=[1.5, None], bare_stream=[1.0, 1.0])
        one.goals.append(Goal("at most 1.1 x S/B", "hoplite", 1.1, against="bare stream"))
        document = json.loads(report.as_json({"revision": "x"}, ["gloo: failed"], rows=[one]))
        self.assertEqual([loaded(entry) for entry in document["rows"]], [one])
        self.assertEqual(document["failures"], ["gloo: failed"])

    def test_rows_of_older_results_have_no_setting(self):
        entry = {"case": "put", "unit": "s", "series": {"hoplite": [1.0]}, "goals": [], "reference": "", "medians": {}}
        self.assertIsNone(loaded(entry).setting)

    def test_numbers_of_a_series_stay_on_a_line(self):
        self.assertIn("[0.0, 1.5, null]", report.as_json({}, [], courses={"rates": [0.0, 1.5, None]}))

    def test_the_table_of_winners_has_a_line_for_each_size(self):
        rows = [row(size=MIB, hoplite=[1.0, 1.0, 1.0], gloo=[2.0, 1.5, 2.5]), row(size=KIB, hoplite=[2.0], gloo=[1.0]),
                row(size=MIB, kind="reduce", hoplite=[1.0], gloo=[1.0])]
        self.assertEqual(report.fastest(rows).splitlines()[2:],
                         ["| 1 KiB | gloo 2.00 (2.00) |  |", "| 1 MiB | **hoplite** 2.00 (1.50) | even (gloo) |"])

    def test_tables_over_sizes_have_the_names_of_the_osu_benchmarks(self):
        tables = report.curves([row(size=MIB, hoplite=[1.0]), row(size=MIB, kind="round_trip", hoplite=[1.0]),
                                row(size=MIB, kind="point_to_point", hoplite=[1.0])])
        for heading in ("### broadcast (osu_bcast), ", "### round trip (osu_latency), ", "### point to point, "):
            self.assertIn(heading, tables)


class Courses(unittest.TestCase):
    def course(self, seconds, struck=None):
        flows = {"a": [(0, 0), (10**10, 10**9)], "b": [(0, 0), (10**10, 0)]}  # 800 Mbit/s, and nothing
        return Course(0, int(seconds * 1e9), flows, struck, finished=struck is None)

    def test_a_curve_has_the_average_over_survivors(self):
        curve = self.course(1.0, struck=500_000_000).curve()
        self.assertEqual(curve.rates, [400.0] * 10)
        self.assertEqual((curve.seconds, curve.struck, curve.finished), (1.0, 0.5, False))

    def test_shown_is_the_course_of_median_length(self):
        courses = [self.course(3.0), None, self.course(1.0), self.course(2.0)]
        self.assertEqual(median(courses).seconds(), 2.0)
        self.assertIsNone(median([None]))


if __name__ == "__main__":
    unittest.main()
