"""What a step of a channel takes on this host: from the begin of a publish to a reader at another
node that has the value, beside a write of a register and its reader.

PYTHONPATH=build/release/python build/python-env/bin/python bench/python/channels.py
"""

from __future__ import annotations

import argparse
import statistics
import time

import hoplite
import numpy as np

WARM_UP = 20


def report(name: str, seconds: list[float]) -> None:
    times = sorted(seconds[WARM_UP:])
    print(
        f"{name:<40} p50 {statistics.median(times) * 1e3:8.3f} ms"
        f"   p99 {times[len(times) * 99 // 100] * 1e3:8.3f} ms   worst {times[-1] * 1e3:8.3f} ms"
    )


def writes(writer: hoplite.Client, reader: hoplite.Client, rounds: int) -> None:
    took, heard = [], []
    with writer.register("bench") as written, reader.register("bench") as watched:
        number = 0
        for _ in range(WARM_UP + rounds):
            news = watched.changed_future(number)
            begin = time.perf_counter()
            number = written.compare_and_set(number, b"value", writer=number == 0)
            took.append(time.perf_counter() - begin)
            news.result()
            heard.append(time.perf_counter() - begin)
    report("compare_and_set", took)
    report("compare_and_set, heard elsewhere", heard)


def publishes(writer: hoplite.Client, reader: hoplite.Client, nbytes: int, rounds: int) -> None:
    took = []
    weights = {"w": np.ones(nbytes // 4, np.float32)}
    with writer.channel(f"bench {nbytes}") as policy, reader.channel(f"bench {nbytes}") as follows:
        for version in range(WARM_UP + rounds):
            weights["w"] += 1
            begin = time.perf_counter()
            policy.publish(weights, version=version)
            follows.get(at_least=version)
            took.append(time.perf_counter() - begin)
    report(f"publish of {nbytes} bytes, and a get", took)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=500)
    options = parser.parse_args()
    with (
        hoplite.LocalCluster(nodes=2, memory="512MiB") as cluster,
        cluster.connect(0) as writer,
        cluster.connect(1) as reader,
    ):
        writes(writer, reader, options.rounds)
        publishes(writer, reader, 1024, options.rounds)
        publishes(writer, reader, 1 << 20, options.rounds)
        publishes(writer, reader, 16 << 20, options.rounds // 5)


if __name__ == "__main__":
    main()
