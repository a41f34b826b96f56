"""What each mechanism of the planner brings: the simulated rows of its page, and some more, with one after the other off.

    python3 bench/cluster/without.py --seeds 3 --programs build/release/bin

A cell is the time without the mechanism as a multiple of that with all of them, the mean over the seeds; empty: within 2 %.
Below 1: the row is faster without. What is empty or below 1 in all rows brings nothing that these rows see.
"""

import argparse
import dataclasses
import json
import pathlib
import statistics
import subprocess

import unequal

ROOT = pathlib.Path(__file__).resolve().parents[2]
PARTS = ("rates", "relays", "takeover", "gathering", "forest", "ring", "trees")
LITTLE = 0.02
FAST = "--bandwidth 10gbit --latency 100us"
SLOW = "--bandwidth 100mbit --latency 2ms"
GIGABIT = "--bandwidth 1gbit --latency 100us"


@dataclasses.dataclass(frozen=True)
class Row:
    """figure: of the report, in seconds or a multiple of a bound that is the same with and without."""

    name: str
    flags: str
    job: str = "broadcast"
    figure: str = "seconds"

    def play(self, program, seed, off):
        command = [program, "sim", self.job, "--json", "--seed", seed, *self.flags.split(), *off]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)[self.figure]


@dataclasses.dataclass(frozen=True)
class Unequal:
    """A row of unequal.py."""

    case: unequal.Case

    @property
    def name(self):
        return self.case.name

    def play(self, program, seed, off):
        return unequal.simulate(program, self.case, seed, off)


ROWS = [
    Row("8 × 16 MiB, 100 Mbit/s, at once", f"--nodes 8 --size 16MiB {SLOW}"),
    Row("8 × 16 MiB, 100 Mbit/s, 20 ms apart", f"--nodes 8 --size 16MiB {SLOW} --apart 20ms"),
    Row("8 × 1 MiB, 100 Mbit/s", f"--nodes 8 --size 1MiB {SLOW}"),
    Row("16 × 256 KiB, 100 Mbit/s", f"--nodes 16 --size 256KiB {SLOW}"),
    Row("64 × 64 MiB, 10 Gbit/s, within 10 ms", f"--nodes 64 --size 64MiB {FAST} --spread 10ms"),
    Row("64 × 1 MiB, 10 Gbit/s", f"--nodes 64 --size 1MiB {FAST}"),
    Row("300 × 16 MiB, 10 Gbit/s", f"--nodes 300 --size 16MiB {FAST}"),
    Row("1,000 × 16 MiB, 10 Gbit/s, within 1 ms", f"--nodes 1000 --size 16MiB {FAST} --spread 1ms"),
    Row("64 × 64 MiB, 10 Gbit/s, 8 die", f"--nodes 64 --size 64MiB {FAST} --kill 8"),
    Row("8 × 256 MiB, 1 Gbit/s, one in the line dies", f"--nodes 8 --size 256MiB {GIGABIT} --kill-at 3@1s"),
    Row("6 × 64 MiB, one carries a tenth: the others", f"--nodes 6 --size 64MiB {GIGABIT} --slow-nodes 1", figure="fast_seconds"),
    Row("100 × 64 MiB, one carries a tenth: the others", f"--nodes 100 --size 64MiB {GIGABIT} --slow-nodes 1", figure="fast_seconds"),
    Row("allgather 4 × 16 MiB, within 1 ms", f"--nodes 4 --size 16MiB {SLOW} --spread 1ms", "allgather"),
    Row("allgather 4 × 16 MiB, within 150 ms", f"--nodes 4 --size 16MiB {SLOW} --spread 150ms", "allgather"),
    Row("allgather 8 × 4 MiB, within 1 ms", f"--nodes 8 --size 4MiB {SLOW} --spread 1ms", "allgather"),
    Row("allreduce 8 × 64 MiB", f"--nodes 8 --size 64MiB {GIGABIT} --everyone-reads", "allreduce"),
    Row("allreduce 300 × 16 MiB", f"--nodes 300 --size 16MiB {FAST} --everyone-reads", "allreduce"),
    *map(Unequal, unequal.SIMULATED),
]


def cells(program, row, seeds):
    """The multiples of one row, by the parts that are off."""
    def mean(*off):
        return statistics.mean(row.play(program, seed, off) for seed in range(1, seeds + 1))

    whole = mean()
    return {part: mean("--without", part) / whole for part in PARTS}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--programs", type=pathlib.Path, default=ROOT / "build/release/bin")
    options = parser.parse_args()
    most = dict.fromkeys(PARTS, 1.0)
    print("| without | " + " | ".join(PARTS) + " |\n|---|" + "---|" * len(PARTS))
    for row in ROWS:
        found = cells(options.programs / "hoplite", row, options.seeds)
        most = {part: max(most[part], found[part]) for part in PARTS}
        shown = [f"{times:.2f}" if abs(times - 1) > LITTLE else "" for times in found.values()]
        print(f"| {row.name} | " + " | ".join(shown) + " |", flush=True)
    print("| most | " + " | ".join(f"{times:.2f}" for times in most.values()) + " |")


if __name__ == "__main__":
    main()
