"""Holds how often a put and a get wake threads and call the system: counts, which need no quiet machine.

    PYTHONPATH=bench/cluster python3 tests/bench/costs_counts.py --programs build/release/bin

Each bound is 15 % above the median that was measured. Where strace can't attach, the wake-ups are held alone.
"""

import argparse
import pathlib
import statistics
import sys

from costs import Case, calls, can_trace, cost
from hosts import Loopback
from ours import Hoplite
from transfers import KIB, MIB

REPETITIONS = 3
LIMITS = (Case(KIB, wake_ups=19, calls=69), Case(64 * KIB, wake_ups=22, calls=116), Case(MIB, wake_ups=29, calls=205),
          Case(MIB, 3, wake_ups=55))


def counts(program, case):
    """Medians of one operation: wake-ups, and calls where they can be counted."""
    ours = Hoplite(program, 2 * case.count * case.size + 16 * MIB)
    try:
        ours.start(Loopback(1 + case.getters))
        cost(ours, case)  # connections are open
        wake_ups = statistics.median(cost(ours, case).wake_ups for _ in range(REPETITIONS))
        return wake_ups, None if can_trace() or not case.calls else statistics.median(calls(ours, case) for _ in range(REPETITIONS))
    finally:
        ours.stop()


def main():
    parser = argparse.ArgumentParser(prog="costs_counts.py", description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=pathlib.Path, required=True, help="the folder of the built ones")
    options = parser.parse_args()
    if why_not := can_trace():
        print(f"system calls are not counted: {why_not}")
    wrong = 0
    for case in LIMITS:
        wake_ups, made = counts(options.programs / "cluster_hoplite", case)
        print(f"{case.name}: {wake_ups:.1f} wake-ups, at most {case.wake_ups}" +
              (f"; {made:.0f} system calls, at most {case.calls}" if made is not None else ""))
        wrong += (wake_ups > case.wake_ups) + (made is not None and made > case.calls)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
