"""Transparent mode: arrays of programs that use Ray alone travel as objects, and are what Ray would
have brought."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import hoplite
import numpy as np
import pytest
from ray_cluster import HERE, LIMIT, THERE, ray, remote, wait_until, whole_objects

pytestmark = pytest.mark.usefixtures("transparent_hosts")

PROGRAM = Path(__file__).with_name("ray_unmodified.py")
# Runs the program of `python -m hoplite.ray`, and says whether its arrays became objects.
WATCHED = """
import sys
from hoplite.ray import __main__, _transparent
put, made = _transparent._put_argument, []
_transparent._put_argument = lambda encoded, within: made.append(1) or put(encoded, within)
__main__.main()
print("objects", len(made) > 0)
"""
# Of 100 kB and more.
ARRAY = np.arange(50_000, dtype=np.float64)


def start(program: list[str], address: str) -> subprocess.Popen[str]:
    """At that cluster."""
    return subprocess.Popen(
        [sys.executable, *program],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "RAY_ADDRESS": address},
    )


def lines_of(started: subprocess.Popen[str]) -> list[str]:
    """What it has printed. (Ray, too, writes to standard output.)"""
    printed, _ = started.communicate(timeout=100)
    assert started.returncode == 0
    return [line for line in printed.splitlines() if line and not line.startswith(("\x1b", "("))]


def test_an_unmodified_program_finds_the_same_both_ways(transparent_hosts: Any) -> None:
    plain = start([str(PROGRAM)], transparent_hosts.address)
    options = [f"--transparent={LIMIT}", "--memory=16MiB"]
    watched = start(["-c", WATCHED, *options, str(PROGRAM)], transparent_hosts.address)
    found = lines_of(plain)
    assert len(found) > 8
    assert lines_of(watched) == [*found, "objects True"]


def structured() -> Any:
    array = np.zeros(50_000, [("a", "f4"), ("b", "i8")])
    array["a"] = 1.5
    return array


class Own(np.ndarray):
    pass


TRAVEL = {
    "float64": ARRAY,
    "Fortran order": np.asfortranarray(ARRAY.reshape(500, 100)),
    "3-d": ARRAY.reshape(5, 100, 100),
    "big-endian": ARRAY.astype(">f8"),
    "dates": ARRAY.astype("datetime64[s]"),
    "text": np.full(10_000, "a text", "U8"),
    "complex": ARRAY * 1j,
    "booleans": np.ones(200_000, bool),
}
RAYS_OWN_WAY = {
    "small": np.ones(1000),
    "zero size": np.empty((0, 3)),
    "0-d": np.array(2.5),
    "structured": structured(),
    "not contiguous": np.arange(200_000.0)[::2],
    "of a subclass": ARRAY.view(Own),
    "of objects": np.array([None, "a"] * 50_000, object),
}


@pytest.mark.parametrize("what", [*TRAVEL, *RAYS_OWN_WAY])
def test_an_array_comes_back_as_ray_brings_it(what: str) -> None:
    array = TRAVEL[what] if what in TRAVEL else RAYS_OWN_WAY[what]
    before = whole_objects()
    ref = ray.put({"it": array})
    assert len(whole_objects() - before) == (what in TRAVEL)
    got = ray.get(ref)["it"]
    assert type(got) is type(array)
    assert got.dtype == array.dtype and got.shape == array.shape
    assert got.flags.f_contiguous == array.flags.f_contiguous or what == "not contiguous"
    assert got.tolist() == array.tolist()
    if what in TRAVEL:
        assert not got.flags.writeable


def test_tensors_travel_and_may_be_written_to() -> None:
    torch = pytest.importorskip("torch")
    before = whole_objects()
    tensor = torch.arange(50_000, dtype=torch.float32).reshape(100, 500)
    ref = ray.put([tensor, tensor[:, ::2], torch.nn.Parameter(tensor.clone())])
    assert len(whole_objects() - before) == 2  # a part of a tensor goes Ray's own way
    whole, part, parameter = ray.get(ref)
    assert torch.equal(whole, tensor) and torch.equal(part, tensor[:, ::2])
    assert type(parameter) is torch.nn.Parameter and parameter.requires_grad
    whole[0, 0] = -1.0
    assert float(ray.get(ref)[0][0, 0]) == 0.0


def test_what_was_given_does_not_change_with_the_array() -> None:
    @remote()
    def first(array: Any) -> float:
        return float(array[0])

    mine = np.zeros(50_000)
    put, calls = ray.put(mine), []
    for round in range(3):
        mine[:] = round
        calls.append(first.remote(mine))
    assert ray.get(calls, timeout=60) == [0.0, 1.0, 2.0]
    assert ray.get(put)[0] == 0.0


def test_arrays_go_from_raylet_to_raylet() -> None:
    @remote()
    def more(arrays: dict[str, Any]) -> dict[str, Any]:
        return {name: array + 1 for name, array in arrays.items()}

    there = more.options(resources=THERE).remote({"a": ARRAY, "b": np.ones(3)})
    here = more.options(resources=HERE).remote(there)
    again = ray.get(more.options(resources=THERE).remote(here), timeout=60)
    assert np.array_equal(again["a"], ARRAY + 3) and again["b"][0] == 4.0


def test_an_array_may_take_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    @remote(resources=THERE)
    def large() -> Any:
        return np.arange(1_000_000)

    monkeypatch.setattr(hoplite.ray._transparent, "SOON", 0.0001)
    assert np.array_equal(ray.get(large.remote(), timeout=60), np.arange(1_000_000))


def test_a_value_outlives_its_references() -> None:
    before = whole_objects()
    ref = ray.put(ARRAY)
    got = ray.get(ref)
    del ref
    gc.collect()
    wait_until(lambda: whole_objects() <= before, "the object is deleted")
    for _ in range(8):
        ray.put(-ARRAY)
    assert np.array_equal(got, ARRAY)


def test_nested_references_and_wait() -> None:
    @remote()
    def inner(value: float) -> Any:
        return np.full(50_000, value)

    @remote()
    def outer() -> list[Any]:
        return [inner.remote(1.0), ray.put(np.full(50_000, 2.0))]

    @remote()
    def totals(refs: list[Any]) -> list[float]:
        return [float(one[0]) for one in ray.get(refs)]

    ready, waiting = ray.wait([outer.options(resources=THERE).remote()], timeout=60)
    assert not waiting
    refs = ray.get(ready[0])
    assert ray.get(totals.options(resources=HERE).remote(refs), timeout=60) == [1.0, 2.0]
    assert [float(one[0]) for one in ray.get(refs, timeout=60)] == [1.0, 2.0]


@pytest.mark.filterwarnings("ignore:num_returns='dynamic'")
@pytest.mark.parametrize("returns", ["streaming", "dynamic", 3])
def test_generators(returns: Any) -> None:
    def pieces() -> Any:
        for piece in range(3):
            yield np.full(50_000, float(piece))

    before = whole_objects()
    made = remote(num_returns=returns, resources=THERE)(pieces).remote()
    refs = list(ray.get(made, timeout=60) if returns == "dynamic" else made)
    ray.wait(refs, num_returns=3, timeout=60)
    assert [float(one[0]) for one in ray.get(refs, timeout=60)] == [0.0, 1.0, 2.0]
    # Ray does not count handles in dynamic results.
    assert len(whole_objects() - before) == (0 if returns == "dynamic" else 3)


def define(coroutines: bool) -> type:
    """Inside a function, so that it travels by value: workers can't import this file."""

    class Threads:
        def give(self, value: float) -> Any:
            return np.full(50_000, value)

    class Coroutines:
        async def give(self, value: float) -> Any:
            await asyncio.sleep(0)
            return np.full(50_000, value)

    return Coroutines if coroutines else Threads


