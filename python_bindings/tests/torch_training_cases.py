"""What the ranks of torch_ranks.py train."""

# Of torch.distributed much is untyped, or not exported.
# mypy: disable-error-code="no-untyped-call, attr-defined, arg-type"

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook
from torch.distributed.device_mesh import DeviceMesh
from torch_cases import OP, group, me, size


def _model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.BatchNorm1d(128), nn.Linear(128, 10))


def _batches(count: int) -> list[tuple[Tensor, Tensor]]:
    """Pictures of digits, as it were: classes that a small net can tell apart."""
    generator = torch.Generator().manual_seed(me())
    classes = torch.randn(10, 64, generator=torch.Generator().manual_seed(99))
    labels = [torch.randint(10, (32,), generator=generator) for _ in range(count)]
    noise = [torch.randn(32, 64, generator=generator) for _ in range(count)]
    return [(classes[label] + one, label) for label, one in zip(labels, noise, strict=True)]


def _trained(model: Any, steps: int) -> float:
    """The loss after so many, as the mean of all ranks."""
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    loss = torch.tensor(0.0)
    for pictures, labels in _batches(steps):
        loss = nn.functional.cross_entropy(model(pictures), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    mean = loss.detach().clone()
    dist.all_reduce(mean, OP.SUM)
    return mean.item() / size()


def data_parallel() -> dict[str, float]:
    """40 steps by each back end."""
    losses = {}
    for name, ranks in (("gloo", dist.group.WORLD), ("hoplite", group())):
        model = nn.parallel.DistributedDataParallel(_model(), process_group=ranks)
        losses[name] = _trained(model, 40)
        mine = torch.cat([weight.detach().flatten() for weight in model.parameters()])
        outs = [torch.zeros_like(mine) for _ in range(size())]
        dist.all_gather(outs, mine)
        assert all(torch.equal(one, mine) for one in outs)
    return losses


def power_sgd() -> dict[str, float]:
    """PyTorch's own hook, whose callbacks begin collectives and wait for them."""
    losses = {}
    for name, ranks in (("gloo", dist.group.WORLD), ("hoplite", group())):
        model = nn.parallel.DistributedDataParallel(_model(), process_group=ranks)
        state = powerSGD_hook.PowerSGDState(ranks, 2, start_powerSGD_iter=2)
        model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
        losses[name] = _trained(model, 10)
    return losses


def sharded() -> dict[str, float]:
    """FSDP 2: one step by each back end, and then the loss."""
    from torch.distributed.fsdp import fully_shard  # noqa: PLC0415 - takes a second

    losses = {}
    for name, ranks in (("gloo", dist.group.WORLD), ("hoplite", group())):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(64, 129), nn.ReLU(), nn.Linear(129, 10))
        mesh = DeviceMesh.from_group(ranks, "cpu", mesh_dim_names=(name,))
        for layer in (model[0], model[2], model):
            fully_shard(layer, mesh=mesh)
        losses[name] = _trained(model, 2)
    return losses


def train_for_ever() -> None:
    model = nn.parallel.DistributedDataParallel(_model(), process_group=group())
    while True:
        for pictures, labels in _batches(1):
            nn.functional.cross_entropy(model(pictures), labels).backward()
