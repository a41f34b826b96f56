"""Coroutines that wait for objects, on asyncio's own loop and on uvloop's."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import hoplite
import numpy as np
import pytest
import uvloop
from hoplite import Client, LocalCluster, ObjectId

Loops = Callable[[], asyncio.AbstractEventLoop]


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def loops(request: pytest.FixtureRequest) -> Loops:
    made: Loops = request.param
    return made


def run(loops: Loops, work: Coroutine[Any, Any, Any]) -> Any:
    """Ends within seconds, or fails."""
    with asyncio.Runner(loop_factory=loops) as runner:
        return runner.run(asyncio.wait_for(work, 30))


def test_put_get_and_reduce(here: Client, there: Client, loops: Loops) -> None:
    async def work() -> None:
        x = await here.aput(np.arange(100_000, dtype=np.float32))
        y = await there.aput(np.ones(100_000, np.float32))
        reduction = await here.areduce([x, y])
        early = await there.aget(reduction.target)
        assert await reduction is reduction
        assert set(reduction.used) == {x, y} and reduction.unused == []
        np.testing.assert_array_equal(early, np.arange(100_000) + 1)
        mine = await here.aget(x, writable=True)
        mine[0] = 7
        assert (await there.aget(x))[0] == 0
        pickled = await here.aput({"inside": np.ones(50_000)})
        assert (await there.aget(pickled))["inside"].sum() == 50_000

    run(loops, work())


def test_the_loop_goes_on_meanwhile(here: Client, there: Client, loops: Loops) -> None:
    ids = [ObjectId.random() for _ in range(300)]

    async def work() -> None:
        values = asyncio.gather(*(there.aget(id) for id in ids))
        for number, id in enumerate(reversed(ids)):
            await here.aput(str(number).encode(), id)
        assert [bytes(value) for value in await values] == [b"%d" % i for i in range(299, -1, -1)]

    run(loops, work())


def test_errors_come_out_of_their_tasks(here: Client, loops: Loops) -> None:
    deleted = here.put(np.zeros(100_000))
    here.delete(deleted)
    existing = here.put(b"x")

    async def work() -> tuple[Any, ...]:
        return await asyncio.gather(
            here.aget(deleted),
            here.aget(ObjectId.random(), timeout=0.1),
            here.aput(b"y", existing),
            here.aput(np.zeros(100 << 20, np.uint8), timeout=0.1),
            here.areduce([ObjectId.random()]),
            here.aget(existing),
            return_exceptions=True,
        )

    *errors, value = run(loops, work())
    assert [type(error) for error in errors] == [
        hoplite.ObjectDeletedError,
        hoplite.TimeoutError,
        hoplite.AlreadyExistsError,
        hoplite.ResourceExhaustedError,
        hoplite.InvalidArgumentError,
    ]
    assert value == b"x"


def test_cancelling_a_task_cancels_its_request(here: Client, loops: Loops) -> None:
    request = here._core.get_later(ObjectId.random())
    reduction = here.reduce([ObjectId.random()], dtype="int8")

    async def work() -> None:
        final = asyncio.ensure_future(reduction)
        tasks = [asyncio.create_task(here._waiting.answer(request)), final]
        await asyncio.sleep(0.05)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        assert all(task.cancelled() for task in tasks)

    run(loops, work())
    assert request.ready()
    with pytest.raises(hoplite.CancelledError):
        request.wait()
    with pytest.raises(hoplite.CancelledError):
        reduction.wait(timeout=10)


def test_a_put_that_is_cancelled_lets_go_of_its_bytes(here: Client, loops: Loops) -> None:
    room = here.put(np.zeros(50 << 20, np.uint8))
    view = here.get(room)
    value = bytearray(20 << 20)

    async def work() -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(here.aput(value), 0.1)  # there is no room

    run(loops, work())
    gc.collect()  # the exception knows the frames that had it
    value.clear()  # BufferError while somebody reads it
    here.delete(room)
    del view


def test_closing_the_client_ends_the_waits(cluster: LocalCluster, loops: Loops) -> None:
    client = cluster.connect(0)

    async def work() -> None:
        task = asyncio.create_task(client.aget(ObjectId.random()))
        await asyncio.sleep(0.05)
        client.close()
        with pytest.raises(hoplite.CancelledError):
            await task
        with pytest.raises(hoplite.CancelledError):
            await client.aput(b"late")

    run(loops, work())


def test_answers_that_come_to_a_closed_loop(here: Client, there: Client, loops: Loops) -> None:
    id = ObjectId.random()
    loop = loops()
    task = loop.create_task(there.aget(id))
    loop.run_until_complete(asyncio.sleep(0.05))
    loop.close()
    here.put(b"too late for it", id)
    assert run(loops, there.aget(id)) == b"too late for it"
    del task


def test_two_loops_in_two_threads(here: Client, there: Client, loops: Loops) -> None:
    both = threading.Barrier(2)

    async def work(number: int) -> None:
        both.wait(10)
        for _ in range(100):
            id = await here.aput(number.to_bytes(2, "little") * 5000)
            assert bytes((await there.aget(id))[:2]) == number.to_bytes(2, "little")

    with ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(run, loops, work(number)) for number in range(2)]:
            done.result(timeout=30)


def test_loops_leave_nothing(here: Client, loops: Loops) -> None:
    id = here.put(b"x")
    gone = []

    async def work() -> None:
        gone.append(weakref.ref(asyncio.get_running_loop()))
        late = asyncio.create_task(here.aget(ObjectId.random()))
        await asyncio.sleep(0)
        await here.aget(id)
        late.cancel()

    run(loops, work())
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        run(loops, work())
    gc.collect()
    assert [loop() for loop in gone] == [None] * 21
    assert len(os.listdir("/proc/self/fd")) == before


def test_loops_that_are_closed_during_a_wait_leave_nothing(here: Client, loops: Loops) -> None:
    def close_one() -> None:
        loop = loops()
        task = loop.create_task(here.aget(ObjectId.random()))
        loop.run_until_complete(asyncio.sleep(0.01))
        task._log_destroy_pending = False  # type: ignore[attr-defined]
        loop.close()

    close_one()
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(20):
        close_one()
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) == before
