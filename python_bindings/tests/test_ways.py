"""Every kind of value, by every way to it: what is got is what pickle would give back."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import hoplite
import ml_dtypes
import numpy as np
import pytest
from hoplite import Client, ObjectId

try:
    import torch
except ImportError:
    torch = None  # type: ignore[assignment]

Way = Callable[[Client, ObjectId], Any]

WAYS: dict[str, Way] = {
    "get": lambda client, id: client.get(id, timeout=10),
    "writable": lambda client, id: client.get(id, timeout=10, writable=True),
    "aget": lambda client, id: asyncio.run(client.aget(id, timeout=10)),
    "aget writable": lambda client, id: asyncio.run(client.aget(id, timeout=10, writable=True)),
    "get_many": lambda client, id: client.get_many([id, id], timeout=10)[1],
}

NESTED = np.dtype([("a", [("x", "<i4"), ("y", ">f8", (2, 3))]), (("title", "name"), "S4")])
GAPS = np.dtype({"names": ["a", "b"], "formats": ["u1", ml_dtypes.bfloat16], "itemsize": 8})


def numpy_dtypes() -> Iterator[np.dtype[Any]]:
    """All that NumPy and ml_dtypes know."""
    for code in np.typecodes["All"]:
        kinds = {"M": "M8[us]", "m": "m8[s]", "S": "S5", "U": "U3", "V": "V7"}
        dtype: np.dtype[Any] = np.dtype(kinds.get(code, code))
        yield dtype
        if dtype.newbyteorder() != dtype:
            yield dtype.newbyteorder()
    yield from (NESTED, GAPS, np.dtype([("a", "i1"), ("b", "f8")], align=True))
    for name in dir(ml_dtypes):
        kind = getattr(ml_dtypes, name)
        if isinstance(kind, type) and issubclass(kind, np.generic):
            yield np.dtype(kind)


def arrays(dtype: np.dtype[Any]) -> Iterator[np.ndarray[Any, Any]]:
    """In every order, and none."""
    if dtype.names is None and dtype.kind != "V":
        plain = (np.arange(24) % 2).astype(dtype).reshape(2, 3, 4)
    elif dtype.names is None and dtype.type is not np.void:
        plain = (np.arange(24) % 2).astype(np.float32).astype(dtype).reshape(2, 3, 4)
    else:
        plain = np.zeros((2, 3, 4), dtype)
    yield from (
        plain,
        plain.T,
        plain.transpose(1, 0, 2),
        plain[:, ::2],
        plain[:0],
        plain[0, 0, 0:1],
    )


def same_array(got: Any, wanted: np.ndarray[Any, Any]) -> bool:
    """Bit by bit."""
    assert type(got) is type(wanted) and got.dtype == wanted.dtype and got.shape == wanted.shape
    assert got.dtype.type is wanted.dtype.type or wanted.dtype.kind != "V"
    if wanted.dtype.hasobject or wanted.dtype.names:  # what is between fields is nothing
        return bool((got == wanted).all())
    return got.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("dtype", list(numpy_dtypes()), ids=str)
def test_every_dtype_in_every_order(here: Client, there: Client, dtype: np.dtype[Any]) -> None:
    for array in arrays(dtype):
        top, nested = here.put(array), here.put({"array": array})
        for way in WAYS.values():
            assert same_array(way(there, top), array)
            assert same_array(way(there, nested)["array"], array)
        for order in "CF":
            out = np.empty(array.shape, dtype, order="F" if order == "F" else "C")
            if not dtype.hasobject:
                assert there.get(top, out=out, timeout=10) is out
                assert same_array(out, array)


VALUES: dict[str, Any] = {
    "none": None,
    "number": 1.5,
    "text": "text",
    "tree": {"a": [np.arange(3.0), (np.ones((2, 2)),)], "b": OrderedDict(c=np.zeros(4))},
    "two dtypes": {"a": np.arange(3.0), 7: np.arange(4), None: "text"},
    "masked": np.ma.masked_array(np.arange(4.0), mask=np.arange(4) % 2 == 1),
    "matrix": np.eye(2).view(np.matrix),
    "records": np.rec.array([(1, 3.0), (2, 4.0)], dtype=[("a", "i4"), ("b", "f8")]),
    "objects": np.array([None, 1, "a"], object),
    "strings": np.array(["a", "bc"], np.dtypes.StringDType()),
    "no dimensions": np.array(7.0),
    "scalar": np.float32(1.5),
    "numpy's bytes": np.bytes_(b"abc"),
}


def same(got: Any, wanted: Any) -> bool:
    assert type(got) is type(wanted)
    if isinstance(wanted, np.ndarray):
        return same_array(got, wanted)
    if isinstance(wanted, dict):
        return list(got) == list(wanted) and all(same(got[key], wanted[key]) for key in wanted)
    if isinstance(wanted, list | tuple):
        return len(got) == len(wanted) and all(map(same, got, wanted))
    return bool(got == wanted)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", VALUES)
def test_every_kind_by_every_way(here: Client, there: Client, kind: str, way: str) -> None:
    for value in (VALUES[kind], [VALUES[kind], 7]):
        assert same(WAYS[way](there, here.put(value)), value)


@pytest.mark.parametrize("kind", VALUES)
def test_every_kind_into_memory_of_ones_own(here: Client, there: Client, kind: str) -> None:
    """It is the value, or it is refused."""
    value = VALUES[kind]
    name = here.put(value)
    if isinstance(value, np.ndarray) and not value.dtype.hasobject and kind != "masked":
        out = np.zeros(value.shape, value.dtype)
        there.get(name, out=out, timeout=10)
        assert out.tobytes() == value.tobytes()
    else:
        with pytest.raises(hoplite.InvalidArgumentError, match=r"^out"):
            there.get(name, out=np.zeros(3, object) if kind == "objects" else bytearray(8))


# What lies in the object, and what does not take it.
ROWS = np.arange(12.0).reshape(3, 4)
REFUSED: list[tuple[Any, Any]] = [
    (ROWS, np.empty((4, 3))),
    (ROWS, np.empty(12)),
    (ROWS, np.empty((3, 4), np.int64)),
    (ROWS, np.empty((3, 4), ">f8")),
    (ROWS, np.empty((3, 4), [("a", "f8")])),
    (ROWS, np.empty((3, 5))),
    (ROWS, bytearray(95)),
    (ROWS.tobytes(), np.empty(13)),
    (ROWS, memoryview(ROWS.tobytes())),
    (ROWS, np.frombuffer(ROWS.tobytes()).reshape(3, 4)),
    ([ROWS], np.empty((3, 4))),
    (ROWS.view(np.recarray), np.empty((4, 3))),
]


@pytest.mark.parametrize(("value", "out"), REFUSED)
def test_memory_that_does_not_fit_is_refused(here: Client, value: Any, out: Any) -> None:
    with pytest.raises(hoplite.InvalidArgumentError, match=r"^out"):
        here.get(here.put(value), out=out, timeout=10)


@pytest.mark.parametrize("out", [None, 7, "text", [1.0]])
def test_what_is_no_memory_is_refused(here: Client, out: Any) -> None:
    if out is not None:
        with pytest.raises(TypeError, match=f"out is of type {type(out).__name__}"):
            here.get(here.put(ROWS), out=out, timeout=10)


@pytest.mark.parametrize("array", [ROWS, ROWS.T, ROWS[:, ::2], ROWS[1], ROWS[:0]])
def test_layouts_are_converted(here: Client, there: Client, array: Any) -> None:
    name, raw = here.put(array), here.put(array.tobytes())
    spread = np.zeros((2 * array.shape[0], *array.shape[1:]))[::2]
    for out in (np.zeros(array.shape), np.zeros(array.shape, order="F"), spread):
        for one in (name, raw):
            out[...] = -1
            there.get(one, out=out, timeout=10)
            np.testing.assert_array_equal(out, array)
    for room in (bytearray(array.nbytes), memoryview(bytearray(array.nbytes))):
        for one in (name, raw):
            assert bytes(there.get(one, out=room, timeout=10)) == array.tobytes()


@pytest.mark.skipif(torch is None, reason="PyTorch is not installed")
def test_tensors_and_arrays_into_each_other(here: Client, there: Client) -> None:
    for name in ("float32", "bfloat16", "float8_e5m2", "complex64", "bool"):
        dtype = getattr(ml_dtypes, name, None) or np.dtype(name)
        tensor = torch.arange(24).reshape(2, 3, 4).to(getattr(torch, name))
        for value in (
            tensor,
            tensor.permute(2, 0, 1),
            tensor[:, ::2],
            tensor.permute(1, 0, 2),
        ):
            put = here.put(value)
            into = there.get(put, out=torch.empty(value.shape, dtype=value.dtype), timeout=10)
            assert into.to(torch.complex64).equal(value.to(torch.complex64))
            array = there.get(put, out=np.empty(tuple(value.shape), dtype), timeout=10)
            wanted = value.to(torch.complex64).numpy()
            np.testing.assert_array_equal(array.astype(np.complex64), wanted)
            into.zero_()
            there.get(here.put(array), out=into, timeout=10)
            assert into.to(torch.complex64).equal(value.to(torch.complex64))
    weights: Any = torch.nn.Parameter(torch.rand(3, 4))
    weights.shard = 1  # a pickle, then
    assert there.get(here.put(weights), out=torch.empty(3, 4), timeout=10).equal(weights)
