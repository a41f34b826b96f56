"""Reductions from Python: the right sums, and which sources are in them."""

from __future__ import annotations

import asyncio
import subprocess
from typing import Any

import hoplite
import ml_dtypes
import numpy as np
import pytest
from hoplite import Client, LocalCluster, ObjectId, _program
from waiting import until

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


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("elements", [100, 40_000])
def test_mean(here: Client, there: Client, dtype: str, elements: int) -> None:
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    values = [np.full(elements, value, kind) for value in (1, 2, 6)]
    ids = [client.put(value) for client, value in zip((here, there, there), values, strict=True)]
    made = here.reduce(ids, op="mean").wait(timeout=10)
    assert (there.get(made.target, timeout=10) == 3).all()
    first = here.reduce(ids, op="mean", num_objects=2).wait(timeout=10)
    total = sum(float(values[ids.index(id)][0]) for id in first.used)
    assert (there.get(first.target, timeout=10).astype(float) == total / 2).all()


def test_the_mean_of_integers_is_refused(here: Client) -> None:
    with pytest.raises(hoplite.InvalidArgumentError, match="mean works on floats, not on int64"):
        here.reduce([here.put(np.arange(10))], op="mean").wait(timeout=10)


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


class Listening:
    """A core that notes whether the node is told that everybody reads."""

    def __init__(self, core: Any) -> None:
        self.core = core
        self.told: list[bool] = []

    def reduce(self, *args: Any, everyone_reads: bool, **options: Any) -> Any:
        self.told.append(everyone_reads)
        return self.core.reduce(*args, everyone_reads=everyone_reads, **options)


def test_everybody_reads(here: Client, there: Client) -> None:
    sources = [client.put(np.full(300_000, 2, np.float32)) for client in (here, there)]
    core = Listening(here._core)
    client: Client = Client(core, "")  # type: ignore[arg-type]
    made = [
        client.reduce(sources, dtype=np.float32),
        client.reduce(sources, dtype=np.float32, everyone_reads=True),
        asyncio.run(client.areduce(sources, dtype=np.float32, everyone_reads=True)),
    ]
    assert core.told == [False, True, True]
    for reduction in made:
        assert all((one.get(reduction.target, timeout=10) == 4).all() for one in (here, there))
        assert reduction.wait(timeout=10).used == sources


def test_cancel(here: Client) -> None:
    made = here.reduce([ObjectId.random()], dtype="int8")
    made.cancel()
    with pytest.raises(hoplite.CancelledError):
        made.wait(timeout=10)


def test_a_wait_may_time_out_and_go_on(here: Client) -> None:
    source = ObjectId.random()
    made = here.reduce([source], dtype="int8")
    with pytest.raises(hoplite.TimeoutError, match=f"1 of 1 sources are missing: {source.hex()}"):
        made.wait(timeout=0.1)
    with pytest.raises(hoplite.TimeoutError, match="into it is under way: 1 of 1 sources are miss"):
        here.get(made.target, timeout=0.1)
    here.put(np.ones(10, np.int8), id=source)
    assert made.wait(timeout=10).used == [source]


def test_a_get_at_another_node_says_what_the_reduction_waits_for(
    here: Client, there: Client
) -> None:
    source = ObjectId.random()
    made = here.reduce([source], dtype="int8")
    why = f"a reduction makes it that n0 asked for: 1 of 1 sources are missing: {source.hex()}"
    get = there.get_future(made.target)
    until(lambda: there.why(made.target), why)  # told once it has waited for a second
    with pytest.raises(hoplite.TimeoutError, match=why):
        there.get(made.target, timeout=0.2)
    with pytest.raises(hoplite.TimeoutError, match=f"{why}; 2 of 2 objects are missing"):
        there.get_many([made.target, ObjectId.random()], timeout=0.2)
    get.cancel()
    assert source.hex() in repr(there.info(made.target))
    made.cancel()


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


@pytest.mark.parametrize("dtype", [None, "float32"])
def test_no_sources_at_all(here: Client, dtype: str | None) -> None:
    with pytest.raises(hoplite.InvalidArgumentError, match="no sources"):
        here.reduce([], dtype=dtype)
    with pytest.raises(hoplite.InvalidArgumentError, match="no sources"):
        asyncio.run(here.areduce(iter([]), dtype=dtype))


