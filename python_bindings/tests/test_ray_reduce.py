"""hoplite.ray.reduce on a real Ray cluster of two nodes."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import hoplite
import numpy as np
import pytest
from ray_cluster import HERE, THERE, id_exists, ray, remote, wait_until

pytestmark = pytest.mark.usefixtures("two_hosts")

BIG = 500_000


@remote()
def put_here(value: Any, ref: Any = None) -> hoplite.ray.Ref:
    return hoplite.ray.put(value, ref)


@remote()
def first_of(ref: Any) -> float:
    return float(hoplite.ray.get(ref, timeout=30)[0])


def ones_everywhere(count: int) -> list[hoplite.ray.Ref]:
    """Of float32, at both hosts by turns, made by tasks."""
    places = [HERE, THERE]
    return ray.get(  # type: ignore[no-any-return]
        [
            put_here.options(resources=places[i % 2]).remote(np.ones(BIG, np.float32))
            for i in range(count)
        ]
    )


def test_the_sum_of_arrays_of_both_hosts() -> None:
    refs = ones_everywhere(4)
    reduction = hoplite.ray.reduce(refs)
    early = hoplite.ray.get(reduction.ref, timeout=20)  # anybody may, while it is made
    assert early.dtype == np.float32 and (early == 4).all()
    assert (reduction.get(timeout=20) == 4).all()
    assert set(reduction.used) == set(refs) and reduction.unused == []


def test_a_result_comes_to_who_gets_it_while_it_is_made() -> None:
    refs = [hoplite.ray.new_ref() for _ in range(2)]
    reduction = hoplite.ray.reduce(refs)
    with ThreadPoolExecutor(1) as pool:
        total = pool.submit(reduction.get, timeout=30)
        # Before anything is there to be folded the directory knows who wants the sum.
        wait_until(lambda: id_exists(reduction.ref.id), "somebody waits for the target")
        for ref in refs:
            hoplite.ray.put(np.ones(BIG, np.float32), ref)
        assert (total.result() == 2).all()


def test_a_result_that_does_not_come_in_time() -> None:
    reduction = hoplite.ray.reduce([hoplite.ray.new_ref()])
    with pytest.raises(TimeoutError, match="has not begun"):
        reduction.get(timeout=0.2)


def test_into_a_ref_that_tasks_wait_for() -> None:
    target = hoplite.ray.new_ref()
    waiting = [first_of.options(resources=place).remote(target) for place in (HERE, THERE)]
    reduction = hoplite.ray.reduce(ones_everywhere(3), ref=target)
    assert reduction.ref == target
    assert ray.get(waiting, timeout=60) == [3.0, 3.0]


def test_every_host_reads_the_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    told, reduce = [], hoplite.Client._reduce

    def listen(self: hoplite.Client, *args: Any, **options: Any) -> Any:
        told.append(options["everyone_reads"])
        return reduce(self, *args, **options)

    monkeypatch.setattr(hoplite.Client, "_reduce", listen)
    target = hoplite.ray.new_ref()
    waiting = [first_of.options(resources=place).remote(target) for place in (HERE, THERE)]
    reduction = hoplite.ray.reduce(ones_everywhere(4), ref=target, everyone_reads=True)
    assert ray.get(waiting, timeout=60) == [4.0, 4.0]
    assert (reduction.get(timeout=20) == 4).all()
    assert told == [True]


def test_into_a_ref_that_has_an_object() -> None:
    target = hoplite.ray.put(np.full(BIG, 7, np.float32))
    reduction = hoplite.ray.reduce(ones_everywhere(2), ref=target)
    with pytest.raises(hoplite.AlreadyExistsError):
        reduction.wait(timeout=20)
    assert (hoplite.ray.get(target, timeout=20) == 7).all()


def test_into_a_ref_that_is_a_source() -> None:
    refs = ones_everywhere(2)
    with pytest.raises(hoplite.InvalidArgumentError, match=f"{refs[1].hex()}.* among the sources"):
        hoplite.ray.reduce(refs, ref=refs[1])
    assert hoplite.ray.wait(refs, num_returns=2, timeout=20) == (refs, [])


def unlike(target: Any = None) -> tuple[list[hoplite.ray.Ref], hoplite.ray.Reduction]:
    """A reduction that fails as soon as its sources are there."""
    refs = [hoplite.ray.new_ref() for _ in range(2)]
    reduction = hoplite.ray.reduce(refs, ref=target)
    for number, ref in enumerate(refs):
        hoplite.ray.put(np.ones(BIG + number), ref)
    # The second, if the reduction begins before both sources are there.
    errors = (hoplite.InvalidArgumentError, hoplite.AlreadyExistsError)
    with pytest.raises(errors if target else hoplite.InvalidArgumentError):
        reduction.wait(timeout=20)
    return refs, reduction


def test_a_failure_leaves_what_others_have_put() -> None:
    target = hoplite.ray.put(np.full(3, 7.0))
    unlike(target)
    assert list(hoplite.ray.get(target, timeout=20)) == [7, 7, 7]


def test_a_failure_keeps_no_sources() -> None:
    def ids() -> list[hoplite.ObjectId]:
        return [ref.id for ref in unlike()[0]]

    gc.disable()  # or a cycle would be found by chance
    try:
        failed = ids()
        wait_until(lambda: not any(map(id_exists, failed)), "the sources are deleted")
    finally:
        gc.enable()


def test_the_first_of_several_and_which_they_were() -> None:
    refs = [hoplite.ray.new_ref() for _ in range(4)]
    reduction = hoplite.ray.reduce(refs, op="max", num_objects=2)
    with pytest.raises(TimeoutError, match="has not begun"):
        reduction.wait(timeout=0.2)
    for number in (3, 1):
        put_here.options(resources=THERE).remote(np.full(BIG, number), refs[number])
    assert (reduction.get(timeout=20) == 3).all()
    assert set(reduction.used) == {refs[1], refs[3]}
    assert set(reduction.unused) == {refs[0], refs[2]}


def test_a_source_that_has_failed_is_left_out_and_named() -> None:
    wrong, right = hoplite.ray.new_ref(), hoplite.ray.put(np.full(BIG, 2.0))
    hoplite.ray.fail(wrong, OSError("no disk"))
    reduction = hoplite.ray.reduce([wrong, right], num_objects=1)
    assert reduction.get(timeout=20)[0] == 2.0 and reduction.used == [right]
    assert list(reduction.failed) == [wrong] and "no disk" in str(reduction.failed[wrong])


def test_sources_that_nobody_else_has_are_kept_until_the_end() -> None:
    late = hoplite.ray.new_ref()
    refs = ones_everywhere(2)
    target = hoplite.ray.reduce([*refs, late]).ref
    del refs
    with pytest.raises(TimeoutError):
        hoplite.ray.get(target, timeout=1.0)
    hoplite.ray.put(np.ones(BIG, np.float32), late)
    assert (hoplite.ray.get(target, timeout=20) == 3).all()


def test_the_result_goes_to_tasks() -> None:
    @remote(resources=THERE)
    def add_up(refs: Any) -> Any:
        reduction = hoplite.ray.reduce(refs).wait(timeout=20)
        return reduction.ref

    ref = ray.get(add_up.remote(ones_everywhere(3)))
    assert (hoplite.ray.get(ref, timeout=20) == 3).all()


@pytest.mark.parametrize(
    ("other", "named"),
    [
        (np.ones(BIG, np.int32), "int32"),
        (np.ones((2, BIG // 2), np.float32), rf"\(2, {BIG // 2}\)"),
        (np.asfortranarray(np.ones((2, BIG // 2), np.float32)), "Fortran"),
        (b"\0" * 4 * BIG, "no array"),
    ],
)
def test_arrays_that_differ_are_refused_and_both_are_named(other: Any, named: str) -> None:
    one, two = hoplite.ray.put(np.ones(BIG, np.float32)), hoplite.ray.put(other)
    with pytest.raises(
        hoplite.InvalidArgumentError, match=rf"{one.hex()}.*float32.*{two.hex()}.*{named}"
    ):
        hoplite.ray.reduce([one, two])


def test_one_that_differs_and_comes_later_ends_it() -> None:
    one, two = hoplite.ray.put(np.ones(BIG, np.float32)), hoplite.ray.new_ref()
    reduction = hoplite.ray.reduce([one, two])
    hoplite.ray.put(np.ones(BIG, np.int32), two)
    with pytest.raises(hoplite.InvalidArgumentError, match=r"float32.*int32"):
        reduction.wait(timeout=20)
    with pytest.raises(hoplite.InvalidArgumentError, match=r"float32.*int32"):
        hoplite.ray.get(reduction.ref, timeout=20)


def test_dicts_are_reduced_leaf_by_leaf() -> None:
    values = [{"a": np.full(BIG, i, np.float32), "b": [np.full(3, i, np.float32)]} for i in (1, 2)]
    here, there = (
        put_here.options(resources=place).remote(value)
        for place, value in zip((HERE, THERE), values, strict=True)
    )
    refs = ray.get([here, there])
    total = hoplite.ray.reduce(refs).get(timeout=20)
    assert (total["a"] == 3).all() and (total["b"][0] == 3).all()
    other = hoplite.ray.put({"a": values[0]["a"], "b": [np.ones(4, np.float32)]})
    with pytest.raises(hoplite.InvalidArgumentError, match=r"\['b'\]\[0\] is array float32 \(3,\)"):
        hoplite.ray.reduce([refs[0], other])
    with pytest.raises(hoplite.InvalidArgumentError, match=r"\['loss'\] is of type float"):
        hoplite.ray.reduce([hoplite.ray.put({"a": values[0]["a"], "loss": np.float32(1)})])


def test_what_can_not_be_reduced() -> None:
    with pytest.raises(hoplite.InvalidArgumentError, match="no Refs"):
        hoplite.ray.reduce([])
    with pytest.raises(hoplite.InvalidArgumentError, match="no array"):
        hoplite.ray.reduce([hoplite.ray.put(b"abc")])
    with pytest.raises(hoplite.InvalidArgumentError, match="complex64"):
        hoplite.ray.reduce([hoplite.ray.put(np.ones(3, np.complex64))])
