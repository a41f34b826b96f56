"""Ray's tensor transports `hoplite` and `hoplite_numpy` on a real Ray cluster of two nodes."""

from __future__ import annotations

import gc
from typing import Any

import hoplite
import numpy as np
import pytest
from hoplite.ray._object_refs import id_of, id_of_tensors
from ray_cluster import HERE, THERE, id_exists, objects, ray, remote, wait_until
from ray_tensors import BIG, Worker, torch

pytestmark = pytest.mark.usefixtures("two_hosts")


@pytest.fixture(scope="module")
def workers(two_hosts: Any) -> Any:
    """Two at the other host, one at this."""
    return [Worker.options(resources=place).remote() for place in (THERE, HERE, THERE)]


def test_a_tensor_goes_from_an_actor_to_others(workers: Any) -> None:
    maker = workers[0]
    ref = maker.make.remote(2.0)
    assert ray.get(maker.first.remote(maker.make.remote(3.0))) == 3.0
    assert (ray.get(ref) == 2).all()
    for _ in range(2):
        assert ray.get([one.first.remote(ref) for one in workers[1:]]) == [2.0, 2.0]


def test_what_is_changed_after_the_task_is_not_seen_elsewhere(workers: Any) -> None:
    ref = workers[0].make.remote()
    ray.get(workers[0].change.remote())
    assert ray.get(workers[1].first.remote(ref)) == 1.0


def test_a_ref_may_be_handed_on_before_its_task_has_run(workers: Any) -> None:
    ref = workers[0].make.remote(seconds=1.0)
    assert ray.get([one.first.remote(ref) for one in workers[1:]]) == [1.0, 1.0]


def test_what_the_driver_puts(workers: Any) -> None:
    ref = ray.put(torch.full((BIG,), 4.0), _tensor_transport="hoplite")
    assert ray.get([one.first.remote(ref) for one in workers]) == [4.0] * 3
    assert ray.get(workers[0].first_of_nested.remote([ref])) == 4.0
    with pytest.raises(TypeError, match=r"not ObjectRef.*: ray\.get and ray\.wait take it"):
        hoplite.ray.get(ref)


def test_what_an_actor_or_a_task_puts(workers: Any) -> None:
    @remote(resources=THERE)
    def put(value: float) -> Any:
        hoplite.ray.setup()
        return ray.put(torch.full((BIG,), value), _tensor_transport="hoplite")

    @remote(resources=THERE)
    def first(refs: Any) -> float:
        return float(ray.get(refs[0])[0])

    for ref in ray.get([workers[0].put.remote(5.0), put.remote(5.0)]):
        assert ray.get(ref)[0] == 5.0
        assert ray.get(workers[1].first_of_nested.remote([ref])) == 5.0
        assert ray.get(first.remote([ref])) == 5.0


def test_arrays(workers: Any) -> None:
    ref = workers[0].make_array.remote(6.0)
    wanted = (np.float32, (2, BIG), 6.0)
    assert ray.get([one.describe.remote(ref) for one in workers[1:]]) == [wanted] * 2
    mine = ray.get(ref)["array"]
    assert (mine == 6).all() and mine.flags.writeable and mine.flags.f_contiguous
    # Ray pickles this process's arrays by itself from now on.
    assert hoplite.ray.get(hoplite.ray.put({"a": mine}), timeout=10)["a"].sum() == 12 * BIG


@pytest.mark.parametrize(("count", "size"), [(0, 0), (3, 0), (1000, 3)])
def test_no_tensors_and_empty_ones_and_many(count: int, size: int, workers: Any) -> None:
    ref = workers[0].make_several.remote(count, size)
    wanted = [size * float(i) for i in range(count)]
    assert ray.get(workers[1].sums.remote(ref)) == (wanted, count)
    assert [float(one.sum()) for one in ray.get(ref)["tensors"]] == wanted


def test_several_are_fetched_at_once_and_into_given_memory(workers: Any) -> None:
    from ray.experimental import rdt  # noqa: PLC0415 - where there is Ray

    refs = [workers[0].make.remote(i) for i in range(4)]
    target = torch.zeros(BIG)
    rdt.set_target_for_ref(refs[2], [target])
    got = ray.get(refs)
    assert [float(one[0]) for one in got] == [0.0, 1.0, 2.0, 3.0]
    assert got[2] is target


