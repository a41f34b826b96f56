"""What dies, is released or is away while arrays of Dask travel; and what is left of it all."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask_cluster
import hoplite
import numpy as np
import pytest
from conftest import LARGER_THAN_MEMORY
from dask_cluster import (
    MEMORY,
    SECONDS,
    addresses,
    ids,
    made,
    objects,
    pids,
    used,
    wait_until,
    workers,
)

distributed = dask_cluster.distributed
from distributed.utils import DequeHandler  # noqa: E402 - where there is Dask

LARGE = 100_000
SUM = float(np.arange(LARGE, dtype=np.float64).sum())
# Of the leak test: those before the first look fill pools and caches.
WARM_UP, KEYS = 1, 4  # times 250
MEMORY_SLACK = 16 << 20


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    dask_cluster.install(tmp_path_factory.mktemp("installed"))
    with dask_cluster.workers(3) as three:
        hoplite.dask.init(three, dask_cluster.MEMORY)
        yield three
        node = dask_cluster.socket(three)
    gc.collect()
    wait_until(lambda: not node.exists(), "the node has ended")


@pytest.fixture(autouse=True)
def all_there(client: Any) -> Iterator[None]:
    """Before and after each test, and no object of a test is left."""
    client.wait_for_workers(3, timeout=SECONDS)
    yield
    client.wait_for_workers(3, timeout=SECONDS)
    wait_until(lambda: len(attached(client)) == 3, "three workers have a node")
    # Dask's log has the frames in which an error was, and with them the arrays.
    client.run(DequeHandler.clear_all_instances)
    gc.collect()
    wait_until(lambda: not ids(client) and objects(client) == 0, "all objects are gone")


def attached(client: Any) -> list[str]:
    """The workers that ask for objects."""

    async def works() -> bool:
        share = hoplite.dask._share.here()
        return share is not None and share.works

    return [worker for worker, answer in client.run(works).items() if answer]


def numbers() -> Any:
    return np.arange(LARGE, dtype=np.float64)


def total(x: Any) -> float:
    return float(x.sum())


def next_get(client: Any, worker: str, instead: Callable[..., Any]) -> None:
    """That worker's next get of an object is this; it is told the real one, and its arguments."""

    async def patch() -> None:
        share = hoplite.dask._share.here()
        assert share is not None
        get = share.get

        async def once(*where: Any) -> Any:
            share.get = get  # type: ignore[method-assign]
            return await instead(get, *where)

        share.get = once  # type: ignore[assignment, method-assign]

    client.run(patch, workers=[worker])


def stall(client: Any, worker: str, gate: Path) -> None:
    """That worker's next get of an object says that it has begun, and waits for the gate."""

    async def stalled(get: Callable[..., Any], *where: Any) -> Any:
        gate.with_suffix(".begun").touch()
        while not gate.exists():
            await asyncio.sleep(0.01)
        return await get(*where)

    next_get(client, worker, stalled)


def begun(gate: Path) -> None:
    wait_until(gate.with_suffix(".begun").exists, "the get has begun")


