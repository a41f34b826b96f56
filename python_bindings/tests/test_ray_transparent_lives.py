"""Objects of transparent mode live as long as Ray's values: what dies with what, and nothing is
left."""

from __future__ import annotations

import gc
import os
import signal
from pathlib import Path
from typing import Any

import hoplite
import numpy as np
import pytest
from ray_cluster import (
    HERE,
    LIMIT,
    THERE,
    add_host,
    ray,
    remote,
    used_bytes,
    wait_until,
    whole_objects,
)
from test_ray_failures import daemons
from test_ray_transparent import lines_of, start

pytestmark = pytest.mark.usefixtures("transparent_hosts")

ARRAY = np.arange(20_000, dtype=np.float64)


@pytest.fixture
def nothing_left() -> Any:
    """Afterwards there are no objects but those of before, and no pins: the stores hold no more."""
    gc.collect()
    before, used = whole_objects(), used_bytes()
    yield
    gc.collect()
    wait_until(lambda: whole_objects() <= before, "the objects are deleted", 40)
    wait_until(lambda: used_bytes() <= used, "their memory is free", 20)


@pytest.mark.usefixtures("nothing_left")
def test_nothing_is_left_of_a_thousand_tasks() -> None:
    @remote(num_cpus=2)
    def same(array: Any) -> Any:
        return array

    for _ in range(10):
        calls = [
            same.options(resources=HERE if call % 10 else THERE).remote(ARRAY)
            for call in range(100)
        ]
        assert all(np.array_equal(one, ARRAY) for one in ray.get(calls, timeout=100))


def define_mortal() -> Any:
    """Inside a function, so that it travels by value: workers can't import this file."""

    class Mortal:
        def __init__(self, array: Any) -> None:
            self.array = array

        def pid(self) -> int:
            return os.getpid()

        def give(self, factor: float = 1.0) -> Any:
            return self.array * factor

        def put(self) -> list[Any]:
            self.ref = ray.put(self.array)
            return [self.ref]

    return Mortal


@pytest.mark.usefixtures("nothing_left")
def test_results_outlive_their_worker_and_what_it_put_does_not() -> None:
    mortals = [remote(resources=THERE)(define_mortal()).remote(ARRAY) for _ in range(3)]
    pids = ray.get([one.pid.remote() for one in mortals], timeout=60)
    results = [one.give.remote(2.0) for one in mortals]
    put = [ray.get(one.put.remote())[0] for one in mortals]
    assert len(ray.wait(results, num_returns=3, timeout=60)[0]) == 3
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    for one in put:
        with pytest.raises(ray.exceptions.OwnerDiedError):
            wait_until(lambda one=one: ray.get(one, timeout=30) is None, "it is lost")  # type: ignore[misc]
    assert all(np.array_equal(one, 2 * ARRAY) for one in ray.get(results, timeout=60))


@pytest.mark.usefixtures("nothing_left")
def test_a_task_that_is_tried_again_gets_its_array_again(tmp_path: Path) -> None:
    @remote(max_retries=2, resources=THERE)
    def third_time(array: Any, notes: Path) -> Any:
        with notes.open("a") as file:
            file.write("x")
        if len(notes.read_text()) < 3:
            ray.put(array + 1)
            os._exit(1)
        return array + 1

    got = ray.get(third_time.remote(ARRAY, tmp_path / "tries"), timeout=60)
    assert np.array_equal(got, ARRAY + 1)


@pytest.mark.usefixtures("nothing_left")
def test_an_actor_that_is_started_again_gets_its_array_again() -> None:
    kind = remote(max_restarts=1, max_task_retries=2, resources=THERE)(define_mortal())
    weights = ray.put(ARRAY)
    actor = kind.remote(weights)
    pid = ray.get(actor.pid.remote(), timeout=60)
    os.kill(pid, signal.SIGKILL)
    assert np.array_equal(ray.get(actor.give.remote(3.0), timeout=60), 3 * ARRAY)
    assert ray.get(actor.pid.remote()) != pid


def test_a_result_that_was_lost_is_made_again_of_its_array(transparent_hosts: Any) -> None:
    """One that Ray holds: Ray runs its task again, and keeps the argument for that."""

    @remote(resources={"lost": 0.001})
    def padded(array: Any) -> Any:
        return bytes(300_000), float(array.sum())

    first = add_host(transparent_hosts, "lost")
    made = padded.remote(ARRAY)
    assert ray.wait([made], timeout=60, fetch_local=False)[0]
    transparent_hosts.remove_node(first)
    second = add_host(transparent_hosts, "lost")
    try:
        assert ray.get(made, timeout=60)[1] == ARRAY.sum()
    finally:
        del made
        transparent_hosts.remove_node(second)


def test_a_host_without_the_package_is_named(transparent_hosts: Any) -> None:
    """And a user's own setup hook is called in workers."""
    program = f"""
import os, ray, hoplite, hoplite.ray

def theirs():
    os.environ["THEIRS"] = "called"

ray.init(runtime_env=hoplite.ray.runtime_env(
    "{LIMIT}", {{"worker_process_setup_hook": theirs}}
))
try:
    hoplite.ray.init(transparent="{LIMIT}", memory="16MiB")
except hoplite.UnavailableError as error:
    print("said:", error)
told = ray.remote(lambda: os.environ["THEIRS"]).options(num_cpus=0, resources={{"here": 0.001}})
print("said:", ray.get(told.remote(), timeout=60))
"""
    lacks = add_host(transparent_hosts, "lacks", env_vars={"PYTHONPATH": ""})
    try:
        printed = lines_of(start(["-c", program], transparent_hosts.address))
    finally:
        transparent_hosts.remove_node(lacks)
    error, theirs = [line for line in printed if line.startswith("said:")]
    host = ray.nodes()[0]["NodeManagerHostname"]
    assert f"no keeper starts on host {host} (" in error
    assert "No module named 'hoplite'" in error and theirs == "said: called"


def test_what_is_put_and_returned_travels_once_there_is_another_node() -> None:
    printed = lines_of(start([str(Path(__file__).with_name("ray_joining.py"))], ""))
    whole, more = 1249975000.0, 1250025000.0
    assert printed == [
        "alone 0",
        f"argument 1 {whole}",
        f"there {whole} {more} {whole}",
        "returned 1.0 1",
    ]


def test_a_hoplite_node_that_is_killed_is_back_without_its_objects() -> None:
    @remote(resources=THERE)
    def first(array: Any) -> Any:
        return array + 1.0

    kept, lost = ray.put(ARRAY), first.remote(ARRAY)
    assert ray.wait([lost], timeout=60)[0]
    node_id = next(one["NodeID"] for one in ray.nodes() if "there" in one["Resources"])
    (node,) = daemons("node", f"ray-{node_id[:12]}")
    os.kill(node, signal.SIGKILL)
    with pytest.raises(ray.exceptions.RaySystemError, match="was lost"):
        ray.get(lost, timeout=60)
    for _ in range(3):
        assert np.array_equal(ray.get(first.remote(kept), timeout=60), ARRAY + 1.0)


def test_an_array_that_was_lost_is_said_to_be() -> None:
    """Whoever reads it gets an error, and does not wait."""
    before = whole_objects()
    ref = ray.put(ARRAY)
    hoplite.ray.client().delete(whole_objects() - before)
    with pytest.raises(ray.exceptions.RaySystemError, match="travel by Hoplite is gone"):
        ray.get(ref, timeout=30)
