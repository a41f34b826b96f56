"""An object goes when nobody has a Ref to it any more, by Ray's own counting, and not before."""

from __future__ import annotations

import gc
import os
import time
from typing import Any

import hoplite
import numpy as np
import pytest
from ray_cluster import THERE, id_exists, objects, ray, remote, wait_until
from test_leaks import descriptors, resident_bytes

pytestmark = pytest.mark.usefixtures("two_hosts")

# Refs before the first look: Ray's pools and threads are there then.
WARM_UP = 1000
# What the measure of memory is off by: Ray keeps some, and allocators keep pages back.
MEMORY_SLACK = 8 << 20
# Longer than a host needs to tell another that it has a Ref no more.
A_WHILE = 0.3


def define_keeper() -> Any:
    """Inside a function, so that it travels by value: workers can't import this file."""

    class Keeper:
        """Has Refs until it is told otherwise."""

        def __init__(self) -> None:
            self.kept: Any = None

        def keep(self, what: Any) -> None:
            self.kept = what

        def first(self) -> float:
            return float(hoplite.ray.get(self.kept[0], timeout=30)[0])

        def make(self) -> Any:
            return hoplite.ray.put(np.ones(100_000))

    return remote()(Keeper)


Keeper = define_keeper()


@remote()
def slowly(ref: Any, seconds: float) -> float:
    time.sleep(seconds)
    return float(hoplite.ray.get(ref, timeout=30)[0])


def goes(id: hoplite.ObjectId) -> None:
    gc.collect()
    wait_until(lambda: not id_exists(id), f"{id} is deleted")


def stays(id: hoplite.ObjectId) -> None:
    gc.collect()
    time.sleep(A_WHILE)
    goes(hoplite.ray.put(b"nobody has this").id)  # what was to be deleted before is deleted
    assert id_exists(id)


def kept_by_an_actor() -> tuple[Any, hoplite.ObjectId]:
    """An actor of the other host, and an object that nobody but it has."""
    keeper = Keeper.options(resources=THERE).remote()
    ref = hoplite.ray.put(np.ones(100_000))
    ray.get(keeper.keep.remote([ref]))
    id = ref.id
    del ref
    stays(id)
    return keeper, id


def test_it_goes_with_the_last_ref_of_its_maker() -> None:
    ref = hoplite.ray.put(np.ones(100_000))
    second, id = ref, ref.id
    del ref
    stays(id)
    view = hoplite.ray.get(second, timeout=30)
    del second
    goes(id)
    assert view[0] == 1.0  # views stay readable


def test_an_actor_that_keeps_it_has_it() -> None:
    keeper, id = kept_by_an_actor()
    assert ray.get(keeper.first.remote()) == 1.0
    ray.get(keeper.keep.remote(None))
    goes(id)


def test_an_actor_that_is_killed_has_it_no_more() -> None:
    keeper, id = kept_by_an_actor()
    ray.kill(keeper)
    goes(id)


def test_tasks_that_are_still_to_run_have_it() -> None:
    ref = hoplite.ray.put(np.ones(100_000))
    id = ref.id
    tasks = [slowly.options(num_cpus=1).remote(ref, 0.3) for _ in range(20)]
    del ref
    assert ray.get(tasks) == [1.0] * 20
    goes(id)


def test_inside_another_object_of_ray() -> None:
    ref = hoplite.ray.put(np.ones(100_000))
    id = ref.id
    box = ray.put({"ref": ref})
    del ref
    stays(id)
    ref = ray.get(box)["ref"]
    del box
    stays(id)
    del ref
    goes(id)


def test_one_made_by_an_actor_goes_when_the_driver_has_it_no_more() -> None:
    maker = Keeper.options(resources=THERE).remote()
    ref = ray.get(maker.make.remote())
    id = ref.id
    stays(id)
    assert hoplite.ray.get(ref, timeout=30)[0] == 1.0
    del ref
    goes(id)


def test_the_target_of_a_reduction_goes_and_its_sources_do() -> None:
    refs = [hoplite.ray.put(np.ones(100_000)) for _ in range(2)]
    reduction = hoplite.ray.reduce(refs)
    assert reduction.get(timeout=20)[0] == 2.0
    ids = [reduction.ref.id, *(ref.id for ref in refs)]
    del refs, reduction
    for id in ids:
        goes(id)


def make_and_drop(count: int) -> None:
    """So many Refs: some of objects in shared memory, some of what is never put."""
    large, small = np.ones(10_000), np.ones(10)
    for _ in range(count // 100):
        refs = [hoplite.ray.put(large if number < 5 else small) for number in range(90)]
        refs += [hoplite.ray.new_ref() for _ in range(10)]
        assert hoplite.ray.get(refs[0], timeout=30)[0] == 1.0


def test_ten_thousand_leave_nothing() -> None:
    def looks() -> tuple[int, int]:
        return descriptors(os.getpid()), resident_bytes(os.getpid())

    make_and_drop(WARM_UP)
    goes(hoplite.ray.put(b"nobody has this").id)  # nor, soon, those before
    known = objects()
    files, memory = looks()
    make_and_drop(10_000)
    gc.collect()
    wait_until(lambda: objects() <= known, "all are deleted")
    files_after, memory_after = looks()
    assert files_after <= files + 2  # Ray opens and closes some of its own
    assert memory_after < memory + MEMORY_SLACK
