"""What a call takes from Python, at a node of this host: a line each, in microseconds.

PYTHONPATH=build/release/python build/python-env/bin/python bench/python/calls.py
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from collections.abc import Callable
from typing import Any

import hoplite
import numpy as np

WARM_UP = 200
SMALL = 1024
LARGE = 64 << 20


def microseconds(call: Callable[[], Any], times: int) -> list[float]:
    took = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        took.append((time.perf_counter() - start) * 1e6)
    return took


async def async_microseconds(call: Callable[[], Any], times: int) -> list[float]:
    took = []
    for _ in range(times):
        start = time.perf_counter()
        await call()
        took.append((time.perf_counter() - start) * 1e6)
    return took


def report(name: str, took: list[float]) -> None:
    *_, p95 = statistics.quantiles(took, n=20)
    print(
        f"{name:<24} p50 {statistics.median(took):8.0f} us   p95 {p95:8.0f} us   "
        f"worst {max(took):8.0f} us",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=5000)
    times = parser.parse_args().times
    with hoplite.LocalCluster(nodes=1, memory="256MiB") as cluster, cluster.connect(0) as client:
        small = client.put(bytes(SMALL))
        large = client.put(np.zeros(LARGE, np.uint8))
        array = np.zeros(SMALL, np.uint8)
        calls: dict[str, Callable[[], Any]] = {
            "get 1 KiB": lambda: client.get(small),
            "get 64 MiB": lambda: client.get(large),
            "wait for 1 of 1": lambda: client.wait([small]),
            "put and delete 1 KiB": lambda: client.delete(client.put(array)),
        }
        for name, call in calls.items():
            microseconds(call, WARM_UP)
            report(name, microseconds(call, times))

        async def asynchronously() -> None:
            for name, call in {
                "aget 1 KiB": lambda: client.aget(small),
                "aget 64 MiB": lambda: client.aget(large),
            }.items():
                await async_microseconds(call, WARM_UP)
                report(name, await async_microseconds(call, times))

        asyncio.run(asynchronously())


if __name__ == "__main__":
    main()
