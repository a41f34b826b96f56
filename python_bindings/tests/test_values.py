"""Bytes, pickles, and metadata that lies."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import Any

import hoplite
import numpy as np
import pytest
from hoplite import Client, ObjectId, _encoding


@dataclass
class Batch:
    name: str
    data: Any


@pytest.mark.parametrize("value", [b"", b"text", bytearray(b"more"), memoryview(b"abcdef")[::2]])
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
        assert theirs.ctypes.data % _encoding.ALIGNMENT == 0


def test_more_buffers_than_the_metadata_can_list(here: Client, there: Client) -> None:
    value = [np.full(3, i) for i in range(1000)]
    got = there.get(here.put(value), timeout=10)
    assert all((theirs == ours).all() for ours, theirs in zip(value, got, strict=True))


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
        b'{"kind":"pickle","pieces":[[0,10000]]}',
        b'{"kind":"pickle","pieces":[[-1,2]]}',
    ],
)
def test_metadata_that_lies_is_an_error(here: Client, metadata: bytes) -> None:
    name = here._core.put([memoryview(b"12345678")], None, metadata)
    with pytest.raises(hoplite.InvalidArgumentError, match="8 bytes"):
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