def test_what_can_be_known_is_raised_at_once(here: Client) -> None:
    source = here.put(np.ones(4))
    with pytest.raises(hoplite.InvalidArgumentError, match=f"{source.hex()} is listed twice"):
        here.reduce([source, source])
    with pytest.raises(hoplite.InvalidArgumentError, match="num_objects is 2, but there are 1"):
        here.reduce([source], num_objects=2)
    with pytest.raises(hoplite.InvalidArgumentError, match="is among the sources"):
        here.reduce([source], target=source)


def test_a_get_of_the_target_tells_why_there_is_none(here: Client, there: Client) -> None:
    ids = [here.put(np.zeros(4)), here.put(np.zeros(5))]
    target = here.reduce(ids, dtype="float64").target
    for client in (there, here):
        with pytest.raises(hoplite.InvalidArgumentError, match=ids[0].hex()):
            client.get(target, timeout=20)


def test_unknown_dtypes_must_be_given(here: Client) -> None:
    with pytest.raises(hoplite.InvalidArgumentError, match="dtype"):
        here.reduce([ObjectId.random()])


def test_sources_of_different_sizes(here: Client) -> None:
    ids = [here.put(np.zeros(4)), here.put(np.zeros(5))]
    with pytest.raises(hoplite.InvalidArgumentError):
        here.reduce(ids).wait(timeout=10)


# As large as the others: only what they are differs.
UNLIKE = [
    (np.ones(40_000, np.int32), "int32"),
    (np.ones((200, 200), np.float32), r"\(200, 200\)"),
    ({"not": "an array"}, "pickle"),
]


@pytest.mark.parametrize(("other", "named"), UNLIKE)
@pytest.mark.parametrize("late", [False, True])
def test_sources_that_are_not_alike(
    here: Client, there: Client, other: object, named: str, late: bool
) -> None:
    first, second = here.put(np.ones(40_000, np.float32)), ObjectId.random()
    if not late:
        there.put(other, id=second)
    reduction = here.reduce([first, second], dtype=np.float32)
    if late:
        with pytest.raises(hoplite.TimeoutError):
            reduction.wait(timeout=0.1)
        there.put(other, id=second)
    with pytest.raises(hoplite.InvalidArgumentError, match=named) as refused:
        reduction.wait(timeout=10)
    assert second.hex() in str(refused.value)
    if late:
        assert first.hex() in str(refused.value) and "float32" in str(refused.value)


def test_orders_that_differ(here: Client, there: Client) -> None:
    rows = np.arange(6, dtype=np.int64).reshape(2, 3)
    ids = [here.put(rows), there.put(np.asfortranarray(rows))]
    with pytest.raises(hoplite.InvalidArgumentError, match="Fortran order"):
        here.reduce(ids).wait(timeout=10)


def test_another_dtype_than_the_one_that_is_given(here: Client) -> None:
    ids = [here.put(np.ones(10, np.float32)) for _ in range(2)]
    with pytest.raises(hoplite.InvalidArgumentError, match=r"int32.*float32"):
        here.reduce(ids, dtype="int32").wait(timeout=10)


def test_one_that_differs_ends_it_although_it_is_not_needed(here: Client, there: Client) -> None:
    """It might have to replace another one; whoever names it is mistaken in any case."""
    ids = [here.put(np.ones(10, np.float32)), ObjectId.random(), there.put(np.ones(10, np.int32))]
    with pytest.raises(hoplite.InvalidArgumentError):
        here.reduce(ids, num_objects=2, dtype="float32").wait(timeout=10)


def test_the_command_line_refuses_what_differs_too(cluster: LocalCluster, here: Client) -> None:
    ids = [here.put(np.ones(10, np.float32)).hex(), here.put(np.ones(10, np.int32)).hex()]
    words = ["reduce", "--op", "sum", "--dtype", "float32", *ids, "--socket", cluster.socket(0)]
    command = [_program.path(), *words]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=30)
    assert done.returncode == 1 and done.stderr.startswith("invalid_argument: "), done.stderr
    assert all(named in done.stderr for named in [*ids, "float32", "int32"])


def test_bytes_are_taken_as_they_are(here: Client, there: Client) -> None:
    ones = np.ones(1000, np.float32)
    target = here.reduce([here.put(ones), there.put(ones.tobytes())], dtype="float32").target
    np.testing.assert_array_equal(here.get(target, timeout=10), 2 * ones)
