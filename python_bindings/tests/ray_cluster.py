"""What the tests of hoplite.ray share: two Ray nodes on this machine, and what may run there."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import hoplite
import pytest

# Else Ray leaves a token in the user's home.
os.environ.setdefault("RAY_AUTH_MODE", "disabled")

ray = pytest.importorskip(
    "ray", reason="Ray is not installed (python_bindings/tests/requirements-ray.txt)"
)
import hoplite.ray  # noqa: E402 - needs Ray

MEMORY = 100_000_000
HERE = {"here": 0.001}
THERE = {"there": 0.001}


def two_hosts() -> Iterator[Any]:
    """The fixture of that name."""
    from ray.cluster_utils import Cluster  # noqa: PLC0415 - where there is Ray

    cluster = Cluster()
    for name in ("here", "there"):
        add_host(cluster, name)
    ray.init(address=cluster.address, log_to_driver=False)
    try:
        hoplite.ray.init(memory="64MiB")
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()


def remote(**options: Any) -> Callable[[Any], Any]:
    """ray.remote of what takes no processor, unless it says so."""
    made: Callable[[Any], Any] = ray.remote(**{"num_cpus": 0, **options})
    return made


def add_host(cluster: Any, name: str) -> Any:
    """A Ray node on which what asks for the resource `name` runs."""
    return cluster.add_node(
        num_cpus=4, resources={name: 1}, object_store_memory=MEMORY, include_dashboard=False
    )


def wait_until(condition: Callable[[], bool], what: str, seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.05)


def exists(ref: hoplite.ray.Ref) -> bool:
    """Whether it lies anywhere; asks without holding a Ref of its own."""
    return id_exists(ref.id)


def id_exists(id: hoplite.ObjectId) -> bool:
    try:
        hoplite.ray._job.client().info(id)
    except (hoplite.NotFoundError, hoplite.ObjectDeletedError):
        return False
    return True
