"""Each collective, as the objects that ranks put and get. Its tensors are flat (`_tensors`)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from hoplite._core import ObjectId
from hoplite.errors import InvalidArgumentError
from hoplite.torch import _ops
from hoplite.torch._steps import Step, Steps

# Bytes of all other ranks' tensors up to which every rank folds these: one way instead of several.
SMALL = 48 << 10
# Bytes of a tensor that is copied rather than waited for.
COPIED = 256 << 10
# Collectives after which a rank can't know that the others are past them: so many, or so many
# bytes, until it asks.
UNKNOWN, UNKNOWN_BYTES = 16, 64 << 20


class Collectives:
    """Those of one rank. One thread calls them, in the order that they have at all ranks."""

    def __init__(self, steps: Steps, rank: int, size: int) -> None:
        self._steps, self._rank, self._size = steps, rank, size
        self._ranks = range(size)
        self._unknown, self._unknown_bytes = 0, 0

    def barrier(self, seconds: float) -> None:
        with self._steps.next(seconds) as step:
            step.put(b"", self._rank)
            step.wait(self._of(step, self._others()))
        self._all_are_past(step)

    def broadcast(self, tensor: Tensor, root: int, seconds: float) -> None:
        with self._steps.next(seconds) as step:
            if self._rank == root:
                step.put(tensor, root)
            else:
                step.get([tensor], self._of(step, [root]))
        self._count_unknown(tensor.nbytes, seconds)

    def allreduce(self, tensor: Tensor, op: str, seconds: float) -> None:
        """In place."""
        with self._steps.next(seconds) as step:
            if self._is_small(tensor):
                self._fold_all(step, tensor, op, tensor)
            else:
                self._reduce_for_all(step, tensor, op)
        self._all_are_past(step)

    def reduce(self, tensor: Tensor, op: str, root: int, seconds: float) -> None:
        """In place at the root."""
        with self._steps.next(seconds) as step:
            step.put(tensor, self._rank)
            if self._rank == root:
                step.sent()
                step.reduce(tensor, op, self._of(step, self._ranks))
        self._count_unknown(tensor.nbytes, seconds)

    def allgather(self, outs: Sequence[Tensor], tensor: Tensor, seconds: float) -> None:
        with self._steps.next(seconds) as step:
            step.put(tensor, self._rank)
            others = self._others()
            step.get([outs[rank] for rank in others], self._of(step, others))
            outs[self._rank].copy_(tensor)
        self._all_are_past(step)

    def gather(self, outs: Sequence[Tensor], tensor: Tensor, root: int, seconds: float) -> None:
        """`outs`: at the root."""
        with self._steps.next(seconds) as step:
            if self._rank == root:
                others = self._others()
                step.get([outs[rank] for rank in others], self._of(step, others))
                outs[root].copy_(tensor)
            else:
                step.put(tensor, self._rank)
        self._count_unknown(self._size * tensor.nbytes, seconds)

    def scatter(self, out: Tensor, tensors: Sequence[Tensor], root: int, seconds: float) -> None:
        """`tensors`: at the root."""
        with self._steps.next(seconds) as step:
            if self._rank == root:
                for rank in self._others():
                    step.put(tensors[rank], root, rank)
                out.copy_(tensors[root])
            else:
                step.get([out], self._of(step, [root], self._rank))
        self._count_unknown(self._size * out.nbytes, seconds)

    def alltoall(self, outs: Sequence[Tensor], tensors: Sequence[Tensor], seconds: float) -> None:
        with self._steps.next(seconds) as step:
            self._exchange(step, outs, tensors)
            outs[self._rank].copy_(tensors[self._rank])
        self._all_are_past(step)

    def reduce_scatter(
        self, out: Tensor, tensors: Sequence[Tensor], op: str, seconds: float
    ) -> None:
        with self._steps.next(seconds) as step:
            parts = [out.new_empty(out.numel()) for _ in self._ranks]
            self._exchange(step, parts, tensors)
            parts[self._rank] = tensors[self._rank]
            _ops.fold(op, parts, out)
        self._all_are_past(step)

    def _exchange(self, step: Step, outs: Sequence[Tensor], tensors: Sequence[Tensor]) -> None:
        others = self._others()
        for rank in others:
            step.put(tensors[rank], self._rank, rank)
        step.get([outs[rank] for rank in others], self._of(step, others, self._rank))

    def _fold_all(self, step: Step, tensor: Tensor, op: str, out: Tensor) -> None:
        step.put(tensor, self._rank)
        parts = [tensor.new_empty(tensor.numel()) for _ in self._ranks]
        parts[self._rank] = tensor
        others = self._others()
        try:
            step.get([parts[rank] for rank in others], self._of(step, others))
        except InvalidArgumentError:
            step.mine.append(step.id("all"))  # a rank whose tensor is larger waits for that
            raise
        step.sent()
        _ops.fold(op, parts, out)

    def _reduce_for_all(self, step: Step, tensor: Tensor, op: str) -> None:
        sources, target = self._of(step, self._ranks), step.id("all")
        if self._rank == 0:
            begun = step.reduce_for_all(op, tensor.dtype, sources, target)
        step.put(tensor, self._rank)
        if tensor.nbytes > COPIED:
            step.sent()
            step.get_reduced(tensor, target, sources)
        else:  # asks for the sum before its own part has arrived
            out = torch.empty_like(tensor)
            step.get_reduced(out, target, sources)
            step.sent()
            tensor.copy_(out)
        if self._rank == 0:
            begun.wait(step.left())

    def _is_small(self, tensor: Tensor) -> bool:
        others = (self._size - 1) * tensor.nbytes
        return others <= SMALL and _ops.is_folded_here(tensor.dtype)

    def _others(self) -> list[int]:
        """From the next one on, so that not all ask the first one first."""
        return [(self._rank + k) % self._size for k in range(1, self._size)]

    def _of(self, step: Step, ranks: Sequence[int], *more: object) -> dict[ObjectId, int]:
        return {step.id(rank, *more): rank for rank in ranks}

    def _all_are_past(self, step: Step) -> None:
        self._steps.all_have_begun(step)
        self._unknown, self._unknown_bytes = 0, 0

    def _count_unknown(self, nbytes: int, seconds: float) -> None:
        self._unknown += 1
        self._unknown_bytes += nbytes
        if self._unknown >= UNKNOWN or self._unknown_bytes >= UNKNOWN_BYTES:
            self.barrier(seconds)
