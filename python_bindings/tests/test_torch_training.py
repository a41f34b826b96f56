"""Programs that train over the back end of torch.distributed: to the losses that Gloo has."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hoplite import LocalCluster

pytest.importorskip("torch", reason="PyTorch is not installed")
import torch_ranks
from torch_ranks import Rank, run


@pytest.fixture
def two(cluster: LocalCluster, tmp_path: Path) -> Iterator[list[Rank]]:
    with torch_ranks.ranks(2, tmp_path, cluster) as ranks:
        yield ranks


def test_losses_are_those_of_gloo(two: list[Rank]) -> None:
    for case in ("data_parallel", "sharded", "power_sgd"):
        for losses in run(two, case):
            assert losses["hoplite"] == pytest.approx(losses["gloo"], abs=1e-5)
    for losses in run(two, "data_parallel"):
        assert losses["gloo"] < 0.5  # it has learnt something


def test_a_rank_that_dies_ends_training_with_an_error(two: list[Rank]) -> None:
    """And not with a segmentation fault."""
    for rank in two:
        rank.tell("train_for_ever")
    time.sleep(1.0)  # anywhere in it
    two[1].kill()
    died = time.monotonic()
    raised = two[0].answer()["raised"]
    assert time.monotonic() - died < torch_ranks.HEARD_IN
    assert re.search("rank 1 has died", raised)


def test_the_programs_of_the_page_run(tmp_path: Path) -> None:
    """The first one by torchrun, whose ranks start a node and a directory."""
    page = (Path(__file__).parents[2] / "docs" / "torch.md").read_text()
    train, store = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert "\ntorchrun --nproc-per-node 2 train.py\n" in page
    (tmp_path / "train.py").write_text(train)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    subprocess.run([*torchrun, "--nproc-per-node", "2", tmp_path / "train.py"], check=True)
    (tmp_path / "store.py").write_text(store)
    subprocess.run([sys.executable, tmp_path / "store.py"], check=True)
