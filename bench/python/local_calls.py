"""Calls from Python at a node of this host, as an agent (bench/cluster/agent.h).

  start MEMORY       {"socket":PATH}: a cluster of one node, of which others may be clients, too
  make BYTES         {}: an array of float32 of that size, named by it
  get BYTES TIMES    {"times":[...]}: nanoseconds of each get of that one
  aget BYTES TIMES   {"times":[...]}: the same in a coroutine
  put BYTES TIMES    {"times":[...]}: nanoseconds of each put of an array of that size

local_calls.cpp is the same from C++, but for the coroutines. The folder that the package is in is
the only argument.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any

sys.path.insert(0, sys.argv[1])

import hoplite
import numpy as np


def name_of(size: int) -> hoplite.ObjectId:
    return hoplite.ObjectId.from_name(f"array-{size}")


class Calls:
    """One cluster and one client of it."""

    def start(self, memory: int) -> dict[str, Any]:
        self._cluster = hoplite.LocalCluster(nodes=1, memory=memory)
        self._client = self._cluster.connect(0)
        self._array = np.zeros(0, np.float32)
        return {"socket": self._cluster.socket(0)}

    def make(self, size: int) -> dict[str, Any]:
        with self._client.create((size // 4,), np.float32, id=name_of(size)) as draft:
            draft.array[:] = 1.0
        return {}

    def get(self, size: int, times: int) -> dict[str, Any]:
        name, took = name_of(size), []
        for _ in range(times):
            start = time.perf_counter_ns()
            view = self._client.get(name)
            took.append(time.perf_counter_ns() - start)
            if view[-1] != 1.0:
                raise RuntimeError("wrong bytes")
            del view
        return {"times": took}

    def aget(self, size: int, times: int) -> dict[str, Any]:
        async def several() -> list[int]:
            name, took = name_of(size), []
            for _ in range(times):
                start = time.perf_counter_ns()
                view = await self._client.aget(name)
                took.append(time.perf_counter_ns() - start)
                if view[-1] != 1.0:
                    raise RuntimeError("wrong bytes")
                del view
            return took

        return {"times": asyncio.run(several())}

    def put(self, size: int, times: int) -> dict[str, Any]:
        if self._array.nbytes != size:
            self._array = np.ones(size // 4, np.float32)
        took = []
        for _ in range(times):
            start = time.perf_counter_ns()
            made = self._client.put(self._array)
            took.append(time.perf_counter_ns() - start)
            self._client.delete(made)
        return {"times": took}

    def close(self) -> None:
        self._cluster.close()


def main() -> None:
    calls = Calls()
    for line in sys.stdin:
        name, *words = line.split()
        try:
            said = getattr(calls, name)(*map(int, words))
        except Exception as error:
            said = {"error": f"{line.strip()}: {type(error).__name__}: {error}"}
        print(json.dumps(said), flush=True)
    calls.close()


if __name__ == "__main__":
    main()
