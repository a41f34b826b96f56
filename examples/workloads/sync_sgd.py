"""Synchronous data-parallel training: in each step DDP of PyTorch averages the ranks' gradients.

    torchrun --nproc-per-node 4 sync_sgd.py --backend gloo
    torchrun --nproc-per-node 4 sync_sgd.py --backend gloo --model vgg16

`--model digits` learns handwritten digits. The others have the layers of a well-known network, each
divided by 32, and next to nothing to compute: a step takes as long as its gradients travel.
Prints the time of a step and a hash of each rank's weights, which must be the same.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import hashlib
import importlib
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import torch
import torch.distributed as dist
from layers import NETWORKS, counts
from torch import nn
from torch.nn.parallel import DistributedDataParallel

sys.path.append(str(Path(__file__).resolve().parents[1] / "ray"))

# isort: split
from digits import HELD_OUT, digits

DIVIDED_BY = 32
BATCH = 64
# The part of the held-out pictures that is read after so many steps.
WANTED, LEARNED = 0.95, 40
# Steps before the first that is timed.
WARM_UP = 1
# Steps of which the gradients stay where they are, to time computing.
ALONE = 5
# Seconds that one collective may take.
TIMEOUT = 300.0


class Task(Protocol):
    """What is to be learned; each rank has examples of its own."""

    network: nn.Module

    def optimiser(self) -> torch.optim.Optimizer:
        """Of the network's weights."""

    def loss(self, network: nn.Module) -> torch.Tensor:
        """Of the next examples; network: that of the task, or what DDP makes of it."""

    def verdict(self) -> float | None:
        """The part of the held-out examples that the network reads."""


class Digits:
    """Reads handwritten digits."""

    def __init__(self, rank: int) -> None:
        pictures, labels = digits()
        self._pictures = torch.from_numpy(pictures)
        self._labels = torch.from_numpy(labels.astype("int64"))
        self._random = torch.Generator().manual_seed(rank)
        self.network: nn.Module = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 10))

    def optimiser(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.network.parameters(), 5e-3)

    def loss(self, network: nn.Module) -> torch.Tensor:
        learned_from = len(self._labels) - HELD_OUT
        chosen = torch.randint(learned_from, (BATCH,), generator=self._random)
        return nn.functional.cross_entropy(network(self._pictures[chosen]), self._labels[chosen])

    def verdict(self) -> float:
        with torch.no_grad():
            answers = self.network(self._pictures[-HELD_OUT:]).argmax(dim=1)
        return float((answers == self._labels[-HELD_OUT:]).float().mean())


class Layers(nn.Module):
    """So many numbers in each layer; they are what it answers."""

    def __init__(self, sizes: list[int]) -> None:
        super().__init__()
        self.layers = nn.ParameterList(nn.Parameter(torch.zeros(size)) for size in sizes)

    def forward(self) -> list[torch.Tensor]:
        return list(self.layers)


class Traffic:
    """Gradients of the sizes of a network: its numbers approach the mean of what the ranks want."""

    def __init__(self, rank: int, name: str) -> None:
        random = torch.Generator().manual_seed(rank)
        sizes = counts(name, DIVIDED_BY)
        self._wanted = [torch.randn(size, generator=random) for size in sizes]
        self._count = sum(sizes)
        self.network: nn.Module = Layers(sizes)

    def optimiser(self) -> torch.optim.Optimizer:
        return torch.optim.SGD(self.network.parameters(), 0.1 * self._count)

    def loss(self, network: nn.Module) -> torch.Tensor:
        pairs = zip(network(), self._wanted, strict=True)
        errors = [(layer - wanted).square().sum() for layer, wanted in pairs]
        return 0.5 * torch.stack(errors).sum() / self._count

    def verdict(self) -> None:
        return None


def task(model: str, rank: int) -> Task:
    torch.manual_seed(0)  # all ranks begin alike
    return Digits(rank) if model == "digits" else Traffic(rank, model)


@dataclasses.dataclass
class Trained:
    """What some steps took and brought, on this rank."""

    seconds: list[float]  # of each step after the first
    computing: float  # seconds of a step that sends nothing, the median
    loss: float  # the mean of all ranks, before the last step
    read: float | None
    hashes: list[str]  # of the weights of each rank


