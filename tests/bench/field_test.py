"""Whole Ray programs of the benchmark: what is started, and what is read from what they print."""

import contextlib
import unittest
from unittest import mock

import field
from processes import Failed

PROGRAMS = field.PROGRAMS[:2]


class Host:
    def command(self, *words):
        return [str(word) for word in words]


class Bed:
    hosts = (Host(),)


class Cluster:
    def environment(self):
        return {}


def said(command, **_):
    """What a program prints that takes 3 s with plain Ray, and 1 s with Hoplite."""
    ours = "--transport=hoplite" in command or "hoplite.ray" in command
    return f"some words\nprogram: 9.0 s\nprogram: {1 if ours else 3}.0 s\nresult: 7\n"


def measured(run=said, with_goals=True):
    """The rows, what failed, and what was started."""
    failures, started = [], []

    def remembered(command, **options):
        started.append(command)
        return run(command, **options)

    one = field.Field("python", "package", 8, "100mbit", 1, with_goals, failures)
    with mock.patch("field.Testbed", lambda *_: contextlib.nullcontext(Bed())), mock.patch("field.say"), \
         mock.patch("field.RayHosts", lambda *_: contextlib.nullcontext(Cluster())), mock.patch("field.run", remembered):
        one.run(PROGRAMS)
    return one.rows, failures, started


class Programs(unittest.TestCase):
    def test_each_runs_both_ways_on_many_hosts_and_on_one(self):
        rows, failures, started = measured()
        self.assertEqual(failures, [])
        self.assertEqual([row.series for row in rows], [{"ray": [3.0], "hoplite": [1.0]}] * 4)
        self.assertEqual([row.goals[0].limit for row in rows], [1 / 2.5, 1 / 2.0, 1.0, 1.0])
        self.assertEqual(started[1][:3], ["python", "-m", "hoplite.ray"])
        self.assertIn("--workers=7", started[0])

    def test_other_results_are_a_failure(self):
        _, failures, _ = measured(lambda command, **_: said(command) if "--transport=ray" in command
                                  else said(command).replace("7", "8"))
        self.assertIn("block matrices, blocks of 2 MiB, one host: results differ: {'ray': '7', 'hoplite': '8'}", failures)

    def test_who_fails_is_named(self):
        def run(command, **_):
            if "--transport=hoplite" in command:
                raise Failed("broken")
            return said(command)

        rows, failures, _ = measured(run)
        self.assertEqual(failures, ["hoplite: broken"] * 2)
        self.assertEqual(rows[1].series, {"ray": [3.0], "hoplite": [None]})

    def test_files_are_there(self):
        for program in field.PROGRAMS:
            self.assertTrue(program.path.is_file(), program.path)


class Seconds(unittest.TestCase):
    def test_the_first_time_does_not_count(self):
        self.assertEqual(field.seconds("ray: 5.5 s\nray: 1.5 s\nray: 2.5 s\n"), [1.5, 2.5])

    def test_updates_a_second(self):
        self.assertEqual(field.seconds("4.00 updates a second\nbest return: 3\n"), [0.25])

    def test_none_is_a_failure(self):
        with self.assertRaises(Failed):
            field.seconds("ray: 5.5 s\n")


if __name__ == "__main__":
    unittest.main()
