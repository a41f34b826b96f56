"""What very many nodes do: the real planner over simulated links, by `hoplite sim`. Each case with its goals."""

import dataclasses
import json
import time

import processes
from operations import format_size
from rounds import say
from rows import Goal, Row
from transfers import GIB, KIB, MIB
from verdicts import OURS

LINKS = ("--bandwidth", "10gbit", "--latency", "100us")
BOUND = "bound"  # what one link must carry / its rate, and a message: the simulator says how much that is
BEST = "best schedule"  # of a line and the trees, without any words


@dataclasses.dataclass(frozen=True)
class Simulated:
    """limit: the greatest time of all seeds, in bounds. seconds: that a run of the simulator may take."""

    kind: str
    nodes: int
    size: int
    limit: float
    flags: tuple = ()
    note: str = ""
    seeds: tuple = (1,)
    seconds: float = 60.0

    @property
    def name(self):
        what = f"simulated {self.kind} {format_size(self.size)}{self.note}"
        return f"{what}, {self.nodes} nodes, 10 Gbit/s, 100 µs"

    def command(self, program, seed):
        return [program, "sim", self.kind, "--nodes", str(self.nodes), "--size", str(self.size), *LINKS, *self.flags,
                "--seed", str(seed), "--json"]


def simulated(quick):
    told = ("--everyone-reads",)
    few = [Simulated("broadcast", 10_000, 64 * KIB, 8.5), Simulated("broadcast", 10_000, MIB, 2.4),
           Simulated("broadcast", 10_000, 16 * MIB, 1.18), Simulated("broadcast", 10_000, GIB, 1.02),
           Simulated("broadcast", 1_000, 16 * MIB, 1.2, ("--kill", "10"), ", 1 % die", (1, 2, 3, 4, 5))]
    many = [Simulated("broadcast", 100_000, GIB, 1.02, seconds=300),
            Simulated("allreduce", 1_000, 16 * MIB, 1.15, told), Simulated("allreduce", 1_000, GIB, 1.02, told)]
    return few if quick else few + many


def run(program, case, failures):
    """A row of the simulated times and one of what the simulator took; failures: sentences, for the report."""
    say(case.name)
    goal = Goal(f"at most {case.limit} x the bound", OURS, case.limit, against=BOUND, worst=True)
    row = Row(case.name, "s", reference=BOUND, goals=[goal])
    wall = Row("a run of that simulation", "s", goals=[Goal(f"below {case.seconds:.0f} s", "wall time", case.seconds)])
    for seed in case.seeds:
        begin = time.monotonic()
        try:
            report = json.loads(processes.run(case.command(program, seed), timeout=2 * case.seconds))
        except processes.Failed as failure:
            failures.append(str(failure))
            continue
        wall.add("wall time", time.monotonic() - begin)
        row.add(OURS, report["seconds"])
        row.add(BOUND, report["bound_seconds"])
        if case.kind == "broadcast" and not case.flags:
            row.add(BEST, min(report["line_seconds"], report["best_tree_seconds"]))
    return [row, wall]
