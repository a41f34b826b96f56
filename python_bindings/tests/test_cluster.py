"""Clusters of processes: they start, lose members, and leave nothing behind."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import hoplite
import numpy as np
import pytest
from hoplite import LocalCluster

QUIET = """
import numpy as np, hoplite
with hoplite.LocalCluster(nodes=2, memory="16MiB") as cluster:
    a, b = cluster.connect(0), cluster.connect(1)
    x, y = a.put(np.arange(10, dtype=np.float32)), b.put(np.ones(10, dtype=np.float32))
    view = b.get(x, timeout=5.0)
    total = a.get(a.reduce([x, y], op="sum").target, timeout=5.0)
"""


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


@pytest.mark.parametrize(
    ("nodes", "memory", "why"),
    [
        (0, "16MiB", "nodes: 0"),
        (1, "a lot", "hoplite node: --memory: .*'a lot'"),
        (1, "10", "hoplite node: .*--memory: 10 bytes .*is below the least"),
    ],
)
def test_what_can_not_start(
    nodes: int, memory: str, why: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(hoplite.InvalidArgumentError, match=why):
        LocalCluster(nodes=nodes, memory=memory)
    assert capfd.readouterr().err == ""


def test_a_node_that_can_not_have_so_much_memory() -> None:
    with pytest.raises(hoplite.ResourceExhaustedError, match="hoplite node: "):
        LocalCluster(nodes=1, memory=1 << 50)


def test_nothing_is_said_where_nothing_is_wrong() -> None:
    """Not at the end either, when clients are still there."""
    done = subprocess.run([sys.executable, "-c", QUIET], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_what_a_process_says_later_is_passed_on() -> None:
    done = subprocess.run(
        [sys.executable, "-c", QUIET],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "HOPLITE_LOG": "info"},
    )
    assert "n0: serves at" in done.stderr and "directory shard 0 is joined" in done.stderr


def test_only_nodes_that_there_are(cluster: LocalCluster) -> None:
    assert len(cluster) == 2
    for index in (-1, 2):
        with pytest.raises(IndexError):
            cluster.connect(index)


def test_the_program_of_the_package() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hoplite", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"hoplite {hoplite.__version__}\n"


def test_library_package_and_wheel_are_of_one_version() -> None:
    root = Path(__file__).parents[2]
    lists = (root / "CMakeLists.txt").read_text()
    declared = re.search(r"project\(hoplite VERSION ([\d.]+)", lists)
    wheel = tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]
    assert declared is not None
    assert hoplite.__version__ == declared[1] == wheel
