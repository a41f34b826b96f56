"""What torch calls of a process group, in terms of flat tensors."""

# torch calls these methods in one of the ways that it declares, and by position.
# mypy: disable-error-code="override, assignment, no-untyped-call"

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import torch.distributed as dist
from torch import Tensor

from hoplite.torch import _ops, _tensors
from hoplite.torch._collectives import Collectives
from hoplite.torch._messages import Messages
from hoplite.torch._work import Lane, Work

# Lanes, each with a thread, beyond which those end that are idle.
MOST_LANES = 32


class Calls(dist.ProcessGroup):
    """Collectives and messages by the names that torch has for them. Refuses at once, by
    InvalidArgumentError, what can't travel."""

    _rank: int
    _size: int
    _seconds: float
    _collectives: Collectives
    _messages: Messages
    _lock: threading.Lock
    _lanes: defaultdict[Any, Lane]

    # --- collectives

    def broadcast(self, tensors: list[Tensor], opts: Any = None) -> Work:
        tensor = _tensors.one(tensors)
        sends = opts.rootRank == self._rank

        def run(seconds: float) -> None:
            memory = _tensors.flat(tensor) if sends else _tensors.room(tensor)
            self._collectives.broadcast(memory, opts.rootRank, seconds)
            if not sends:
                _tensors.settle(tensor, memory)

        return self._begin(run, tensors, opts)

    def allreduce(self, tensors: list[Tensor], opts: Any = None) -> Work:
        return self._reduce_each([_tensors.one(tensors)], opts, tensors)

    def allreduce_coalesced(self, tensors: list[Tensor], opts: Any = None) -> Work:
        return self._reduce_each([_tensors.plain(tensor) for tensor in tensors], opts, tensors)

    def _reduce_each(self, plain: list[Tensor], opts: Any, result: list[Tensor]) -> Work:
        names = [_op(opts, tensor) for tensor in plain]

        def run(seconds: float) -> None:
            for tensor, name in zip(plain, names, strict=True):
                memory = _tensors.flat(tensor)
                self._collectives.allreduce(_ops.foldable(memory), name, seconds)
                _tensors.settle(tensor, memory)

        return self._begin(run, result, opts)

    def reduce(self, tensors: list[Tensor], opts: Any = None) -> Work:
        tensor = _tensors.one(tensors)
        name = _op(opts, tensor)

        def run(seconds: float) -> None:
            memory = _tensors.flat(tensor)
            self._collectives.reduce(_ops.foldable(memory), name, opts.rootRank, seconds)
            if opts.rootRank == self._rank:
                _tensors.settle(tensor, memory)

        return self._begin(run, tensors, opts)

    def allgather(self, outs: list[list[Tensor]], tensors: list[Tensor], opts: Any = None) -> Work:
        plain = _tensors.each(_only(outs), self._size, "the list of outputs")
        return self._gather_each([plain], [_tensors.one(tensors)], opts, outs[0])

    def allgather_coalesced(
        self, outs: list[list[Tensor]], tensors: list[Tensor], opts: Any = None
    ) -> Work:
        """`outs`: for each rank, one for each tensor."""
        _tensors.each([rank[0] for rank in outs], self._size, "the list of outputs")
        of_each = [[_tensors.plain(one) for one in row] for row in zip(*outs, strict=True)]
        plain = [_tensors.plain(tensor) for tensor in tensors]
        return self._gather_each(of_each, plain, opts, [one for rank in outs for one in rank])

    def _gather_each(
        self, outs: list[list[Tensor]], plain: list[Tensor], opts: Any, result: list[Tensor]
    ) -> Work:
        def run(seconds: float) -> None:
            for of_ranks, tensor in zip(outs, plain, strict=True):
                rooms = [_tensors.room(out) for out in of_ranks]
                self._collectives.allgather(rooms, _tensors.flat(tensor), seconds)
                for out, filled in zip(of_ranks, rooms, strict=True):
                    _tensors.settle(out, filled)

        return self._begin(run, result, opts)

    def all_gather_single(self, out: Tensor, tensor: Tensor, opts: Any = None) -> Work:
        return self.all_gather_single_coalesced([out], [tensor], opts)

    def all_gather_single_coalesced(
        self, outs: list[Tensor], tensors: list[Tensor], opts: Any = None
    ) -> Work:
        plain = [_tensors.plain(out) for out in outs]
        sent = [_tensors.plain(tensor) for tensor in tensors]
        for out, tensor in zip(plain, sent, strict=True):
            _tensors.require_times(out, tensor, self._size, "the output")

        def run(seconds: float) -> None:
            for out, tensor in zip(plain, sent, strict=True):
                room = _tensors.room(out)
                rooms = list(room.split(tensor.numel())) if tensor.numel() else [room] * self._size
                self._collectives.allgather(rooms, _tensors.flat(tensor), seconds)
                _tensors.settle(out, room)

        return self._begin(run, outs, opts)

    def gather(self, outs: list[list[Tensor]], tensors: list[Tensor], opts: Any = None) -> Work:
        tensor = _tensors.one(tensors)
        is_root = opts.rootRank == self._rank
        plain = _tensors.each(_only(outs), self._size, "gather_list") if is_root else []

        def run(seconds: float) -> None:
            rooms = [_tensors.room(out) for out in plain]
            self._collectives.gather(rooms, _tensors.flat(tensor), opts.rootRank, seconds)
            for out, filled in zip(plain, rooms, strict=True):
                _tensors.settle(out, filled)

        return self._begin(run, outs[0] if is_root else tensors, opts)

    def scatter(self, outs: list[Tensor], tensors: list[list[Tensor]], opts: Any = None) -> Work:
        out = _tensors.one(outs)
        is_root = opts.rootRank == self._rank
        plain = _tensors.each(_only(tensors), self._size, "scatter_list") if is_root else []

        def run(seconds: float) -> None:
            room, flat = _tensors.room(out), [_tensors.flat(tensor) for tensor in plain]
            self._collectives.scatter(room, flat, opts.rootRank, seconds)
            _tensors.settle(out, room)

        return self._begin(run, outs, opts)

    def reduce_scatter(
        self, outs: list[Tensor], tensors: list[list[Tensor]], opts: Any = None
    ) -> Work:
        plain = _tensors.each(_only(tensors), self._size, "the list of inputs")
        return self._scatter_each([_tensors.one(outs)], lambda: [plain], opts, outs)

    def reduce_scatter_single(self, out: Tensor, tensor: Tensor, opts: Any = None) -> Work:
        return self.reduce_scatter_single_coalesced([out], [tensor], opts)

    def reduce_scatter_single_coalesced(
        self, outs: list[Tensor], tensors: list[Tensor], opts: Any = None
    ) -> Work:
        plain = [_tensors.plain(out) for out in outs]
        sent = [_tensors.plain(tensor) for tensor in tensors]
        for out, tensor in zip(plain, sent, strict=True):
            _tensors.require_times(tensor, out, self._size, "the input")
        return self._scatter_each(
            plain, lambda: [_tensors.flat(tensor).chunk(self._size) for tensor in sent], opts, outs
        )

    def _scatter_each(
        self,
        outs: list[Tensor],
        of_ranks: Callable[[], Sequence[Sequence[Tensor]]],
        opts: Any,
        result: list[Tensor],
    ) -> Work:
        names = [_op(opts, out) for out in outs]

        def run(seconds: float) -> None:
            for out, parts, name in zip(outs, of_ranks(), names, strict=True):
                room = _tensors.room(out)
                flat = [_ops.foldable(_tensors.flat(part)) for part in parts]
                self._collectives.reduce_scatter(_ops.foldable(room), flat, name, seconds)
                _tensors.settle(out, room)

        return self._begin(run, result, opts)

    def alltoall(self, outs: list[Tensor], tensors: list[Tensor], opts: Any = None) -> Work:
        plain = _tensors.each(outs, self._size, "the list of outputs")
        sent = _tensors.each(tensors, self._size, "the list of inputs")

        def run(seconds: float) -> None:
            rooms = [_tensors.room(out) for out in plain]
            flat = [_tensors.flat(tensor) for tensor in sent]
            self._collectives.alltoall(rooms, flat, seconds)
            for out, filled in zip(plain, rooms, strict=True):
                _tensors.settle(out, filled)

        return self._begin(run, outs, opts)

    def all_to_all_single(
        self,
        out: Tensor,
        tensor: Tensor,
        out_sizes: list[int],
        sizes: list[int],
        opts: Any = None,
    ) -> Work:
        outs = _tensors.parts(_tensors.plain(out), out_sizes, self._size, "the output")
        tensors = _tensors.parts(_tensors.plain(tensor), sizes, self._size, "the input")
        return self.alltoall(outs, tensors, opts)

    def barrier(self, opts: Any = None) -> Work:
        return self._begin(self._collectives.barrier, [], opts)

    # By the names of torch up to 2.12.
    _allgather_base = all_gather_single
    allgather_into_tensor_coalesced = all_gather_single_coalesced
    _reduce_scatter_base = reduce_scatter_single
    reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced
    alltoall_base = all_to_all_single

    # --- messages

    def send(self, tensors: list[Tensor], to: int, tag: int = 0) -> Work:
        tensor = _tensors.one(tensors)

        def run(seconds: float) -> None:
            self._messages.send(_tensors.flat(tensor), to, tag, seconds)

        return self._begin(run, tensors, lane="send")

    def recv(self, tensors: list[Tensor], sender: int, tag: int = 0) -> Work:
        tensor = _tensors.one(tensors)

        def run(seconds: float) -> int:
            room = _tensors.room(tensor)
            self._messages.receive(room, sender, tag, seconds)
            _tensors.settle(tensor, room)
            return sender

        return self._begin(run, tensors, lane=("receive", sender, tag))

    def recv_anysource(self, tensors: list[Tensor], tag: int = 0) -> Work:
        tensor = _tensors.one(tensors)

        def run(seconds: float) -> int:
            room = _tensors.room(tensor)
            sender = self._messages.receive_any(room, tag, seconds)
            _tensors.settle(tensor, room)
            return sender

        return self._begin(run, tensors, lane=("receive", tag))

    def _begin(
        self,
        run: Callable[[float], int | None],
        result: list[Tensor],
        opts: Any = None,
        lane: Any = "collectives",
    ) -> Work:
        seconds = _seconds_of(opts) or self._seconds
        work = Work(lambda: run(seconds), result)
        caller_waits = not getattr(opts, "asyncOp", True)
        with self._lock:
            if lane not in self._lanes:
                self._end_idle_lanes()
            chosen = self._lanes[lane]
            if isinstance(lane, tuple):
                chosen.begin(work, caller_waits=False)
                return work
        chosen.begin(work, caller_waits)
        return work

    def _end_idle_lanes(self) -> None:
        """There may be one for each tag that was ever used. The caller holds the lock."""
        if len(self._lanes) < MOST_LANES:
            return
        for lane, one in list(self._lanes.items()):
            if isinstance(lane, tuple) and one.idle:
                self._lanes.pop(lane).close()


def _only(lists: Sequence[list[Tensor]]) -> list[Tensor]:
    """Of a list for each of one device."""
    return lists[0] if lists else []


def _op(opts: Any, tensor: Tensor) -> str:
    return _ops.name_of(getattr(opts, "reduceOp", dist.ReduceOp.SUM), tensor.dtype)


def _seconds_of(opts: Any) -> float | None:
    """None: the group's timeout."""
    timeout = getattr(opts, "timeout", None)
    return timeout.total_seconds() if timeout is not None and timeout > timedelta(0) else None
