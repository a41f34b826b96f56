"""How allreduces are measured: with and without our nodes being told, by the same nodes, each with its goals."""

import argparse
import contextlib
import unittest
from unittest import mock

import cases
import compare
import failures
import transfers
from course import Course
from operations import Operation
from ours import everyone_reads
from processes import Failed
from verdicts import EVERYONE_READS, OURS

MIB = 1 << 20


def peers(*names):
    return compare.Peers(argparse.Namespace(programs=compare.ROOT, peers=names, directory_with_source=False, beside=None))


def measured(case):
    """The rows of a case that runs without any host."""
    comparison = cases.Comparison(peers("hoplite", "gloo"), 1, [])
    running = [argparse.Namespace(name=name) for name in ("bare stream", OURS, EVERYONE_READS, "gloo")]
    with mock.patch("cases.Testbed", lambda *_: contextlib.nullcontext()), \
         mock.patch("cases.Rounds", lambda *_: contextlib.nullcontext(mock.Mock())), mock.patch("cases.say"), \
         mock.patch.object(compare.Peers, "for_transfers", lambda *_: running), \
         mock.patch.object(compare.Peers, "alone", lambda *_: running[:-1]):
        (comparison.alone if case in transfers.allreduces_apart(False) else comparison.transfers)(case)
    return comparison.rows


class Nodes:
    """Notes what they are asked, and fails if they are to."""

    def __init__(self, fails=False):
        self.asked = []
        self._fails = fails

    def run(self, operations):
        self.asked += operations
        if self._fails:
            raise Failed("nobody answers")
        return operations

    def restart(self):
        self.asked.append("restart")


class Ways(unittest.TestCase):
    def test_an_allreduce_is_measured_both_ways(self):
        for case in [*transfers.allreduces(False), *transfers.allreduces_apart(False)]:
            self.assertEqual([peer.name for peer in peers("hoplite").alone(case)], ["bare stream", OURS, EVERYONE_READS])

    def test_nothing_else_is(self):
        for case in [*transfers.broadcasts(False), *transfers.reductions(False), *transfers.gathers(False)]:
            self.assertEqual([peer.name for peer in peers("hoplite").alone(case)], ["bare stream", OURS])

    def test_the_nodes_are_told(self):
        nodes = Nodes()
        everyone_reads(nodes).run([Operation("allreduce", MIB)])
        self.assertEqual(nodes.asked, [Operation("allreduce", MIB, everyone_reads=True)])

    def test_after_a_failure_the_nodes_are_started_anew(self):
        nodes = Nodes(fails=True)
        with self.assertRaises(Failed):
            everyone_reads(nodes).run([Operation("allreduce", MIB)])
        self.assertEqual(nodes.asked[1:], ["restart"])


class Goals(unittest.TestCase):
    def test_told_ones_are_compared_with_the_peers_that_run(self):
        rows = [row for case in transfers.allreduces(False) for row in measured(case)]
        self.assertEqual([[(goal.text, goal.series, goal.against) for goal in row.goals] for row in rows], [
            [("at most 1.56 x S/B", EVERYONE_READS, "bare stream"), ("not slower than gloo", EVERYONE_READS, "gloo")],
            [("not slower than gloo", EVERYONE_READS, "gloo")],
            [("at most 1.85 x S/B", EVERYONE_READS, "bare stream"), ("not slower than gloo", EVERYONE_READS, "gloo")],
            [("at most 2.0 x S/B", EVERYONE_READS, "bare stream"), ("not slower than gloo", EVERYONE_READS, "gloo")]])

    def test_who_comes_late_has_a_goal_either_way(self):
        rows = [row for case in transfers.allreduces_apart(False) for row in measured(case)]
        self.assertEqual([[(goal.limit, goal.series, goal.worst) for goal in row.goals] for row in rows], [
            *2 * [[(1.15, OURS, False), (1.15, EVERYONE_READS, False)]], [(2.3, OURS, True), (2.03, EVERYONE_READS, True)],
            [(2.0, EVERYONE_READS, False)]])


class Deaths(unittest.TestCase):
    def test_what_a_death_costs_is_compared_with_the_work_lost(self):
        second = 10**9
        courses = {failures.UNDISTURBED: [Course(0, 8 * second, {}), None],
                   OURS: [Course(0, 11 * second, {}, struck=4 * second), Course(0, second, {}, struck=1)]}
        whole, cost = failures.allreduce_rows(Operation("allreduce", MIB, everyone_reads=True), [5.0, 5.0], courses)
        self.assertEqual(whole.series[OURS], [11.0, 1.0])
        self.assertEqual((cost.values(OURS), cost.series[failures.LOST][0]), ([3.0], 4.0))
        self.assertEqual(cost.reached(cost.goals[0]), (0.75, True))


if __name__ == "__main__":
    unittest.main()
