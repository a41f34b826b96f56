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

    def test_nothing_is_drawn_of_a_run_that_lacks_a_case(self):
        self.assertIsNone(headline.drawn(reference()[:1], headline.THEMES[""]))

    def test_the_table_of_the_page_is_that_of_the_results(self):
        table = summary.table(reference(), measured()["environment"]["revision"])
        self.assertIn(f"\n\n{table}\n", (RESULTS.parent / "results.md").read_text())


if __name__ == "__main__":
    unittest.main()