@pytest.mark.parametrize("coroutines", [False, True], ids=["threads", "coroutines"])
def test_actors_with_threads_and_coroutines(coroutines: bool) -> None:
    actor = remote(max_concurrency=4, resources=THERE)(define(coroutines)).remote()
    before = whole_objects()
    refs = [actor.give.remote(float(value)) for value in range(8)]
    assert [float(one[0]) for one in ray.get(refs, timeout=60)] == [float(one) for one in range(8)]
    assert len(whole_objects() - before) == 8


def test_arrays_in_exceptions_and_functions_go_rays_own_way() -> None:
    before = whole_objects()
    captured = ARRAY.copy()

    @remote()
    def raises(array: Any) -> None:
        raise ValueError(array + captured)

    with pytest.raises(ray.exceptions.RayTaskError) as raised:
        ray.get(raises.remote(ARRAY), timeout=60)
    assert np.array_equal(raised.value.cause.args[0], 2 * ARRAY)
    assert np.array_equal(ray.cloudpickle.loads(ray.cloudpickle.dumps(ARRAY, protocol=4)), ARRAY)
    del raised  # and with it the task's reference, for which Ray keeps the argument
    gc.collect()
    wait_until(lambda: whole_objects() <= before, "no object is left")


def test_without_room_arrays_go_rays_own_way(caplog: pytest.LogCaptureFixture) -> None:
    before = whole_objects()
    with caplog.at_level(logging.WARNING, "hoplite.ray"):
        refs = [ray.put(np.full(1_000_000, float(one))) for one in range(12)]  # 96 of 64 MB
    assert [float(one[0]) for one in ray.get(refs)] == [float(one) for one in range(12)]
    assert 4 <= len(whole_objects() - before) < 12
    told = [record for record in caplog.records if "Ray's own way" in record.getMessage()]
    assert len(told) <= 1
    del refs
    gc.collect()
    wait_until(lambda: whole_objects() <= before, "there is room again")


