"""Clusters of processes: they start, lose members, and leave nothing behind."""

from __future__ import annotations

import os
import subprocess
import sys

import hoplite
import numpy as np
import pytest
from hoplite import LocalCluster


def test_a_node_that_dies_and_comes_back() -> None:
    with LocalCluster(nodes=3, memory="32MiB") as cluster:
        one, two = cluster.connect(0), cluster.connect(1)
        name = one.put(np.arange(1_000_000))
        view = two.get(name, timeout=10)
        cluster.kill(0)
        with pytest.raises(hoplite.UnavailableError):
            one.put(b"late")
        third = cluster.connect(2)
        np.testing.assert_array_equal(third.get(name, timeout=10), view)
        cluster.restart(0)
        np.testing.assert_array_equal(cluster.connect(0).get(name, timeout=10), view)


def test_nothing_is_left() -> None:
    cluster = LocalCluster(nodes=2, memory="16MiB")
    folder = os.path.dirname(cluster.socket(0))
    pids = [node.pid for node in cluster._nodes if node is not None]
    assert os.path.isdir(folder) and all(os.path.exists(f"/proc/{pid}") for pid in pids)
    cluster.close()
    cluster.close()
    assert not os.path.exists(folder)
    assert not any(os.path.exists(f"/proc/{pid}") for pid in pids)


@pytest.mark.parametrize(("nodes", "memory"), [(0, "16MiB"), (1, "a lot"), (1, "10")])
def test_what_can_not_start(nodes: int, memory: str) -> None:
    with pytest.raises(hoplite.HopliteError):
        LocalCluster(nodes=nodes, memory=memory)


def test_only_nodes_that_there_are(cluster: LocalCluster) -> None:
    assert len(cluster) == 2
    for index in (-1, 2):
        with pytest.raises(IndexError):
            cluster.connect(index)


def test_the_program_of_the_package() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hoplite", "--version"], capture_output=True, text=True, check=True
    )
    assert "0.1.0" in done.stdout