def test_a_sender_is_killed(client: Any, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    sender, receiver, _ = addresses(client)
    x = made(client, sender, numbers)
    stall(client, receiver, gate)
    result = client.submit(total, x, workers=[receiver], pure=False)
    begun(gate)
    os.kill(pids(client)[sender], signal.SIGKILL)
    assert result.result(timeout=SECONDS) == SUM  # though the gate is closed: x was made again


def test_a_receiver_is_killed(client: Any, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    sender, receiver, other = addresses(client)
    x = made(client, sender, numbers)
    stall(client, receiver, gate)
    where = {"workers": [receiver], "allow_other_workers": True, "pure": False}
    result = client.submit(total, x, **where)
    begun(gate)
    os.kill(pids(client)[receiver], signal.SIGKILL)
    assert result.result(timeout=SECONDS) == SUM
    assert used(client, other, total, x) == SUM


def test_a_key_is_released_while_it_is_fetched(client: Any, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    sender, receiver, _ = addresses(client)
    x = made(client, sender, numbers)
    stall(client, receiver, gate)
    result = client.submit(total, x, workers=[receiver], pure=False)
    begun(gate)
    del x, result
    gc.collect()
    gate.touch()


def break_gets(client: Any, worker: str, error: Exception) -> None:
    """That worker's next get of an object fails."""

    async def broken(*_: Any) -> Any:
        raise error

    next_get(client, worker, broken)


@pytest.mark.parametrize(
    "error", [hoplite.ObjectDeletedError("deleted"), hoplite.TimeoutError("no room")]
)
def test_what_cannot_be_got_comes_by_tcp(client: Any, error: Exception) -> None:
    sender, receiver, other = addresses(client)
    x = made(client, sender, numbers)
    assert used(client, other, total, x) == SUM
    (before,) = set(ids(client)[x.key])
    break_gets(client, receiver, error)
    y = made(client, sender, numbers)
    assert used(client, receiver, total, y) == SUM
    assert y.key not in ids(client)
    wait_until(lambda: len(attached(client)) == 3, "the pause after a failure is over")
    assert used(client, receiver, total, x) == SUM
    assert set(ids(client)[x.key]) == {before}


def test_more_than_a_store_holds_goes_by_tcp(client: Any) -> None:
    def shorten() -> None:
        hoplite.dask._share.FULL_PAUSE = 1.0

    client.run(shorten)
    first, second, third = addresses(client)
    for _ in range(3):  # each is more than twice the store, with a copy at a reader
        keys = client.map(np.ones, [1 << 20] * 10, workers=[first], pure=False)
        for one in (second, third):
            found = client.gather(client.map(total, keys, workers=[one], pure=False))
            assert found == [1 << 20] * 10
        del keys
        gc.collect()


@pytest.mark.parametrize(
    ("memory", "arrays", "elements"), [(MEMORY, 24, 1 << 20), LARGER_THAN_MEMORY]
)
def test_a_disk_takes_what_a_store_does_not_hold(
    tmp_path: Path, memory: str, arrays: int, elements: int
) -> None:
    with workers(2) as client:
        hoplite.dask.init(client, memory, spill=tmp_path, spill_limit="4GiB")
        first, second = addresses(client)
        keys = client.map(np.ones, [elements] * arrays, workers=[first], pure=False)
        found = client.gather(client.map(total, keys, workers=[second], pure=False))
        assert found == [elements] * arrays
        if memory != MEMORY:
            return  # the reader keeps views of all that fits, and the rest travels by TCP
        with hoplite.connect(dask_cluster.socket(client)) as node:
            wait_until(
                lambda: node.status(timeout=SECONDS).nodes[0].disk_used_bytes > 0,
                "the disk has taken something",
            )


def test_a_node_that_dies_is_started_again(client: Any) -> None:
    sender, receiver, _ = addresses(client)
    x = made(client, sender, numbers)
    assert used(client, receiver, total, x) == SUM
    os.kill(program(f"--socket={dask_cluster.socket(client)}"), signal.SIGKILL)
    y = made(client, sender, numbers)
    assert used(client, receiver, total, y) == SUM  # by TCP
    wait_until(lambda: len(attached(client)) == 3, "the pause after a failure is over")

    def travels() -> bool:
        z = made(client, sender, numbers)
        assert used(client, receiver, total, z) == SUM
        return z.key in ids(client)

    wait_until(travels, "arrays are objects again")
    assert used(client, sender, total, x) == SUM == used(client, receiver, total, x)


def test_arrays_are_folded_when_their_node_was_started_again(client: Any) -> None:
    first, second, _ = addresses(client)
    sources = [made(client, one, numbers) for one in (first, second)]
    assert np.sum(hoplite.dask.reduce(client, sources).result(timeout=SECONDS)) == 2 * SUM
    os.kill(program(f"--socket={dask_cluster.socket(client)}"), signal.SIGKILL)
    assert np.sum(hoplite.dask.reduce(client, sources).result(timeout=SECONDS)) == 2 * SUM


def test_a_directory_that_dies_comes_back(client: Any) -> None:
    sender, receiver, other = addresses(client)
    x = made(client, sender, numbers)
    assert used(client, receiver, total, x) == SUM
    os.kill(program("directory", f"--cluster={dask_cluster.name(client)}"), signal.SIGKILL)
    assert used(client, other, total, x) == SUM

    def travels() -> bool:
        y = made(client, sender, numbers)
        assert used(client, receiver, total, y) == SUM
        return y.key in ids(client)

    wait_until(travels, "arrays are objects again")


def program(*arguments: str) -> int:
    """The process that was started with all of these."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            started = (process / "cmdline").read_text().split("\0")
        except OSError:  # it has ended
            continue
        if set(arguments) <= set(started):
            return int(process.name)
    raise AssertionError(f"nobody runs with {arguments}")


def test_a_source_of_a_reduction_dies_with_its_worker(client: Any, tmp_path: Path) -> None:
    first, second, third = addresses(client)
    gate = tmp_path / "gate"
    sources = [made(client, one, np.full, LARGE, 1.0) for one in (first, second)]
    late = client.submit(after, str(gate), workers=[third], pure=False)
    result = hoplite.dask.reduce(client, [*sources, late], workers=[second])
    wait_until(gate.with_suffix(".begun").exists, "the last source is being made")
    os.kill(pids(client)[first], signal.SIGKILL)
    gate.touch()
    assert result.result(timeout=SECONDS)[0] == 3.0


def after(file: str) -> Any:
    gate = Path(file)
    gate.with_suffix(".begun").touch()
    wait_until(gate.exists, file)
    return np.full(LARGE, 1.0)


def test_a_cluster_that_is_restarted_goes_on(client: Any) -> None:
    first, second, _ = addresses(client)
    x = made(client, first, numbers)
    assert used(client, second, total, x) == SUM
    client.restart(timeout=SECONDS)
    client.wait_for_workers(3, timeout=SECONDS)
    wait_until(lambda: len(attached(client)) == 3, "three workers have a node")
    first, second, _ = addresses(client)
    y = made(client, first, numbers)
    assert used(client, second, total, y) == SUM
    assert len(set(ids(client)[y.key])) == 1


def test_a_thousand_keys_leave_nothing(client: Any) -> None:
    def work(times: int) -> None:
        first, second, third = addresses(client)
        for _ in range(times):
            keys = client.map(np.ones, [9000] * 250, workers=[first], pure=False)
            for one in (second, third):
                found = client.gather(client.map(total, keys, workers=[one], pure=False))
                assert set(found) == {9000}

    def look() -> tuple[list[int], list[int]]:
        gc.collect()
        wait_until(lambda: not any(client.run(stored).values()), "all keys are gone")
        wait_until(lambda: not ids(client) and objects(client) == 0, "all objects are gone")
        client.run(lambda: ctypes.CDLL("libc.so.6").malloc_trim(0))
        found = client.run(lambda: (open_files(), resident_bytes())).values()
        return [files for files, _ in found], [memory for _, memory in found]

    work(WARM_UP)
    files, memory = look()
    work(KEYS)
    files_after, memory_after = look()
    # A worker's pool of connections may have one more, or less.
    assert all(after <= before + 4 for before, after in zip(files, files_after, strict=True))
    grown = [after - before for before, after in zip(memory, memory_after, strict=True)]
    assert max(grown) < MEMORY_SLACK


def stored(dask_worker: Any) -> int:
    return len(dask_worker.data)


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def resident_bytes() -> int:
    pages, shared = (int(n) for n in Path("/proc/self/statm").read_text().split()[1:3])
    return (pages - shared) * os.sysconf("SC_PAGESIZE")
