"""Which curves are measured: sizes, repetitions, room, and what an earlier run has measured already."""

import contextlib
import unittest
from unittest import mock

import curves
from curves import Curves
from operations import Operation, Sample, of_ranks

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
PLENTY, LITTLE = 100 * GIB, 7 * GIB


class Peers:
    def together(self, memory, operations):
        return []


class FakeRounds:
    """Notes what is run, and gives each operation a figure for each repetition."""

    def __init__(self, notes):
        self._notes = notes

    def run(self, rows, repetitions):
        for operation, row in rows.items():
            self._notes.append((operation.kind, operation.size, repetitions))
            row.series["hoplite"] = [1.0] * repetitions


def run(memory=PLENTY, rows=(), minutes=None, quick=False, repetitions=5, largest=64 * MIB):
    """The curves, and what was run."""
    notes = []
    measured = Curves(Peers(), repetitions, [], rows, minutes, quick, largest)
    with mock.patch("curves.Testbed", lambda *_: contextlib.nullcontext()), \
         mock.patch("curves.Rounds", lambda *_: contextlib.nullcontext(FakeRounds(notes))), \
         mock.patch("curves.say"), mock.patch("environment.available_memory", lambda: memory):
        measured.run()
    return measured, notes


class Sizes(unittest.TestCase):
    def test_from_1_kib_to_64_mib_by_factors_of_four(self):
        sizes = [operation.size for operation in curves.operations("reduce", 4, 64 * MIB, 4)]
        self.assertEqual(sizes, [KIB, 4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB, 4 * MIB, 16 * MIB, 64 * MIB])

    def test_nobody_gathers_more_than_256_mib(self):
        for hosts, largest in ((4, 64 * MIB), (8, 16 * MIB), (16, 16 * MIB)):
            self.assertEqual(curves.operations("allgather", hosts, 64 * MIB, 4)[-1].size, largest)

    def test_a_store_has_room_for_two_gathers(self):
        self.assertGreater(curves.memory([Operation("gather", 16 * MIB)], 8), 2 * 8 * 16 * MIB)

    def test_a_store_has_room_for_a_round_trip_of_the_largest(self):
        both = [Operation("round_trip", MIB, times=20), Operation("round_trip", GIB)]
        self.assertGreater(curves.memory(both, 2), 2 * GIB + 40 * MIB)
        self.assertLess(curves.memory(both, 2), 3 * GIB)


class Runs(unittest.TestCase):
    def test_every_operation_on_every_testbed(self):
        measured, _ = run()
        found = {(row.setting.kind, row.setting.hosts) for row in measured.rows}
        self.assertEqual(found, {("round_trip", 2)} | {(kind, hosts) for kind in curves.KINDS for hosts in (4, 8, 16)})

    def test_large_objects_have_fewer_repetitions(self):
        _, notes = run()
        self.assertIn(("broadcast", 4 * MIB, 5), notes)
        self.assertIn(("broadcast", 16 * MIB, 3), notes)

    def test_objects_may_be_left_out_that_take_long(self):
        _, notes = run(largest=MIB)
        self.assertEqual({size for kind, size, _ in notes if kind != "round_trip"},
                         {KIB, 4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB})

    def test_hosts_that_the_machine_does_not_carry_are_left_out(self):
        measured, _ = run(memory=LITTLE)
        self.assertEqual({row.setting.hosts for row in measured.rows}, {2, 4, 8})

    def test_round_trips_that_the_memory_does_not_suffice_for_are_left_out(self):
        sizes = {memory: {row.setting.size for row in run(memory)[0].rows if row.setting.kind == "round_trip"}
                 for memory in (PLENTY, LITTLE)}
        self.assertEqual(sizes, {PLENTY: {KIB, MIB, GIB}, LITTLE: {KIB, MIB}})

    def test_a_run_goes_on_where_the_last_one_ended(self):
        measured, _ = run()
        kept = [row for row in measured.rows if row.setting.kind != "reduce"]
        again, notes = run(rows=kept)
        self.assertEqual({kind for kind, _, _ in notes}, {"reduce"})
        self.assertEqual({row.case for row in again.rows}, {row.case for row in measured.rows})

    def test_a_curve_that_is_not_complete_is_measured_again(self):
        measured, _ = run()
        again, notes = run(rows=measured.rows[1:])
        self.assertEqual({kind for kind, _, _ in notes}, {"round_trip"})
        self.assertEqual(len(again.rows), len(measured.rows))

    def test_nothing_is_begun_when_the_time_is_over(self):
        self.assertEqual(run(minutes=-1)[1], [])

    def test_a_quick_run_is_small(self):
        measured, notes = run(quick=True, repetitions=2)
        self.assertEqual({row.setting.hosts for row in measured.rows}, {2, 4})
        self.assertEqual({repetitions for _, _, repetitions in notes}, {2})


class RoundTrips(unittest.TestCase):
    def test_ends_where_it_began(self):
        self.assertEqual(of_ranks(Operation("round_trip", KIB, times=2), [10, 11], [50, 40]), Sample([10], [50]))


if __name__ == "__main__":
    unittest.main()
