"""Whole Ray programs, by handles and as plain Ray; and one that knows nothing of Hoplite, started by it and without."""

import dataclasses
import pathlib
import re

from hosts import Testbed
from operations import format_rate
from processes import Failed, run
from ray_hosts import RayHosts
from rounds import say
from rows import Goal, Row
from transfers import MIB

ROOT = pathlib.Path(__file__).parents[2]
HERE = pathlib.Path(__file__).parent
RAY, WORKLOADS = ROOT / "examples" / "ray", ROOT / "examples" / "workloads"
OURS, PLAIN = "hoplite", "ray"
STORE = 512 * MIB  # of each Ray node and of each of ours
PATIENCE = 400.0  # seconds of one program
SECONDS = re.compile(r"^\w+: ([\d.]+) s$", re.MULTILINE)
A_SECOND = re.compile(r"^([\d.]+) updates a second$", re.MULTILINE)
RESULT = re.compile(r"^result: (.*)$", re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Program:
    """What is started, with one worker on each host but the first."""

    title: str
    path: pathlib.Path
    options: str = ""
    gain: float = 2.0  # so many times as fast as plain Ray it is to be
    workers: str = "--workers"
    repeats: bool = True  # within one process; then the first time does not count
    handles: bool = True  # else it knows nothing of Hoplite


PROGRAMS = (
    Program("16 MiB from an unchanged program to all", HERE / "ray_unchanged.py", "--size=16", gain=2.5, handles=False),
    Program("block matrices, blocks of 2 MiB", WORKLOADS / "blocks.py", "--size=512"),
    Program("SparkNet, weights of 2.3 MiB", WORKLOADS / "sparknet.py", "--hidden=8192 --steps=2"),
    Program("evolution strategies, a table of 16 MiB", WORKLOADS / "evolution.py", "--rounds=2 --trials=4 --table=16"),
    Program("parameter server, two shards of 4 MiB", RAY / "parameter_server.py",
            "--shards=2 --rounds=3 --inputs=256 --hidden=8192"),
    Program("L-BFGS, weights of 1.9 MiB", RAY / "lbfgs.py", "--inputs=24576 --steps=5"),
    Program("IMPACT, 8 MiB, an update", WORKLOADS / "impact.py", "--updates=10 --policy=8MiB", repeats=False),
    Program("population based training, weights of 2.3 MiB", WORKLOADS / "population.py", "--hidden=8192 --iterations=8", gain=1.0,
            workers="--members"),
)


class Field:
    """Runs the programs on shaped hosts, and on a single one; collects their rows. python: an interpreter that has Ray;
    package: the folder of the package hoplite; failures: sentences."""

    def __init__(self, python, package, hosts, rate, repetitions, with_goals, failures):
        self._python = python
        self._paths = (package, RAY, WORKLOADS)
        self._places = ((hosts, rate), (1, None))
        self._repetitions = repetitions
        self._with_goals = with_goals
        self._failures = failures
        self.rows = []

    def run(self, programs=PROGRAMS):
        for hosts, rate in self._places:
            where = f"{hosts} hosts x {format_rate(rate)}" if rate else "one host"
            say(f"runtimes: whole programs; {where}")
            try:
                with Testbed(hosts, rate) as bed, RayHosts(bed, self._python, self._paths, STORE) as cluster:
                    for program in programs:
                        self._compare(program, bed.hosts[0], cluster.environment(), where, max(2, hosts - 1))
            except Failed as failure:  # Ray's nodes did not start
                self._failures.append(f"whole programs, {where}: {failure}")

    def _compare(self, program, host, environment, where, workers):
        gain = program.gain if workers > 2 else 1.0
        row = Row(f"{program.title}, {where}", "s", reference=PLAIN)
        if self._with_goals:
            row.goals.append(Goal(f"{gain} x as fast as ray", OURS, 1 / gain, against=PLAIN))
        self.rows.append(row)
        for number in range(1, self._repetitions + 1):
            results = {}
            for who in (PLAIN, OURS):
                say(f"  round {number} of {self._repetitions}: {program.title}, {who}")
                row.add_steps(who, self._guarded(program, host, environment, who, workers, results))
            if len(set(results.values())) > 1:
                self._failures.append(f"{row.case}: results differ: {results}")

    def _guarded(self, program, host, environment, who, workers, results):
        """Seconds of each time that counts. Adds what the program found to results."""
        try:
            said = run(host.command(*self._command(program, who, workers)), timeout=PATIENCE, env=environment)
            if (found := RESULT.search(said)):
                results[who] = found[1]
            return seconds(said)
        except Failed as failure:
            self._failures.append(f"{who}: {failure}")
            say(f"  FAILED {who}: {failure}")
            return None

    def _command(self, program, who, workers):
        words = [program.path, f"{program.workers}={workers}", *program.options.split()]
        if program.repeats:
            words.append("--repeat=3")
        if program.handles:
            return [self._python, *words, f"--transport={who}"]
        by_hoplite = ["-m", "hoplite.ray", f"--memory={STORE // MIB}MiB"] if who == OURS else []
        return [self._python, *by_hoplite, *words]


def seconds(said):
    """Of what a program printed: of each of its times but the first, or of one of its updates."""
    if (updates := A_SECOND.search(said)):
        return [1 / float(updates[1])]
    times = [float(one) for one in SECONDS.findall(said)]
    if len(times) < 2:
        raise Failed(f"a program says no times: {said.strip()[-300:]}")
    return times[1:]
