"""A checkpoint transport for torchft: a replica that comes back gets the state from the store of a
healthy one, over Hoplite's trees."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar, cast

import hoplite
from hoplite._core import ObjectId
from hoplite.errors import AlreadyExistsError, InvalidArgumentError

try:
    from torchft.checkpointing.transport import CheckpointTransport
except ImportError as missing:
    raise ImportError("hoplite.torchft needs torchft: pip install 'torchft==0.2.0'") from missing

import torch
from torch.distributed.tensor import DTensor
from torch.utils._pytree import tree_map

T = TypeVar("T")


class HopliteTransport(CheckpointTransport[T]):
    """For ``torchft.Manager(checkpoint_transport=...)``: one object per step and donor.

    `send_checkpoint` copies the state into the store of the donor's node, which has it until the
    next one: slow joiners still get it, and the state may change at once. All joiners of a donor
    share one tree. Tensors arrive in the processor's memory, as copies of one's own.

    With ``shared=True`` the object is named by step and group rank, so that the joiners of several
    donors share one tree, too: the first donor's is taken. Only where the replicas' states are
    equal, as torchft's are after a step. `name` keeps runs apart: a run that is started again needs
    another one. `group_rank`: this process's rank in its replica group; None: ``$RANK``, as
    torchft's Manager takes it.

    >>> from hoplite.torchft import HopliteTransport
    >>> transport = HopliteTransport(client)
    >>> manager = torchft.Manager(checkpoint_transport=transport, ...)   # doctest: +SKIP

    InvalidArgumentError: `shared`, and no group rank.
    """

    def __init__(
        self,
        client: hoplite.Client,
        name: str = "torchft",
        *,
        shared: bool = False,
        group_rank: int | None = None,
    ) -> None:
        self._client = client
        self._donor = f"{name}/{_rank(group_rank) if shared else ObjectId.random().hex()}"
        self._sent: ObjectId | None = None

    def metadata(self) -> str:
        """What a joiner is to know: by which name the objects of this donor are called."""
        return self._donor

    def send_checkpoint(
        self, dst_ranks: list[int], step: int, state_dict: T, timeout: timedelta
    ) -> None:
        """Puts the state of that step; what was sent before goes, unless another donor owns it.

        ObjectDeletedError: `shared`, and all donors of that step have sent a later one.
        ResourceExhaustedError: the node's store has no room for it.
        """
        id, before = _id_of(self._donor, step), self._sent
        if before is not None and before != id:
            self._client.disown(before, wait=False)
        self._sent = id
        try:
            packed = tree_map(_in_memory, state_dict)
            self._client.put(packed, id=id, owned=True, timeout=timeout.total_seconds())
        except AlreadyExistsError:  # the same step again, or another donor's
            self._client.own(id, timeout=timeout.total_seconds())
        except TimeoutError as error:
            raise _timed_out(error) from error

    def disallow_checkpoint(self) -> None:
        """Nothing: the object is a copy, and joiners may still be getting it."""

    def recv_checkpoint(self, src_rank: int, metadata: str, step: int, timeout: timedelta) -> T:
        """The state that the donor of that `metadata` has put, or will put.

        TimeoutError says "timed out", and what was missing.
        """
        id = _id_of(metadata, step)
        try:
            packed = self._client.get(id, timeout=timeout.total_seconds(), writable=True)
        except TimeoutError as error:
            raise _timed_out(error) from error
        return cast("T", tree_map(_as_it_was, packed))

    def shutdown(self, wait: bool = True) -> None:
        """Nobody gets this donor's last state any more. The client stays open."""
        if self._sent is not None:
            self._client.disown(self._sent, wait=False)
            self._sent = None


@dataclass(frozen=True)
class _Shard:
    """A DTensor's part here: the other parts are other processes'."""

    local: torch.Tensor
    spec: Any


def _in_memory(leaf: Any) -> Any:
    if isinstance(leaf, DTensor):
        return _Shard(_in_memory(leaf._local_tensor), leaf._spec)
    return leaf.detach().cpu() if isinstance(leaf, torch.Tensor) else leaf


def _as_it_was(leaf: Any) -> Any:
    if not isinstance(leaf, _Shard):
        return leaf
    return DTensor(leaf.local, leaf.spec, requires_grad=False)  # type: ignore[no-untyped-call]


def _id_of(donor: str, step: int) -> ObjectId:
    return ObjectId.from_name(f"torchft/{donor}/{step}")


def _rank(given: int | None) -> int:
    if given is not None:
        return given
    if "RANK" not in os.environ:
        raise InvalidArgumentError("shared=True needs group_rank, or RANK in the environment")
    return int(os.environ["RANK"])


def _timed_out(error: TimeoutError) -> TimeoutError:
    return hoplite.TimeoutError(f"timed out: {error}")
