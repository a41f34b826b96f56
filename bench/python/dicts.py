"""What a dict of many arrays takes from Python beside one array of the same bytes, at a node of
this host. The two take turns, so that a busy machine slows both.

PYTHONPATH=build/release/python build/python-env/bin/python bench/python/dicts.py
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import hoplite
import numpy as np

WARM_UP = 3
# What the ratio of the puts, and a local get in milliseconds, are to stay below.
GOALS = {"put": 1.15, "get": 1.0}


class Took:
    """Milliseconds of each call: wall time, and the processor's time of the calling thread."""

    def __init__(self) -> None:
        self.wall: list[float] = []
        self.processor: list[float] = []

    def call(self, call: Callable[[], Any]) -> Any:
        before = time.perf_counter_ns(), time.thread_time_ns()
        result = call()
        after = time.perf_counter_ns(), time.thread_time_ns()
        self.wall.append((after[0] - before[0]) / 1e6)
        self.processor.append((after[1] - before[1]) / 1e6)
        return result


def one_round(client: hoplite.Client, value: Any, put: Took, get: Took) -> None:
    made = put.call(lambda: client.put(value))
    got = get.call(lambda: client.get(made))
    del got
    client.delete(made)


def report(name: str, took: Took) -> None:
    quick, *_ = statistics.quantiles(took.wall, n=10)
    print(
        f"{name:<22} p50 {statistics.median(took.wall):7.3f} ms   p10 {quick:7.3f} ms   "
        f"worst {max(took.wall):7.3f} ms   "
        f"processor p50 {statistics.median(took.processor):7.3f} ms"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arrays", type=int, default=250)
    parser.add_argument("--elements", type=int, default=65536, help="float32, of each array")
    parser.add_argument("--rounds", type=int, default=100)
    options = parser.parse_args()
    values = {
        "one array": np.ones(options.arrays * options.elements, np.float32),
        f"dict of {options.arrays}": {
            number: np.ones(options.elements, np.float32) for number in range(options.arrays)
        },
    }
    memory = 4 * options.arrays * options.elements * 4 + (64 << 20)
    puts, gets = ({name: Took() for name in values} for _ in range(2))
    with hoplite.LocalCluster(nodes=1, memory=memory) as cluster, cluster.connect(0) as client:
        for number in range(WARM_UP + options.rounds):
            for name, value in list(values.items())[:: 1 if number % 2 else -1]:
                counts = number >= WARM_UP
                one_round(
                    client,
                    value,
                    puts[name] if counts else Took(),
                    gets[name] if counts else Took(),
                )
    for call, tooks in {"put": puts, "get": gets}.items():
        for name, took in tooks.items():
            report(f"{call} {name}", took)
    single, many = (took.wall for took in puts.values())
    ratio = statistics.median(dict_ / one for dict_, one in zip(many, single, strict=True))
    _, local = (statistics.median(took.wall) for took in gets.values())
    print(f"put: {ratio:.2f} of one array's, goal {GOALS['put']:.2f}")
    print(f"get: {local:.2f} ms, goal {GOALS['get']:.2f} ms")


if __name__ == "__main__":
    main()
