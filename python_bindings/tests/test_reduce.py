"""Reductions from Python: the right sums, and which sources are in them."""

from __future__ import annotations

import hoplite
import ml_dtypes
import numpy as np
import pytest
from hoplite import Client, ObjectId

OPS = {"sum": np.add, "prod": np.multiply, "min": np.minimum, "max": np.maximum}
BITS = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}


@pytest.mark.parametrize("op", OPS)
@pytest.mark.parametrize("dtype", ["int8", "uint64", "float16", "float32", "float64"])
def test_operations(here: Client, there: Client, op: str, dtype: str) -> None:
    one = np.arange(1, 40_001).astype(dtype) % 5
    two = np.arange(40_000, 0, -1).astype(dtype) % 3
    made = here.reduce([here.put(one), there.put(two)], op=op).wait(timeout=10)
    got = there.get(made.target, timeout=10)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, OPS[op](one, two))


@pytest.mark.parametrize("op", BITS)
def test_operations_on_bits(here: Client, there: Client, op: str) -> None:
    one, two = np.arange(1000, dtype=np.int32), np.full(1000, 0b1010, np.int32)
    target = here.reduce([here.put(one), there.put(two)], op=op).wait(timeout=10).target
    np.testing.assert_array_equal(here.get(target, timeout=10), BITS[op](one, two))


def test_bfloat16(here: Client, there: Client) -> None:
    ones = np.ones((3, 5), ml_dtypes.bfloat16)
    target = here.reduce([here.put(ones), there.put(ones)]).target
    got = here.get(target, timeout=10)
    assert got.dtype == ml_dtypes.bfloat16 and got.shape == (3, 5)
    assert (got == 2).all()


def test_the_first_of_many(here: Client, there: Client) -> None:
    early = [here.put(np.full(1000, 1 << i, np.int64)) for i in range(2)]
    late = [ObjectId.random() for _ in range(3)]
    made = there.reduce([*late, *early], num_objects=2).wait(timeout=10)
    assert set(made.used) == set(early) and set(made.unused) == set(late)
    assert there.get(made.target, timeout=10)[0] == 3


def test_the_target_can_be_asked_for_before_its_sources_exist(here: Client, there: Client) -> None:
    ids = [ObjectId.random() for _ in range(2)]
    made = here.reduce(ids, dtype=np.float32)
    assert not made.ready()
    for client, name in zip((here, there), ids, strict=True):
        client.put(np.ones(100_000, np.float32), id=name)
    assert (there.get(made.target, timeout=10) == 2).all()
    assert made.used == ids


def test_cancel(here: Client) -> None:
    made = here.reduce([ObjectId.random()], dtype="int8")
    made.cancel()
    with pytest.raises(hoplite.CancelledError):
        made.wait(timeout=10)


def test_a_wait_may_time_out_and_go_on(here: Client) -> None:
    source = ObjectId.random()
    made = here.reduce([source], dtype="int8")
    with pytest.raises(hoplite.TimeoutError):
        made.wait(timeout=0.1)
    here.put(np.ones(10, np.int8), id=source)
    assert made.wait(timeout=10).used == [source]


@pytest.mark.parametrize(
    ("op", "dtype", "says"),
    [
        ("and", "float32", "float32"),
        ("average", "int8", "average"),
        ("sum", "complex64", "complex64"),
        ("sum", ">f4", ">f4"),
    ],
)
def test_what_can_not_be_reduced(here: Client, op: str, dtype: str, says: str) -> None:
    with pytest.raises(hoplite.InvalidArgumentError, match=says):
        here.reduce([here.put(np.zeros(4, dtype))], op=op)


def test_unknown_dtypes_must_be_given(here: Client) -> None:
    with pytest.raises(hoplite.InvalidArgumentError, match="dtype"):
        here.reduce([ObjectId.random()])


def test_sources_of_different_sizes(here: Client) -> None:
    ids = [here.put(np.zeros(4)), here.put(np.zeros(5))]
    with pytest.raises(hoplite.InvalidArgumentError):
        here.reduce(ids).wait(timeout=10)
