"""The back end of torch.distributed: each collective at three ranks, and what it refuses."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hoplite import LocalCluster

pytest.importorskip("torch", reason="PyTorch is not installed")
import torch_ranks
from torch_ranks import Rank, run


@pytest.fixture(scope="module")
def nodes() -> Iterator[LocalCluster]:
    with LocalCluster(nodes=3, memory="128MiB") as three:
        yield three


@pytest.fixture(scope="module")
def three(nodes: LocalCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Rank]]:
    """Ranks, each with a node of its own."""
    with torch_ranks.ranks(3, tmp_path_factory.mktemp("ranks"), nodes) as ranks:
        yield ranks


@pytest.mark.parametrize(
    "case",
    [
        *("reductions", "movements", "splits", "layouts", "objects", "later", "messages"),
        *("coalesced", "functions", "subgroups", "again", "callbacks_that_wait"),
    ],
)
def test_every_rank_gets_what_it_should(three: list[Rank], case: str) -> None:
    run(three, case)


def test_tags_that_are_not_used_any_more_keep_no_thread(three: list[Rank]) -> None:
    assert max(run(three, "many_tags")) < 50


def test_a_thousand_collectives_leave_nothing(three: list[Rank], nodes: LocalCluster) -> None:
    run(three, "joined")
    with nodes.connect(0) as probe:
        before = {one.id for one in probe.status(timeout=30).objects}
        run(three, "thousand")
        torch_ranks.until(
            lambda: {one.id for one in probe.status(timeout=30).objects} <= before,
            "the objects of a group that was destroyed are gone",
        )


def test_what_can_not_travel_is_refused_in_words(three: list[Rank]) -> None:
    words = [
        *("torch.complex64: complex ones travel as", "a tensor on meta: only tensors in the proc"),
        *("torch.sparse_coo: neither sparse", "AVG of torch.int32 tensors", "bitwise and of torch"),
        *("mean of torch.bool", "has 1 tensors, but the group has 3", "3 times 2 of torch.float32"),
        "4 rows, which do not split evenly among 3 ranks",
    ]
    for said in run(three, "refused"):
        assert all(map(re.search, words, said)), said


def test_tensors_that_differ_raise_at_every_rank(three: list[Rank]) -> None:
    said = run(three, "differing")
    for of_rank in said:
        differ = (
            r"rank.* is float(32|64) \(\d+,\), but (the object|rank \d) is float(32|64) \(\d+,\)"
        )
        assert all(re.search(differ, one) for one in of_rank), of_rank
    assert "rank 1 is float32 (50000,)" in said[2][3]
    assert "tensor for rank 1 is float32 (4,), but the object is float32 (3,)" in said[2][0]


def test_what_has_no_room_raises_at_every_rank(three: list[Rank]) -> None:
    for said in run(three, "too_large"):
        assert all("128.0 MiB" in one for one in said), said


def test_timeouts_name_who_was_missing(three: list[Rank]) -> None:
    said, *_ = run(three, "late")
    for of_collective in said[:3]:
        assert "timed out: 0.3 s were not enough for ranks 1, 2" in of_collective
    assert "not enough for rank 2" in said[3]
    assert "timed out: not done after 0.1 s" in said[4]


UNMODIFIED = """
import sys, torch, torch.distributed as dist
assert "hoplite.torch" not in sys.modules
dist.init_process_group("hoplite", init_method=sys.argv[1], rank=0, world_size=1)
ones = torch.ones(3)
dist.all_reduce(ones)
print(dist.get_backend(), ones.tolist())
dist.destroy_process_group()
"""


def test_a_program_needs_no_import_where_the_package_is_installed(tmp_path: Path) -> None:
    """PyTorch calls the entry points of what is installed: here a folder that says so."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    entry = project["entry-points"]["torch.backends"]["hoplite"]
    said = tmp_path / "hoplite-0.1.0.dist-info"
    said.mkdir()
    (said / "METADATA").write_text("Metadata-Version: 2.1\nName: hoplite\nVersion: 0.1.0\n")
    (said / "entry_points.txt").write_text(f"[torch.backends]\nhoplite = {entry}\n")
    paths = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    ended = subprocess.run(
        [sys.executable, "-c", UNMODIFIED, f"file://{tmp_path}/rendezvous"],
        env=os.environ | {"PYTHONPATH": paths, "HOPLITE_MEMORY": "16MiB"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert ended.stdout == "hoplite [1.0, 1.0, 1.0]\n", ended.stderr


def test_without_torch_the_error_says_what_to_install() -> None:
    program = "import sys; sys.modules['torch'] = None; import hoplite.torch"
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert "hoplite.torch needs PyTorch: pip install 'torch==2.13.0'" in ended.stderr
