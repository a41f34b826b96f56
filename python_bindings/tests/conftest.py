"""Clusters of real processes for the tests."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hoplite
import pytest

# The tests of the examples import them, and so do the workers of their cluster.
EXAMPLES = Path(__file__).parents[2] / "examples"
PROGRAMS = [str(EXAMPLES / name) for name in ("plugins", "ray", "workloads")]
sys.path += PROGRAMS
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), *PROGRAMS]))


# A store, how many float64 arrays, and their elements: 24 of 64 MB.
LARGER_THAN_MEMORY = pytest.param(
    *("1GiB", 24, 8_000_000),
    marks=pytest.mark.skipif(
        "HOPLITE_EIGHTH" in os.environ, reason="scripts/test.sh --all plays it"
    ),
)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where scripts/test.sh plays an eighth of the histories, every other test of Ray, which take
    longest, is left for a later commit, and counted as deselected; of Ray's own programs all but
    one are."""
    eighth = os.environ.get("HOPLITE_EIGHTH")
    if eighth is None:
        return
    of_ray = [item for item in items if item.path.name.startswith("test_ray")]
    programs = [item for item in of_ray if item.path.name == "test_ray_transparent_programs.py"]
    left = [item for item in of_ray if item not in programs][int(eighth) % 2 :: 2]
    if programs:
        kept = programs[int(eighth) % len(programs)]
        left += [item for item in programs if item is not kept]
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if item not in left]


@pytest.fixture(scope="module")
def cluster() -> Iterator[hoplite.LocalCluster]:
    """Two nodes, shared by the tests of a file."""
    with hoplite.LocalCluster(nodes=2, memory="64MiB") as two:
        yield two


@pytest.fixture
def here(cluster: hoplite.LocalCluster) -> Iterator[hoplite.Client]:
    """A client of the first node."""
    with cluster.connect(0) as client:
        yield client


@pytest.fixture
def there(cluster: hoplite.LocalCluster) -> Iterator[hoplite.Client]:
    """A client of the second node."""
    with cluster.connect(1) as client:
        yield client


@pytest.fixture(scope="session")
def two_hosts() -> Iterator[Any]:
    """A Ray cluster of two nodes, with Hoplite; the driver is at the first. All files share it: a
    test that kills something waits until it is there again."""
    import ray_cluster  # noqa: PLC0415 - where there is Ray

    yield from ray_cluster.two_hosts()


@pytest.fixture(scope="session")
def transparent_hosts() -> Iterator[Any]:
    """The same, with Hoplite in transparent mode. (A process is the driver of one of them.)"""
    import ray_cluster  # noqa: PLC0415 - where there is Ray

    yield from ray_cluster.transparent_hosts()
