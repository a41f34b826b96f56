"""The back end ``hoplite`` of ``ray.util.collective``: groups of actors, all of which call the same
operations in one order."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import ray.util.collective  # noqa: F401 - else the next ones are found half imported
from ray.util.collective.collective_group.base_collective_group import BaseGroup
from ray.util.collective.types import ReduceOp

from hoplite import _torch
from hoplite._core import ObjectId
from hoplite._lives import Lives, was_put
from hoplite._register import fitting
from hoplite.errors import (
    CancelledError,
    HopliteError,
    InvalidArgumentError,
    ObjectDeletedError,
    PeerLostError,
    TimeoutError,
    UnavailableError,
)
from hoplite.ray import _job

OPS = {ReduceOp.SUM: "sum", ReduceOp.PRODUCT: "prod", ReduceOp.MIN: "min", ReduceOp.MAX: "max"}

# Seconds: until all ranks are there; what an operation may take, as Gloo's; what others are given
# to read when a group ends.
JOINS_IN = 30.0
TIMEOUT = 1800.0
ENDS_IN = 30.0
# Seconds between two ranks' hearing of a third's end.
HEARS_IN = 2.0
# Broadcasts between two barriers, whose objects stay until then.
BROADCASTS = 16


class Group(BaseGroup):
    """One rank's part of a group. Ray calls it with lists of one tensor.

    Decides when an object of an operation can go: when a later one has ended which no rank ends
    before all have begun it. Gives the group up when a rank has died.
    """

    def __init__(self, world_size: int, rank: int, group_name: str) -> None:
        super().__init__(world_size, rank, group_name)
        # Of their own: what they own goes when the group ends. The second says that this rank
        # lives, also when it has given the group up.
        job = _job.Job.of_this_process()
        self._client, self._life = job.attach(), job.attach()
        self._steps, self._messages = 0, Counter[tuple[int, int]]()
        self._kept: list[ObjectId] = []
        self._broadcasts = 0
        self._why, self._over = "", threading.Event()
        self._lives = Lives(
            self._life, rank, lambda of, turn: self._id("here", of, turn), self._has_left
        )
        self._join()
        threading.Thread(target=self._watch, name="hoplite-group", daemon=True).start()

    @classmethod
    def backend(cls) -> str:
        return "HOPLITE"

    @classmethod
    def check_backend_availability(cls) -> bool:
        return True

    def destroy_group(self) -> None:
        """Returns at once. What this rank has put stays until the others have left, too, for 30 s
        at most: they may be reading it."""
        with contextlib.suppress(HopliteError):
            self._client.put(b"", id=self._id("left", self.rank), owned=True)
        threading.Thread(target=self._leave, name="hoplite-leave", daemon=True).start()

    def allreduce(self, tensor: list[Any], allreduce_options: Any = None) -> None:
        array, op = _one(tensor), _op(allreduce_options)
        with self._step() as step:
            target = self._id(step, "all")
            if self.rank == 0:
                # With owned=True the others would not hear why it failed.
                self._client.own(target, TIMEOUT)
                self._reduction = self._client.reduce(
                    self._of_all(step), op, None, array.dtype, target, everyone_reads=True
                )
            self._put(self._id(step, self.rank), array)
            self._client.get(target, TIMEOUT, array)
            self._all_have_begun([self._id(step, self.rank), target])

    def barrier(self, barrier_options: Any = None) -> None:
        with self._step() as step:
            self._put(self._id(step, self.rank), b"")
            self._wait_for_all(TIMEOUT, step)
            self._all_have_begun([self._id(step, self.rank)])

    def reduce(self, tensor: list[Any], reduce_options: Any = None) -> None:
        """The root deletes what it took: nobody else needs that."""
        array, op = _one(tensor), _op(reduce_options)
        with self._step() as step:
            self._put(self._id(step, self.rank), array)
            if self.rank == reduce_options.root_rank:
                sources = self._of_all(step)
                self._client.delete([*sources, self._reduced_into(array, op, sources)])

    def allgather(
        self, tensor_list: list[Any], tensor: list[Any], allgather_options: Any = None
    ) -> None:
        array, outs = _one(tensor), [_plain(one) for one in _one_list(tensor_list)]
        with self._step() as step:
            self._put(self._id(step, self.rank), array)
            self._client.get_many(self._of_all(step), TIMEOUT, outs)
            self._all_have_begun([self._id(step, self.rank)])

    def broadcast(self, tensor: list[Any], broadcast_options: Any = None) -> None:
        array, root = _one(tensor), broadcast_options.root_rank
        with self._step() as step:
            if self.rank == root:
                self._put(self._id(step, root), array)
                self._kept.append(self._id(step, root))
            else:
                self._client.get(self._id(step, root), TIMEOUT, array)
        self._broadcasts += 1
        if self._broadcasts == BROADCASTS:
            self.barrier()

    def reducescatter(
        self, tensor: list[Any], tensor_list: list[Any], reducescatter_options: Any = None
    ) -> None:
        array, op = _one(tensor), _op(reducescatter_options)
        with self._step() as step:
            mine = [self._id(step, self.rank, to) for to in range(self.world_size)]
            for id, part in zip(mine, _one_list(tensor_list), strict=True):
                self._put(id, _plain(part))
            sources = self._of_all(step, self.rank)
            self._client.delete(self._reduced_into(array, op, sources))
            self._all_have_begun(mine)

    def send(self, tensor: list[Any], send_options: Any) -> None:
        with self._giving_up():
            self._put(self._message(self.rank, send_options.dst_rank), _one(tensor))

    def recv(self, tensor: list[Any], recv_options: Any) -> None:
        with self._giving_up():
            id = self._message(recv_options.src_rank, self.rank)
            self._client.get(id, TIMEOUT, _one(tensor))
            self._client.delete(id)

    def _join(self) -> None:
        """Agrees with the others on a name that no other group has, of whatever name."""
        with self._client.register(fitting(f"ray/group/{self.group_name}"), JOINS_IN) as register:
            entry = register.get(JOINS_IN)
            if self.rank == 0:
                self._run = ObjectId.random().hex()
                said = register.compare_and_set(entry.number, self._run.encode(), writer=True)
            else:
                # Without a writer it is that of a rank 0 that has died.
                while not (entry.value and entry.has_writer):
                    entry = register.changed(entry.number, JOINS_IN, only_later=True)
                self._run = entry.value.decode()
            self._lives.say()
            if self.rank == 0:
                self._wait_for_all(JOINS_IN, "here", 0)
                register.compare_and_set(said, b"")

    def _id(self, *what: Any) -> ObjectId:
        return ObjectId.from_name("/".join(map(str, ["ray/group", self._run, *what])))

    def _of_all(self, *what: Any) -> list[ObjectId]:
        """The same of each rank."""
        first, *more = what
        return [self._id(first, rank, *more) for rank in range(self.world_size)]

    def _message(self, sender: int, receiver: int) -> ObjectId:
        self._messages[sender, receiver] += 1
        return self._id("message", sender, receiver, self._messages[sender, receiver])

    def _put(self, id: ObjectId, value: Any) -> None:
        self._client.put(value, id=id, timeout=TIMEOUT, owned=True)

    def _reduced_into(self, array: Any, op: str, sources: list[ObjectId]) -> ObjectId:
        """The sum's id."""
        reduction = self._client.reduce(sources, op, None, array.dtype, owned=True)
        try:
            self._client.get(reduction.target, TIMEOUT, array)
        finally:
            reduction.wait(TIMEOUT)  # it knows why there is no sum
        return reduction.target

    def _wait_for_all(self, timeout: float, *what: Any) -> None:
        ids = self._of_all(*what)
        _, others = self._client.wait(ids, len(ids), timeout)
        if others:
            ranks = ", ".join(str(ids.index(id)) for id in others)
            raise TimeoutError(
                f"group {self.group_name!r}: after {timeout:g} s these ranks are missing: {ranks}"
            )

    @contextlib.contextmanager
    def _step(self) -> Iterator[int]:
        """The number of an operation, which it has at all ranks."""
        self._steps += 1
        with self._giving_up():
            yield self._steps

    @contextlib.contextmanager
    def _giving_up(self) -> Iterator[None]:
        """PeerLostError: a rank has died, or this one has lost its node, meanwhile or before."""
        try:
            yield
        except (CancelledError, ObjectDeletedError, UnavailableError):
            # Others may have heard of it first, and deleted what they put.
            if not self._over.wait(HEARS_IN):
                raise
            raise PeerLostError(f"group {self.group_name!r}: {self._why}") from None

    def _all_have_begun(self, mine: list[ObjectId]) -> None:
        """This operation: nobody reads what was put for those before it."""
        self._client.disown(self._kept, wait=False)
        self._kept, self._broadcasts = mine, 0

    def _watch(self) -> None:
        """Its own thread: until the group ends."""
        try:
            self._why = self._lives.watch(self.world_size, JOINS_IN, TIMEOUT)
        except CancelledError:  # the group has ended here
            return
        except HopliteError as error:
            self._why = f"this rank has lost its node, make a new group: {error}"
        if self._why:
            self._over.set()
            self._client.close()  # cancels what waits

    def _leave(self) -> None:
        """A thread's: what `destroy_group` says."""
        deadline = time.monotonic() + ENDS_IN
        for id in self._of_all("left"):
            with contextlib.suppress(HopliteError):  # most often it has closed since
                self._client.get(id, max(0.0, deadline - time.monotonic()))
        self._client.close()
        self._life.close()

    def _has_left(self, rank: int) -> bool:
        return was_put(self._life, self._id("left", rank))


def _one(listed: list[Any]) -> Any:
    return _plain(_one_list(listed))


def _one_list(listed: list[Any]) -> Any:
    """InvalidArgumentError: of several devices."""
    if len(listed) != 1:
        raise InvalidArgumentError(f"group: a tensor for each of {len(listed)} devices was given")
    return listed[0]


def _plain(tensor: Any) -> Any:
    """InvalidArgumentError: it is on another device than the processor."""
    if not _torch.is_tensor(tensor):
        return tensor
    if tensor.device.type != "cpu":
        raise InvalidArgumentError(
            f"group: a tensor in the processor's memory, not {tensor.device}"
        )
    return tensor.detach()


def _op(options: Any) -> str:
    return OPS[getattr(options, "reduceOp", ReduceOp.SUM)]
