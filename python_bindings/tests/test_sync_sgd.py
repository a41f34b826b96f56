"""Synchronous SGD of examples/workloads: it learns, and all ranks have the same weights."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip(
    "torch", reason="PyTorch is not installed (python_bindings/tests/requirements-torch.txt)"
)
pytest.importorskip(
    "sklearn", reason="scikit-learn is not installed (python_bindings/tests/requirements-ray.txt)"
)

# isort: split
import layers
import sync_sgd
import torch

PROGRAM = str(Path(__file__).parents[2] / "examples" / "workloads" / "sync_sgd.py")
TORCHRUN = ["-m", "torch.distributed.run", "--standalone"]
MIB = 1 << 20
BACKENDS = ["gloo", "hoplite"]


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, check=False, timeout=240
    )


def test_three_ranks_learn_digits() -> None:
    losses = [loss_of_three_ranks(backend) for backend in BACKENDS]
    assert losses == pytest.approx([losses[0]] * len(losses), abs=1e-4)


def loss_of_three_ranks(backend: str) -> float:
    done = run(*TORCHRUN, "--nproc-per-node=3", PROGRAM, "--backend", backend)
    assert done.returncode == 0, done.stderr
    assert f"{backend}, 3 ranks, digits" in done.stdout
    hashes = re.findall(r"weights of rank \d: ([0-9a-f]{16})\n", done.stdout)
    assert len(hashes) == 3 and len(set(hashes)) == 1
    found = re.search(r"(\d+\.\d)% of the held-out pictures are read", done.stdout)
    assert found and float(found[1]) >= 95
    loss = re.search(r"loss: (\d\.\d{6})\n", done.stdout)
    assert loss
    return float(loss[1])


def gloo_threads() -> int:
    names = [name.read_text() for name in Path("/proc/self/task").glob("*/comm")]
    return sum("gloo" in name for name in names)


def test_the_gradients_of_a_network_are_averaged(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("MASTER_PORT", "0")
    sync_sgd.start("gloo", 60)
    try:
        trained = sync_sgd.train("resnet50", 3)
        assert gloo_threads() > 0
    finally:
        torch.distributed.destroy_process_group()
    assert gloo_threads() == 0, "one that runs when the interpreter ends aborts the process"
    assert len(trained.seconds) == 3 and trained.read is None
    # Each step leaves nine tenths of what was wanted, half of whose mean square is the loss.
    assert trained.loss == pytest.approx(0.5 * 0.9**6, rel=1e-2)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--steps=0"], "--steps 0: at least 1"),
        ([], "RANK is not set: start it with torchrun"),
        (["--model=lenet"], "invalid choice: 'lenet'"),
    ],
)
def test_what_cannot_be_run_is_said(
    words: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("RANK", raising=False)
    monkeypatch.setattr(sys, "argv", ["sync_sgd.py", *words])
    with pytest.raises(SystemExit):
        sync_sgd.main()
    assert message in capsys.readouterr().err


def test_weights_that_differ_and_a_net_that_reads_too_little_are_errors() -> None:
    different = sync_sgd.Trained([0.1], 0.1, 0.5, None, ["aa", "bb"])
    with pytest.raises(SystemExit, match="different weights: aa bb"):
        sync_sgd.require_right(different, 40)
    unlearned = sync_sgd.Trained([0.1], 0.1, 0.5, 0.5, ["aa", "aa"])
    with pytest.raises(SystemExit, match=r"50.0% .* 95% were expected"):
        sync_sgd.require_right(unlearned, 40)
    sync_sgd.require_right(unlearned, 39)


def test_the_layers_have_the_sizes_of_the_networks() -> None:
    sizes = {name: 4 * sum(layers.counts(name)) / MIB for name in layers.NETWORKS}
    assert sizes == pytest.approx({"alexnet": 233.08, "vgg16": 527.79, "resnet50": 97.49}, abs=0.01)
    parts = {name: 4 * sum(layers.counts(name, 32)) / MIB for name in layers.NETWORKS}
    assert parts == pytest.approx({"alexnet": 7.28, "vgg16": 16.49, "resnet50": 3.05}, abs=0.01)
    assert [len(layers.NETWORKS[name]) for name in layers.NETWORKS] == [16, 32, 161]