def test_a_reader_whose_node_has_no_room_gets_a_copy() -> None:
    torch = pytest.importorskip("torch")

    @remote(resources=THERE)
    def fill_and_read(refs: list[Any]) -> tuple[float, bool]:
        filled = [ray.get(ray.put(np.full(1_000_000, 1.0))) for _ in range(8)]
        assert len(filled) == 8
        tensor, array = ray.get(refs)
        tensor += 1.0
        return float(tensor[0] + array[0]), array.flags.writeable

    refs = [ray.put(torch.ones(1_000_000)), ray.put(np.full(1_000_000, 3.0))]
    assert ray.get(fill_and_read.remote(refs), timeout=60) == (5.0, False)


def test_smaller_limits_are_read() -> None:
    bytes_of = hoplite.ray._transparent.bytes_of
    assert bytes_of("1MiB") == 1 << 20 and bytes_of("100 K") == 102_400 and bytes_of(7) == 7
    assert bytes_of(LIMIT) == 102_400
    for wrong in ("", "0", "1.5MiB", "many", -1):
        with pytest.raises(hoplite.InvalidArgumentError, match="transparent="):
            bytes_of(wrong)


def test_another_ray_gets_one_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where arrays can't travel in it."""
    monkeypatch.setattr(ray, "__version__", "9.9.9")
    monkeypatch.setattr(hoplite.ray._transparent._here, "before", None)
    monkeypatch.delattr(ray._private.serialization.SerializationContext, "_serialize_to_pickle5")
    with pytest.warns(RuntimeWarning, match="tested with Ray.*do not travel by themselves") as told:
        hoplite.ray.init(transparent=LIMIT)
    assert len(told) == 1


def test_a_ray_that_was_started_without_it_is_refused(transparent_hosts: Any) -> None:
    program = """
import ray, hoplite.ray, hoplite
ray.init()
try:
    hoplite.ray.init(transparent="1MiB")
except hoplite.InvalidArgumentError as error:
    print(error)
"""
    (said,) = lines_of(start(["-c", program], transparent_hosts.address))
    assert "in place of ray.init" in said
