"""How simulations are run and judged: by the worst of their seeds, beside the bound that the simulator says."""

import json
import unittest
from unittest import mock

import processes
import simulations
from simulations import Simulated

MIB = 1 << 20


def rows_of(case, reports):
    """What a case measures if the simulator says so, one report for each seed; and what failed, and what was run."""
    failures = []
    with mock.patch("simulations.say"), mock.patch("processes.run", side_effect=reports) as ran:
        rows = simulations.run("hoplite", case, failures)
    return rows, failures, [call.args[0] for call in ran.call_args_list]


def report(seconds, bound=1.0):
    return json.dumps({"seconds": seconds, "bound_seconds": bound, "line_seconds": 9.0, "best_tree_seconds": 2.0})


class Simulations(unittest.TestCase):

    def test_the_worst_seed_counts(self):
        case = Simulated("broadcast", 1000, 16 * MIB, 1.2, ("--kill", "10"), ", 1 % die", (1, 2, 3))
        (row, wall), failures, commands = rows_of(case, [report(1.1), report(1.3), report(1.0)])
        self.assertEqual(row.reached(row.goals[0]), (1.3, False))
        self.assertEqual(row.case, "simulated broadcast 16 MiB, 1 % die, 1000 nodes, 10 Gbit/s, 100 µs")
        self.assertEqual(len(wall.values("wall time")), 3)
        self.assertEqual(failures, [])
        self.assertEqual([command[command.index("--seed") + 1] for command in commands], ["1", "2", "3"])
        self.assertEqual({command[command.index("--kill") + 1] for command in commands}, {"10"})

    def test_a_run_that_fails_is_told_and_the_others_count(self):
        case = Simulated("allreduce", 1000, MIB, 1.15, ("--everyone-reads",), seeds=(1, 2))
        (row, wall), failures, _ = rows_of(case, [processes.Failed("not done"), report(2.0, bound=2.0)])
        self.assertEqual(row.reached(row.goals[0]), (1.0, True))
        self.assertEqual(failures, ["not done"])
        self.assertEqual(len(wall.values("wall time")), 1)
        self.assertNotIn(simulations.BEST, row.series)

    def test_a_quick_run_has_the_broadcasts_that_take_seconds(self):
        quick, all_cases = simulations.simulated(True), simulations.simulated(False)
        self.assertLess({case.kind for case in quick}, {case.kind for case in all_cases})
        self.assertLessEqual(max(case.nodes for case in quick), 10_000)
        self.assertEqual(all_cases[:len(quick)], quick)


if __name__ == "__main__":
    unittest.main()
