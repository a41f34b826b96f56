"""What the tests of hoplite.ray share: two Ray nodes on this machine, and what may run there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import hoplite
import pytest

# Else Ray leaves a token in the user's home.
os.environ.setdefault("RAY_AUTH_MODE", "disabled")
# Two programs of these tests run at a time. Ray's folder names a cluster that others would find.
os.environ.setdefault("RAY_TMPDIR", tempfile.mkdtemp(prefix="ray-"))
# Else Ray takes a raylet for dead that gets no processor for some seconds, and ends its processes.
os.environ.setdefault("RAY_health_check_failure_threshold", "100")

ray = pytest.importorskip(
    "ray", reason="Ray is not installed (python_bindings/tests/requirements-ray.txt)"
)
import hoplite.ray  # noqa: E402 - needs Ray

MEMORY = 100_000_000
# Seconds for which objects outlive the process that made their Refs.
GRACE = 4.0
# From which size on arrays travel as objects in transparent mode.
LIMIT = "100KiB"
HERE = {"here": 0.001}
THERE = {"there": 0.001}


def two_hosts() -> Iterator[Any]:
    """The fixture of that name."""

    def start(address: str) -> None:
        ray.init(address=address, log_to_driver=False)
        hoplite.ray.init(memory="64MiB", orphan_grace=GRACE)

    yield from _hosts(start)


def transparent_hosts() -> Iterator[Any]:
    """The fixture of that name."""

    def start(address: str) -> None:
        hoplite.ray.init(
            transparent=LIMIT,
            memory="64MiB",
            orphan_grace=GRACE,
            address=address,
            log_to_driver=False,
        )

    yield from _hosts(start)


def _hosts(start: Callable[[str], None]) -> Iterator[Any]:
    """Two, while `start` has connected this process to them."""
    from ray.cluster_utils import Cluster  # noqa: PLC0415 - where there is Ray

    cluster = Cluster()
    for name in ("here", "there"):
        add_host(cluster, name)
    try:
        start(cluster.address)
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()


def remote(**options: Any) -> Callable[[Any], Any]:
    """ray.remote of what takes no processor, unless it says so."""
    made: Callable[[Any], Any] = ray.remote(**{"num_cpus": 0, **options})
    return made


def add_host(cluster: Any, name: str, **options: Any) -> Any:
    """A Ray node on which what asks for the resource `name` runs."""
    return cluster.add_node(
        num_cpus=4,
        resources={name: 1},
        object_store_memory=MEMORY,
        include_dashboard=False,
        **options,
    )


def wait_until(condition: Callable[[], bool], what: str, seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.05)


def id_exists(id: hoplite.ObjectId) -> bool:
    try:
        hoplite.ray._job.client().info(id)
    except (hoplite.NotFoundError, hoplite.ObjectDeletedError):
        return False
    return True


def status() -> Any:
    """What the directory says of nodes and objects."""
    place = hoplite.ray._job.Job.of_this_process().place
    keeper = ray.get_actor(place.directory_name)
    command = [
        "status",
        f"--directory={ray.get(keeper.address.remote())}",
        f"--secret-file={place.host().socket('secret')}",
        "--json",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "hoplite", *command], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def objects() -> set[str]:
    """All that the directory knows: what lies anywhere, and what is owned or waited for."""
    return {one["id"] for one in status()["objects"]}


def whole_objects() -> set[hoplite.ObjectId]:
    """Those that have bytes."""
    known = hoplite.ray.client().status(timeout=20.0).objects
    return {one.id for one in known if one.size_bytes > 0}


def used_bytes() -> int:
    """Of the stores of all nodes."""
    return sum(node["used_bytes"] for node in status()["nodes"])
