"""Bytes, pickles, and metadata that lies."""

from __future__ import annotations

import pickle
import struct
import sys
from dataclasses import dataclass
from typing import Any

import hoplite
import numpy as np
import pytest
from hoplite import Client, ObjectId, _pickles


@dataclass
class Batch:
    name: str
    data: Any


# Its bytes are those of its elements, row by row, as bytes(FORTRAN) has them.
FORTRAN = memoryview(np.arange(12.0).reshape(3, 4).T)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "value", [b"", b"text", bytearray(b"more"), memoryview(b"abcdef")[::2], FORTRAN]
)
def test_bytes_come_back_as_a_memoryview(here: Client, there: Client, value: Any) -> None:
    got = there.get(here.put(value), timeout=10)
    assert isinstance(got, memoryview) and got.readonly
    assert got.tobytes() == bytes(value)


@pytest.mark.parametrize("value", [None, 7, "text", [1, {"a": (2, 3)}], Batch("x", 1.5)])
def test_other_values_are_pickled(here: Client, there: Client, value: Any) -> None:
    assert there.get(here.put(value), timeout=10) == value


def test_arrays_inside_values_are_views_of_the_object(here: Client, there: Client) -> None:
    value = Batch("x", [np.arange(1_000_000), np.ones(3, np.int8)])
    got = there.get(here.put(value), timeout=10)
    for ours, theirs in zip(value.data, got.data, strict=True):
        np.testing.assert_array_equal(theirs, ours)
        assert not theirs.flags.writeable
        assert theirs.ctypes.data % _pickles.ALIGNMENT == 0


def test_any_number_of_arrays_are_views(here: Client, there: Client) -> None:
    value = [np.full(3, i) for i in range(5000)]
    name = here.put(value)
    got = there.get(name, timeout=10)
    assert all((theirs == ours).all() for ours, theirs in zip(value, got, strict=True))
    again = there.get(name)
    assert all(map(np.shares_memory, got, again))
    assert len(here.info(name).metadata) < 200


def test_an_array_that_is_there_twice_stays_one(here: Client) -> None:
    array = np.arange(1000)
    one, other = here.get(here.put([array, array]), timeout=10)
    assert one is other


class Unlucky:
    """Its pickle raises when it is loaded."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __reduce__(self) -> Any:
        return _fail, (self.error,)


def _fail(error: Exception) -> None:
    raise error


@pytest.mark.parametrize("kind", [ValueError, TypeError, KeyError, ModuleNotFoundError])
def test_what_unpickling_raises_comes_out_as_it_is(here: Client, kind: type[Exception]) -> None:
    name = here.put([np.ones(3), Unlucky(kind("as it is"))])
    with pytest.raises(kind, match="as it is") as raised:
        here.get(name, timeout=10)
    assert type(raised.value) is kind
    if sys.version_info >= (3, 11):
        assert any(name.hex() in note for note in raised.value.__notes__)


def test_what_can_not_be_pickled_says_so(here: Client) -> None:
    with pytest.raises((pickle.PicklingError, TypeError, AttributeError)):
        here.put(lambda: None)


@pytest.mark.parametrize(
    "metadata",
    [
        b'{"kind":"array","dtype":"float32","shape":[1000],"order":"C"}',
        b'{"kind":"array","dtype":"float32","shape":[-4],"order":"C"}',
        b'{"kind":"array","dtype":"object","shape":[1],"order":"C"}',
        b'{"kind":"array","dtype":"float32"}',
        b'{"kind":"array","dtype":"float32","shape":[2],"order":[1]}',
        b'{"kind":"array","dtype":"object","shape":[1],"order":"C","as":"torch"}',
        b'{"kind":"pickle","pieces":1}',
        b'{"kind":"pickle","pieces":[[0,8]]}',
        b'{"kind":"pickle","pieces":-1}',
    ],
)
def test_metadata_that_lies_is_an_error(here: Client, metadata: bytes) -> None:
    name = here._core.put([memoryview(b"12345678")], None, metadata)
    with pytest.raises(hoplite.InvalidArgumentError, match="8 bytes"):
        here.get(name, timeout=10)


def test_a_table_that_lies_is_an_error(here: Client) -> None:
    for place in (32, 1 << 63):
        table = struct.pack("<4Q", 0, 0, place, 2)
        name = here._core.put([memoryview(table)], None, b'{"kind":"pickle","pieces":1}')
        with pytest.raises(hoplite.InvalidArgumentError, match="32 bytes: a piece of 1 bytes"):
            here.get(name, timeout=10)


@pytest.mark.parametrize("metadata", [b"somebody's own", b'{"kind":"other"}', b"\xff\xfe", b"[]"])
def test_metadata_of_others_leaves_the_bytes(here: Client, metadata: bytes) -> None:
    name = here._core.put([memoryview(b"12345678")], None, metadata)
    assert here.get(name, timeout=10) == b"12345678"


def test_ids() -> None:
    one = ObjectId.from_name("weights")
    assert one == ObjectId("name:weights") == ObjectId(one.hex()) == ObjectId.from_bytes(bytes(one))
    assert one != ObjectId.random()
    assert {one: 1}[pickle.loads(pickle.dumps(one))] == 1
    assert str(one) == one.hex() and len(one.hex()) == 40
    for wrong in ("", "zz", "12"):
        with pytest.raises(hoplite.InvalidArgumentError):
            ObjectId(wrong)
    with pytest.raises(hoplite.InvalidArgumentError):
        ObjectId.from_bytes(b"short")
