"""Puts and gets without end leave memory, descriptors and objects where they were.

``HOPLITE_LEAK_ROUNDS`` says how many rounds, of a put, a get and a delete (or two, by turns);
1000000 take some minutes.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from hoplite import Client, LocalCluster

ROUNDS = int(os.environ.get("HOPLITE_LEAK_ROUNDS", "2000"))
# Before the first look: pools, caches and threads' stacks are there then.
WARM_UP = 500
# What the measure itself is off by: an allocator keeps some pages back.
MEMORY_SLACK = 3 << 20
SIZES = [10, 5_000, 200_000]  # in the directory, and beyond; beyond a message


def resident_bytes(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    shared = int(Path(f"/proc/{pid}/statm").read_text().split()[2])
    return (pages - shared) * os.sysconf("SC_PAGESIZE")


def descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def objects(cluster: LocalCluster) -> int:
    command = ["status", f"--directory={cluster.directory_address}", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "hoplite", *command], capture_output=True, text=True, check=True
    )
    return len(json.loads(done.stdout)["objects"])


def work(client: Client, rounds: int) -> None:
    values = [np.zeros(size, np.uint8) for size in SIZES]
    for number in range(rounds):
        id = client.put(values[number % len(values)])
        assert client.get(id, writable=number % 2 == 0)[0] == 0
        client.delete(id)


async def async_work(client: Client, rounds: int) -> None:
    values = [np.zeros(size, np.uint8) for size in SIZES]
    for number in range(rounds):
        id = await client.aput(values[number % len(values)])
        assert (await client.aget(id))[0] == 0
        client.delete(id)


def test_rounds_leave_nothing(cluster: LocalCluster, here: Client) -> None:
    node = cluster._nodes[0]
    assert node is not None

    def looks() -> tuple[int, int, int, int]:
        gc.collect()
        me = os.getpid()
        return descriptors(me), descriptors(node.pid), objects(cluster), resident_bytes(me)

    work(here, WARM_UP)
    asyncio.run(async_work(here, WARM_UP))
    before = looks()
    work(here, ROUNDS // 2)
    asyncio.run(async_work(here, ROUNDS // 2))
    after = looks()
    assert after[:3] == before[:3]
    assert after[3] < before[3] + MEMORY_SLACK
