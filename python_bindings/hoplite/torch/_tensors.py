"""Tensors of torch.distributed as memory that objects are made of, and go into."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from hoplite import _torch
from hoplite.errors import InvalidArgumentError


def plain(tensor: Tensor) -> Tensor:
    """The same memory, without its history. InvalidArgumentError: a back end for the processor
    can't send it."""
    if tensor.device.type != "cpu":
        raise InvalidArgumentError(
            f"hoplite: a tensor on {tensor.device}: only tensors in the processor's memory travel, "
            "so call tensor.cpu() first"
        )
    if tensor.is_complex():
        raise InvalidArgumentError(
            f"hoplite: a tensor of {tensor.dtype}: complex ones travel as "
            "torch.view_as_real(tensor)"
        )
    if not (tensor.layout is torch.strided and _torch.words_of(tensor.dtype)):
        raise InvalidArgumentError(
            f"hoplite: a tensor of {tensor.dtype}, {tensor.layout}: neither sparse nor quantized "
            "ones travel"
        )
    return tensor.detach()


def flat(tensor: Tensor) -> Tensor:
    """Its elements in C order, one after another: its own memory if they lie so there."""
    return tensor.contiguous().view(-1)


def room(tensor: Tensor) -> Tensor:
    """Memory for its elements in C order: its own if they lie so there. `settle` it when it is
    full."""
    return tensor.view(-1) if tensor.is_contiguous() else tensor.new_empty(tensor.numel())


def settle(tensor: Tensor, filled: Tensor) -> None:
    """Copies what `flat` or `room` gave to where its elements lie, if that is elsewhere."""
    if not tensor.is_contiguous():
        tensor.copy_(filled.view(tensor.shape))


def one(tensors: Sequence[Tensor]) -> Tensor:
    """Of a list of one, as calls have it. InvalidArgumentError: it has more, or none."""
    if len(tensors) != 1:
        raise InvalidArgumentError(f"hoplite: one tensor a call is expected, not {len(tensors)}")
    return plain(tensors[0])


def each(tensors: Sequence[Tensor], size: int, what: str) -> list[Tensor]:
    """One for each rank. InvalidArgumentError: there are more, or fewer."""
    if len(tensors) != size:
        raise InvalidArgumentError(
            f"hoplite: {what} has {len(tensors)} tensors, but the group has {size} ranks"
        )
    return [plain(tensor) for tensor in tensors]


def require_times(all: Tensor, one: Tensor, size: int, what: str) -> None:
    """InvalidArgumentError: `all` is not as long as `one` of each rank."""
    if all.numel() != size * one.numel() or all.dtype != one.dtype:
        raise InvalidArgumentError(
            f"hoplite: {what} has {all.numel()} elements of {all.dtype}: {size} times "
            f"{one.numel()} of {one.dtype} are expected"
        )


def parts(tensor: Tensor, sizes: Sequence[int], size: int, what: str) -> list[Tensor]:
    """A tensor along its first dimension, cut for each rank: into equal parts, or those of `sizes`.
    InvalidArgumentError: it can't be."""
    rows = tensor.shape[0] if tensor.dim() else 1
    if sizes:
        if len(sizes) != size or sum(sizes) != rows:
            raise InvalidArgumentError(
                f"hoplite: {what} has {rows} rows, which {list(sizes)} do not split among {size} "
                "ranks"
            )
        return list(torch.split(tensor, list(sizes)))
    if rows % size:
        raise InvalidArgumentError(
            f"hoplite: {what} has {rows} rows, which do not split evenly among {size} ranks"
        )
    return list(torch.split(tensor, rows // size)) if rows else [tensor] * size
