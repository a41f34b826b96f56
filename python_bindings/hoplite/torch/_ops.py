"""Reductions of torch.distributed, as the engine does them, and here where tensors are small."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from hoplite import _dtypes, _torch
from hoplite.errors import InvalidArgumentError

_KIND: Any = dist.ReduceOp.RedOpType
NAMES = {
    _KIND.SUM: "sum",
    _KIND.AVG: "mean",
    _KIND.PRODUCT: "prod",
    _KIND.MIN: "min",
    _KIND.MAX: "max",
    _KIND.BAND: "and",
    _KIND.BOR: "or",
    _KIND.BXOR: "xor",
}
_INTEGERS_ONLY = frozenset(["and", "or", "xor"])
# Of truth values, which the engine folds as bytes that are 0 or 1.
_OF_BOOL = {"sum": "max", "max": "max", "or": "max", "prod": "min", "min": "min", "and": "min"}
_FOLDS: dict[str, Callable[[Tensor, Tensor], Any]] = {
    "sum": Tensor.add_,
    "mean": Tensor.add_,
    "prod": Tensor.mul_,
    "min": lambda into, other: torch.minimum(into, other, out=into),
    "max": lambda into, other: torch.maximum(into, other, out=into),
    "and": Tensor.bitwise_and_,
    "or": Tensor.bitwise_or_,
    "xor": Tensor.bitwise_xor_,
}
# torch itself does not add the other ones.
_HERE = frozenset(
    getattr(torch, name)
    for name in (
        *("float16", "bfloat16", "float32", "float64"),
        *("uint8", "int8", "int16", "int32", "int64"),
    )
)


def name_of(op: Any, dtype: torch.dtype) -> str:
    """What the engine calls it. InvalidArgumentError: there is no such reduction of that dtype."""
    name = NAMES.get(getattr(op, "op", op))
    if name is None:
        raise InvalidArgumentError(f"hoplite: {getattr(op, 'op', op)} is not reduced")
    if dtype is torch.bool:
        if name not in _OF_BOOL:
            raise InvalidArgumentError(f"hoplite: {name} of {dtype} tensors is not reduced")
        return _OF_BOOL[name]
    if _torch.words_of(dtype) not in _dtypes.FOLDABLE:
        raise InvalidArgumentError(f"hoplite: tensors of {dtype} are not reduced")
    if name == "mean" and not dtype.is_floating_point:
        raise InvalidArgumentError(f"hoplite: AVG of {dtype} tensors: only of floats there is one")
    if name in _INTEGERS_ONLY and dtype.is_floating_point:
        raise InvalidArgumentError(f"hoplite: bitwise {name} of {dtype} tensors is not reduced")
    return name


def foldable(tensor: Tensor) -> Tensor:
    """The same memory, of a dtype that the engine knows."""
    return tensor.view(torch.uint8) if tensor.dtype is torch.bool else tensor


def is_folded_here(dtype: torch.dtype) -> bool:
    return dtype in _HERE


def fold(name: str, parts: Sequence[Tensor], into: Tensor) -> None:
    """In the order of ranks, so that all of these get the same bits. `into` may be one of them."""
    first, *others = parts
    folded = first.clone()
    for part in others:
        _FOLDS[name](folded, part)
    if name == "mean":
        folded.div_(len(parts))
    into.copy_(folded)
