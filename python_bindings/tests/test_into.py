"""Values that go into the caller's memory: many at once, and for coroutines."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import hoplite
import ml_dtypes
import numpy as np
import pytest
from hoplite import Client, ObjectId

MIB = 1 << 20


def arrays(count: int, size: int = 1000) -> list[np.ndarray[Any, Any]]:
    return [np.full(size, place, np.float32) for place in range(count)]


def test_many_go_into_memory_at_once(here: Client, there: Client) -> None:
    sizes = (0, 3, 20_000, 300_000)
    values: list[Any] = [np.full(size, size, np.float32) for size in sizes]
    ids = [here.put(value) for value in values]
    out = [np.empty_like(value) for value in values]
    got = there.get_many(ids, timeout=30, out=out)
    assert all(one is other for one, other in zip(got, out, strict=True))
    for one, value in zip(out, values, strict=True):
        np.testing.assert_array_equal(one, value)


def test_parts_of_one_array_are_memory_for_many(here: Client, there: Client) -> None:
    ids = [here.put(value) for value in arrays(4)]
    whole = np.empty((4, 1000), np.float32)
    there.get_many(ids, timeout=30, out=whole)
    assert [row[0] for row in whole] == [0, 1, 2, 3]


def test_all_kinds_go_into_memory(here: Client, there: Client) -> None:
    fortran = np.asfortranarray(np.arange(6).reshape(2, 3))
    scaled = np.ones(3, ml_dtypes.bfloat16)
    pickled = np.ma.masked_array([1.0, 2.0])
    ids = [here.put(one) for one in (fortran, scaled, b"text", pickled, fortran)]
    out: list[Any] = [
        np.empty_like(fortran, order="C"),
        np.empty_like(scaled),
        bytearray(4),
        np.empty(2),
    ]
    there.get_many([*ids[:4], ids[0]], timeout=30, out=[*out, room := bytearray(48)])
    np.testing.assert_array_equal(out[0], fortran)
    assert np.all(out[1] == 1) and out[2] == b"text" and np.all(out[3] == [1.0, 2.0])
    assert room == fortran.tobytes()


def test_they_need_not_fit_into_the_store_together(here: Client, there: Client) -> None:
    putters = (here, here, there)
    ids = [at.put(np.full(24 * MIB, place, np.uint8)) for place, at in enumerate(putters)]
    with pytest.raises(hoplite.ResourceExhaustedError):
        there.get_many(ids, timeout=30)
    out = np.empty((3, 24 * MIB), np.uint8)
    there.get_many(ids, timeout=30, out=out)
    assert [row[-1] for row in out] == [0, 1, 2]
    here.delete(ids)


WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: arrays(3), "out has 3 elements, but there are 4 ids"),
    (lambda: [*arrays(3), np.empty(999, np.float32)], r"out\[3\] is float32 \(999,\), but the"),
    (
        lambda: [*arrays(3), np.empty(1000, np.int32)],
        r"out\[3\] is int32 \(1000,\), but the",
    ),
    (lambda: [*arrays(3), bytearray(7)], r"out\[3\] has 7 bytes, but the object has 4000 bytes"),
    (lambda: [*arrays(3), np.empty(2000, np.float32)[::2]], r"out\[3\] is strided: contiguous"),
    (lambda: [*arrays(3), np.empty((1000, 1), "O")], r"out\[3\]: an array of dtype object"),
    (lambda: [*arrays(3), np.frombuffer(bytes(4000), np.float32)], r"out\[3\]: this ndarray is r"),
    (lambda: [np.empty(1000, np.float32)] * 4, r"out\[1\] has memory in common with out\[0\]"),
    (
        lambda: [*arrays(2), (room := np.empty(1999, np.float32))[:1000], room[999:]],
        r"out\[3\] has memory in common with out\[2\]",
    ),
]


@pytest.mark.parametrize(("out", "says"), WRONG)
def test_what_is_no_memory_is_named(here: Client, out: Callable[[], Any], says: str) -> None:
    ids = [here.put(value) for value in arrays(4)]
    with pytest.raises(ValueError, match=says):
        here.get_many(ids, timeout=10, out=out())


def test_a_wrong_type_is_named(here: Client) -> None:
    ids = [here.put(value) for value in arrays(2)]
    with pytest.raises(TypeError, match=r"out\[1\] is of type list: an array, a tensor, or wri"):
        here.get_many(ids, timeout=10, out=[np.empty(1000, np.float32), [1.0]])


def test_one_that_does_not_fit_ends_the_wait_for_the_others(here: Client) -> None:
    never = ObjectId.random()
    with pytest.raises(ValueError, match=r"out\[1\] has 3 bytes"):
        here.get_many([never, here.put(b"four")], out=[bytearray(3), bytearray(3)])


def test_a_timeout_says_how_many_are_missing(here: Client) -> None:
    ids = [here.put(b"here"), ObjectId.random(), ObjectId.random()]
    out = [bytearray(4) for _ in ids]
    with pytest.raises(TimeoutError, match="2 of 3 objects are missing"):
        here.get_many(ids, timeout=0.1, out=out)
    assert out[0] == b"here"


def test_tensors_are_memory(here: Client, there: Client) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    ids = [here.put(torch.full((100, 100), float(rank), dtype=torch.bfloat16)) for rank in range(4)]
    flat = torch.empty(4 * 100, 100, dtype=torch.bfloat16)
    got = there.get_many(ids, timeout=30, out=flat.chunk(4))
    assert [part[0, 0].item() for part in got] == [0, 1, 2, 3] and flat[-1, -1] == 3
    one = torch.empty(100, 100, dtype=torch.bfloat16)
    for wrong, says in (
        (one.t(), r"out\[3\] is strided"),
        (one[:, ::2], r"out\[3\] is strided"),
        (one.float(), r"out\[3\] is float32"),
        (one.to("meta"), r"out\[3\]: a dense tensor in the processor's memory .* on meta"),
        (flat[50:150], r"out\[3\] has memory in common with out\[0\]"),
        (one.expand(4, 100, 100), r"out\[3\]: a dense tensor in the processor's memory"),
    ):
        with pytest.raises(ValueError, match=says):
            there.get_many(ids, timeout=10, out=[*flat.chunk(4)[:3], wrong])


def test_coroutines_get_into_memory(here: Client, there: Client) -> None:
    values: list[Any] = [np.arange(5.0), np.asfortranarray(np.ones((700, 800))), b"bytes"]

    async def main() -> None:
        for value in values:
            id = await here.aput(value)
            out: Any = bytearray(5) if isinstance(value, bytes) else np.empty(value.shape)
            assert await there.aget(id, timeout=30, out=out) is out
            assert (out == value) if isinstance(value, bytes) else (np.asarray(out) == value).all()
        with pytest.raises(hoplite.InvalidArgumentError, match="out has 4 bytes"):
            await there.aget(id, timeout=30, out=bytearray(4))
        with pytest.raises(TimeoutError):
            await there.aget(ObjectId.random(), timeout=0.05, out=bytearray(4))

    asyncio.run(main())


def test_who_is_cancelled_writes_nothing_any_more(here: Client) -> None:
    id = here.put(np.ones(8 * MIB, np.uint8))

    async def main() -> None:
        for _ in range(20):
            out = np.zeros(8 * MIB, np.uint8)
            task = asyncio.create_task(here.aget(id, out=out))
            await asyncio.sleep(0.001)
            task.cancel()
            await asyncio.wait([task])
            left = out.copy()
            await asyncio.sleep(0.002)
            assert (out == left).all()

    asyncio.run(main())
