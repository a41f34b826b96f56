"""What the case of staggered receivers makes of its rounds."""

import argparse
import pathlib
import tempfile
import unittest

import compare
import report
import staggered
import transfers
import verdicts
from staggered import Case, Result


class Cases(unittest.TestCase):
    def test_s_over_b_counts_what_a_frame_carries(self):
        self.assertAlmostEqual(Case(8, "50mbit", 8 << 20, 0.15).hop, 1.403, 3)

    def test_receivers_ask_one_after_another_or_at_once(self):
        self.assertEqual(Case(4, "50mbit", 1, 0.5).moments, [0.0, 0.5, 1.0])
        self.assertEqual(Case(3, "50mbit", 1, 0.0).moments, [0.0, 0.0])

    def test_a_quick_run_has_the_first(self):
        self.assertEqual(staggered.cases(True), staggered.cases(False)[:1])


class Table(unittest.TestCase):
    def test_it_shows_the_worst_round_and_moves_beside_the_median(self):
        ours = Result("x", "hoplite", [1.0, 3.0, 1.1, 1.2], {"lost": 2, "faster": 2, "order": 0, "slow": 1})
        older = Result("x", "older build", [1.0, 1.2])
        failed = Result("y", "hoplite")
        self.assertEqual(list(staggered.lines([ours, older, failed])), [
            ["x", "hoplite", "1.15", "3.00", "4", "0.75: faster 0.50, slow 0.25"],
            ["", "older build", "1.10", "1.20", "2", "not counted"],
            ["y", "hoplite", "failed", "", "0", "not counted"]])
        self.assertIn("| x | hoplite | 1.15 | 3.00 |", report.staggered([ours]))

    def test_no_move_is_a_figure(self):
        self.assertEqual(staggered.moves_text(Result("x", "hoplite", [1.0], {"lost": 1})), "0.00")


class Beside(unittest.TestCase):
    def test_a_round_too_slow_beside_the_older_builds_worst(self):
        self.assertFalse(verdicts.too_slow("x", [1.0, 1.37], [1.0, 1.2]))
        [said] = verdicts.too_slow("x", [1.0, 1.39], [1.0, 1.2])
        self.assertIn("x: the worst round took 1.39 x S/B, that of the older build 1.20", said)

    def test_broadcasts_and_reductions_run_by_its_driver_where_it_has_one(self):
        with tempfile.TemporaryDirectory() as folder:
            beside = pathlib.Path(folder)
            peers = compare.Peers(argparse.Namespace(
                programs=beside, peers=["hoplite"], venv=None, directory_with_source=False, beside=beside))

            def names(case):
                return [peer.name for peer in peers.for_transfers(case)]
            self.assertEqual(names(transfers.broadcasts(True)[0]), ["bare stream", "hoplite"])
            (beside / "cluster_hoplite").touch()
            for case in (transfers.broadcasts(True)[0], transfers.reductions(True)[0]):
                self.assertEqual(names(case), ["bare stream", "hoplite", "older build"])
            self.assertEqual(names(transfers.gathers(True)[0]), ["bare stream", "hoplite"])

    def test_without_figures_nothing_is_said(self):
        self.assertFalse(verdicts.too_slow("x", [], [1.0]))
        self.assertFalse(verdicts.too_slow("x", [1.0], []))


if __name__ == "__main__":
    unittest.main()