def test_a_task_that_is_run_again_keeps_its_first_tensors() -> None:
    from ray.experimental.rdt.util import get_tensor_transport_manager  # noqa: PLC0415

    transport, ray_id = get_tensor_transport_manager("HOPLITE_NUMPY"), "0" * 56
    for value in (1.0, 2.0):
        said = transport.extract_tensor_transport_metadata(ray_id, [np.full(3, value)])
    (got,) = transport.recv_multiple_tensors(ray_id, said, None)
    assert list(got) == [1.0, 1.0, 1.0]
    transport.garbage_collect(ray_id, said, [got])
    wait_until(lambda: not id_exists(id_of_tensors(ray_id)), "it is deleted")


def test_thousand_leave_nothing(workers: Any) -> None:
    maker, reader = workers[0], workers[1]

    def make_and_drop(count: int) -> None:
        results = [maker.make.remote(1.0, 1000) for _ in range(count)]
        read = [reader.first.remote(ref) for ref in results]
        put = [ray.put(torch.ones(10_000), _tensor_transport="hoplite") for _ in range(count)]
        nested = ray.get([maker.put.remote(1.0, 10) for _ in range(count // 10)])
        assert ray.get(read) == [1.0] * count
        assert [float(one[0]) for one in ray.get([*nested, *put])] == [1.0] * (11 * count // 10)

    make_and_drop(10)
    gc.collect()
    known = objects()
    make_and_drop(500)
    gc.collect()
    wait_until(lambda: objects() <= known, "all are deleted")


def test_they_are_reduced_where_they_are(workers: Any) -> None:
    late = workers[0].make.remote(seconds=1.0)
    put = ray.put(torch.full((BIG,), 2.0), _tensor_transport="hoplite")
    mine = hoplite.ray.put(torch.full((BIG,), 3.0))
    refs = [late, workers[1].make.remote(4.0), put, mine]
    total = hoplite.ray.reduce(refs)
    with pytest.raises(hoplite.TimeoutError, match=rf"{late.hex()}|has not begun"):
        total.wait(timeout=0.1)
    assert (total.get(timeout=20) == 10).all()
    assert set(total.used) == set(refs) and total.unused == []
    first = hoplite.ray.reduce([workers[0].make.remote(seconds=0.5), put], num_objects=1)
    assert first.get(timeout=20)[0] == 2.0 and first.used == [put]
    assert ray.get(put)[0] == 2.0
    assert ray.get(workers[0].first.remote(put)) == 2.0  # the reductions own it no more
    ids = [id_of(ref) for ref in refs]
    del late, put, mine, refs, total, first
    wait_until(lambda: not any(map(id_exists, ids)), "the sources are deleted")


def test_several_tensors_are_reduced_as_a_list(workers: Any) -> None:
    total = hoplite.ray.reduce([one.make_several.remote(3) for one in workers])
    assert [float(one[0]) for one in total.get(timeout=20)] == [0.0, 3.0, 6.0]


def test_an_actor_reduces_what_it_owns(workers: Any) -> None:
    total, refs = ray.get(workers[0].reduce_its_own.remote())
    assert total == 3.0
    assert [float(one[0]) for one in ray.get(refs)] == [1.0, 2.0]


def test_a_task_that_raises_ends_the_reduction(workers: Any) -> None:
    there = workers[0].make.remote()
    failing = workers[1].fail.remote(seconds=0.5)
    total = hoplite.ray.reduce([there, failing])
    with pytest.raises(hoplite.ObjectFailedError, match=f"{failing.hex()}.*ValueError: no luck"):
        total.wait(timeout=20)
    id = id_of(failing)
    wait_until(lambda: not id_exists(id), "what was put for it is deleted")
    empty = workers[1].make_several.remote(0)
    with pytest.raises(hoplite.ObjectFailedError, match=f"{empty.hex()}.* has no tensors"):
        hoplite.ray.reduce([there, empty]).wait(timeout=20)
    with pytest.raises(hoplite.InvalidArgumentError, match=r"float32.*float64"):
        other = ray.put(torch.ones(BIG, dtype=torch.float64), _tensor_transport="hoplite")
        hoplite.ray.reduce([there, other]).wait(timeout=20)