def train(model: str, steps: int, group: Any = None) -> Trained:
    """By DDP over the ranks of that process group; None is the default one."""
    learned = task(model, dist.get_rank(group))
    network = DistributedDataParallel(learned.network, process_group=group)
    optimiser = learned.optimiser()

    def step() -> torch.Tensor:
        optimiser.zero_grad()
        loss = learned.loss(network)
        torch.autograd.backward(loss)
        optimiser.step()
        return loss

    seconds = []
    for _ in range(WARM_UP + steps):
        begin = time.perf_counter()
        loss = step()
        seconds.append(time.perf_counter() - begin)
    hashes = all_hashes(learned.network, group)
    read = learned.verdict()
    with network.no_sync():
        alone = list(timed(step, ALONE))
    mean = loss.detach().clone()
    dist.all_reduce(mean, group=group)
    ranks = dist.get_world_size(group)
    return Trained(seconds[WARM_UP:], statistics.median(alone), mean.item() / ranks, read, hashes)


def timed(step: Callable[[], object], times: int) -> Iterator[float]:
    for _ in range(times):
        begin = time.perf_counter()
        step()
        yield time.perf_counter() - begin


def all_hashes(network: nn.Module, group: Any) -> list[str]:
    """Of the weights of each rank, in 16 digits."""
    digest = hashlib.sha256()
    for weights in network.parameters():
        digest.update(weights.detach().numpy().tobytes())
    mine = torch.tensor(list(digest.digest()[:8]), dtype=torch.uint8)
    several = [torch.zeros_like(mine) for _ in range(dist.get_world_size(group))]
    dist.all_gather(several, mine, group=group)
    return [bytes(one.tolist()).hex() for one in several]


def say(trained: Trained, backend: str, model: str) -> None:
    size = sum(
        weights.numel() * weights.element_size() for weights in task(model, 0).network.parameters()
    )
    step = statistics.median(trained.seconds)
    print(f"{backend}, {len(trained.hashes)} ranks, {model}: gradients of {size / 2**20:.2f} MiB")
    print(
        f"a step takes {step * 1e3:.1f} ms ({min(trained.seconds) * 1e3:.1f} to "
        f"{max(trained.seconds) * 1e3:.1f}); computing {trained.computing / step:.0%} of that"
    )
    print(f"loss: {trained.loss:.6f}")
    for rank, found in enumerate(trained.hashes):
        print(f"weights of rank {rank}: {found}")
    if trained.read is not None:
        print(f"{trained.read:.1%} of the held-out pictures are read")


def require_right(trained: Trained, steps: int) -> None:
    if len(set(trained.hashes)) > 1:
        raise SystemExit(f"the ranks have different weights: {' '.join(trained.hashes)}")
    if trained.read is not None and steps >= LEARNED and trained.read < WANTED:
        raise SystemExit(
            f"{trained.read:.1%} of the held-out pictures are read: {WANTED:.0%} were expected"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--backend", default="gloo", help="of torch.distributed; default: gloo")
    parser.add_argument("--model", choices=["digits", *NETWORKS], default="digits")
    parser.add_argument("--steps", type=int, default=LEARNED)
    parser.add_argument("--timeout", type=float, default=TIMEOUT, help="seconds of one collective")
    options = parser.parse_args()
    if options.steps < 1:
        parser.error(f"--steps {options.steps}: at least 1")
    if "RANK" not in os.environ:
        parser.error("RANK is not set: start it with torchrun")
    start(options.backend, options.timeout)
    try:
        trained = train(options.model, options.steps)
    finally:
        dist.destroy_process_group()
    if int(os.environ["RANK"]) == 0:
        say(trained, options.backend, options.model)
    require_right(trained, options.steps)


def start(backend: str, timeout: float) -> None:
    """The default process group, of the environment of this process."""
    # DDP imports it. If that comes after the group, the group's threads outlive its end (seen with
    # PyTorch 2.13), and one that still drops a tensor when the interpreter ends aborts the process.
    importlib.import_module("torch._dynamo")
    if backend == "hoplite":
        importlib.import_module("hoplite.torch")  # which registers it
    dist.init_process_group(backend, timeout=datetime.timedelta(seconds=timeout))


if __name__ == "__main__":
    main()
