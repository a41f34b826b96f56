"""What the tests of hoplite.dask share: a Dask cluster on this machine, and looks into it."""

from __future__ import annotations

import gc
import os
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import hoplite
import pytest

distributed = pytest.importorskip(
    "distributed", reason="Dask is not installed (python_bindings/tests/requirements-dask.txt)"
)
import dask  # noqa: E402 - where there is distributed
import hoplite.dask  # noqa: E402 - needs Dask
from hoplite._host import Host  # noqa: E402
from hoplite._host_node import folder  # noqa: E402
from hoplite.dask import _share  # noqa: E402

ROOT = Path(__file__).parents[2]
# Of the node, and a key that has no room in it.
MEMORY, TOO_LARGE = "64MiB", 80 << 20
SECONDS = 30.0
CONFIGURATION = {
    # Else Dask closes a nanny whose worker happens to be away so long after it was killed once.
    "distributed.deploy.lost-worker-timeout": "1h",
    # Else it drops copies in the middle of a test.
    "distributed.scheduler.active-memory-manager.start": False,
}


def install(folder: Path) -> None:
    """The package's entry points, as pip would: workers are processes that import nothing else."""
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (entries,) = (
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in points.items())
        for group, points in stated["entry-points"].items()
        if group.startswith("distributed")
    )
    info = folder / f"hoplite-{stated['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Name: hoplite\nVersion: {stated['version']}\n")
    (info / "entry_points.txt").write_text(entries)
    sys.path.append(str(folder))


@contextmanager
def workers(count: int, **options: Any) -> Iterator[Any]:
    """A client of a cluster of so many worker processes, each with one thread."""
    settings = {"threads_per_worker": 1, "dashboard_address": ":0", "protocol": "hoplite://"}
    with (
        dask.config.set(CONFIGURATION),
        distributed.LocalCluster(n_workers=count, **settings, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def addresses(client: Any) -> list[str]:
    """Of the workers, in order. (`scheduler_info` may answer what the client itself asks from time
    to time, which names none.)"""
    return sorted(client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.workers)))


def made(client: Any, worker: str, function: Callable[..., Any], *args: Any) -> Any:
    """The future of a value that this worker has; another one may make it if that dies."""
    where = {"workers": [worker], "allow_other_workers": True, "pure": False}
    future = client.submit(function, *args, **where)
    distributed.wait(future, timeout=SECONDS)
    return future


def used(client: Any, worker: str, function: Callable[..., Any], *args: Any) -> Any:
    """What the function gives on this worker."""
    future = client.submit(function, *args, workers=[worker], pure=False)
    return future.result(timeout=SECONDS)


def ids(client: Any) -> dict[str, list[str]]:
    """Key -> the objects that workers have of it, one for each worker and frame."""

    async def known() -> list[tuple[str, str]]:
        gc.collect()
        share = _share.here()
        entries = share._entries.items() if share is not None else ()
        return [(place[0], entry.id.hex()) for place, entry in entries]

    found: dict[str, list[str]] = {}
    for answer in client.run(known).values():
        for key, id in answer:
            found.setdefault(key, []).append(id)
    return found


def name(client: Any) -> str:
    """Of the Hoplite cluster."""

    def of_plugin(dask_scheduler: Any) -> str:
        cluster: str = dask_scheduler.plugins["hoplite-directory"].cluster
        return cluster

    found: str = client.run_on_scheduler(of_plugin)
    return found


def socket(client: Any) -> Path:
    """Of the host's node."""
    host = Host(name(client), "127.0.0.1", folder("dask"), Path())
    return host.socket("127.0.0.1")


def objects(client: Any) -> int:
    """How many there are, owned ones too."""
    with hoplite.connect(socket(client)) as probe:
        return len(probe.status(timeout=SECONDS).objects)


def wait_until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"not within {SECONDS} s: {what}"
        time.sleep(0.05)


def pids(client: Any) -> dict[str, int]:
    """Of the workers."""
    found: dict[str, int] = client.run(os.getpid)
    return found
