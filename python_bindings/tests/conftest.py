"""Clusters of real processes for the tests."""

from __future__ import annotations

from collections.abc import Iterator

import hoplite
import pytest


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
