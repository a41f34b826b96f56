"""The README's picture and the table of bench/results.md show what was measured."""

import json
import pathlib
import unittest

import headline
import summary
from rows import loaded

RESULTS = pathlib.Path(__file__).parents[2] / "bench/results"


def measured():
    return json.loads((RESULTS / "reference.json").read_text())


def reference():
    return [loaded(entry) for entry in measured()["rows"]]


class Headline(unittest.TestCase):
    def test_the_pictures_are_those_of_the_results(self):
        for suffix, colors in headline.THEMES.items():
            picture = (RESULTS / f"reference-headline{suffix}.svg").read_text()
            self.assertEqual(picture, headline.drawn(reference(), colors), "draw it again: scripts/bench.sh draw")

    def test_a_bar_is_the_median_ratio_and_mpich_is_its_better_one(self):
        row = next(row for row in reference() if row.case == "reduce 8 MiB, 16 hosts x 50 Mbit/s")
        bars = dict(headline.bars_of(row))
        self.assertEqual(bars["MPICH"], min(row.ratio("mpich ofi"), row.ratio("mpich ucx")))
        self.assertLess(bars["Hoplite"], bars["MPICH"])

    def test_who_gave_no_result_has_no_bar(self):
        row = next(row for row in reference() if "a relay killed" in row.case)
        self.assertIsNone(dict(headline.bars_of(row))["Gloo"])

    def test_it_says_how_fast_links_are_and_why_there_is_no_result(self):
        picture = headline.drawn(reference(), headline.THEMES[""])
        self.assertIn(">8 MiB to 16 hosts, 50 Mbit/s<", picture)
        self.assertIn(">64 MiB to 6 hosts, 100 Mbit/s<", picture)
        self.assertEqual(picture.count(">no result: its job ends with the killed rank<"), 3)

    def test_who_failed_is_told_from_who_was_not_measured(self):
        row = next(row for row in reference() if row.case == "reduce 8 MiB, 16 hosts x 50 Mbit/s")
        row.series["gloo"] = [None, None]
        del row.series["openmpi"]
        why = headline.why_none(row)
        self.assertEqual((why["Gloo"], why["Open MPI"]), (headline.FAILED, headline.NOT_MEASURED))

    def test_nothing_is_drawn_of_a_run_that_lacks_a_case(self):
        self.assertIsNone(headline.drawn(reference()[:1], headline.THEMES[""]))

    def test_the_table_of_the_page_is_that_of_the_results(self):
        table = summary.table(reference(), measured()["environment"]["revision"])
        self.assertIn(f"\n\n{table}\n", (RESULTS.parent / "results.md").read_text())


if __name__ == "__main__":
    unittest.main()
