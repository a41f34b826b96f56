"""Channels: one publishes versions of a value, everybody has the newest.

Each version is an object of a random id that its publisher owns. The *head*, a register of the
channel's name, says which is the newest: *claim*, version and id. A claim is a random name of one
opening by a publisher. Order of a publish: the object, the head, and then the oldest version goes.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import struct
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hoplite._arguments import named
from hoplite._core import ObjectId
from hoplite._register import Register, RegisterEntry
from hoplite.errors import (
    ConflictError,
    HopliteError,
    InvalidArgumentError,
    ObjectDeletedError,
    PublisherGoneError,
)

if TYPE_CHECKING:
    from hoplite._client import Client

# How long a shard may take to say who has an object.
ANSWERS_IN = 5.0

_CLAIM_BYTES = 16
_HEAD = struct.Struct(f">{_CLAIM_BYTES}sQ20s")
_NOTHING = bytes(20)  # in place of an id: the version that a successor found was gone
_MOST_VERSION = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class _Head:
    claim: bytes
    version: int
    id: ObjectId | None

    @staticmethod
    def of(entry: RegisterEntry) -> _Head | None:
        """None: nobody has claimed the channel yet."""
        if entry.number == 0:
            return None
        if len(entry.value) != _HEAD.size:
            raise InvalidArgumentError(f"the register holds {entry.value!r:.60}, no channel's head")
        claim, version, id = _HEAD.unpack(entry.value)
        return _Head(claim, version, None if id == _NOTHING else ObjectId.from_bytes(id))

    def packed(self) -> bytes:
        return _HEAD.pack(self.claim, self.version, bytes(self.id) if self.id else _NOTHING)


class _OvertakenError(Exception):
    """The version is gone, or does not come: there is a later head, or will be, or nobody."""


class Snapshot(Mapping[Any, Any]):
    """A version of a channel's value. If that is a dict, a mapping like it: ``load_state_dict``
    takes it."""

    def __init__(self, value: Any, version: int) -> None:
        #: As ``Client.get`` gives it: arrays and tensors are views of shared memory.
        self.value = value
        #: The number that its publisher gave it.
        self.version = version

    def __getitem__(self, key: Any) -> Any:
        return self.value[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.value)

    def __len__(self) -> int:
        return len(self.value)

    def __repr__(self) -> str:
        return f"<Snapshot of version {self.version}: {type(self.value).__name__}>"


class Channel:
    """A channel that is open here, to publish or to read. ``Client.channel`` opens it.

    A version lives while its publisher has the channel open, and is not `keep` versions old; 30 s
    more if the publisher's process died. Threads may share a channel.
    """

    def __init__(self, client: Client, register: Register, name: str, keep: int) -> None:
        self._client = client
        self._register = register
        self._keep = keep
        self._lock = threading.Lock()  # one publishes at a time
        self._claim: bytes | None = None
        self._fenced: ConflictError | None = None  # it was the publisher once
        self._number = 0  # of the head, as this publisher knows it
        self._version = 0  # of the head
        self._published: int | None = None  # the last version of its own
        self._owned: deque[ObjectId] = deque()  # oldest first
        #: As it was opened by.
        self.name = name

    # --- publishing

    @named
    def publish(self, value: Any, version: int | None = None, timeout: float | None = None) -> int:
        """Makes `value` the newest; gives its version. It is copied, as by ``Client.put``.

        `version`: above this publisher's last one; None: one more. The first publish makes this the
        channel's publisher.

        ConflictError: the channel has another publisher, or got one meanwhile: this one is none any
        more. InvalidArgumentError: the version does not grow. The errors of ``Client.put``; after a
        TimeoutError it may be published all the same, and the next publish finds out.
        """
        deadline = _deadline(timeout)
        with self._lock:
            if self._claim is None:
                self._look(deadline)
            self._check_version(version)
            id = self._client.put(value, timeout=_left(deadline), owned=True)
            self._owned.append(id)
            self._move(id, version, deadline)
            self._published = self._version
            while len(self._owned) > self._keep:
                # Not only disowned: a publisher before may own it, and be lost.
                self._client.delete(self._owned.popleft())
            return self._version

    def _look(self, deadline: float | None) -> None:
        """What the head is before the first publish."""
        if self._fenced is not None:
            raise self._fenced
        entry = self._register.get(timeout=_left(deadline))
        if entry.has_writer:
            raise ConflictError(f"channel {self.name!r} has a publisher (take_over)", entry)
        head = _Head.of(entry)
        self._number, self._version = entry.number, head.version if head else 0

    def _check_version(self, version: int | None) -> None:
        # A successor may go on where its checkpoint was.
        least = 0 if self._published is None else self._published + 1
        if version is not None and not least <= version <= _MOST_VERSION:
            raise InvalidArgumentError(
                f"channel {self.name!r}: version {version}, the next one is {least} or above"
            )

    def _move(self, id: ObjectId | None, version: int | None, deadline: float | None) -> None:
        """The head names this object from now on; None as a version: the next one. ConflictError:
        somebody else moved it."""
        claim = self._claim or os.urandom(_CLAIM_BYTES)
        while True:
            chosen = self._version + 1 if version is None else version
            try:
                self._number = self._register.compare_and_set(
                    self._number,
                    _Head(claim, chosen, id).packed(),
                    writer=self._claim is None,
                    timeout=_left(deadline),
                )
            except ConflictError as conflict:
                there = _Head.of(conflict.entry)
                if there is None or there.claim != self._claim:
                    raise self._end(conflict.entry) from None
                # A move of its own, whose answer never came.
                self._number = conflict.number
                self._version = self._published = there.version
                self._check_version(version)
            else:
                self._claim, self._version = claim, chosen
                return

    def _end(self, entry: RegisterEntry) -> ConflictError:
        """It is no publisher (any more)."""
        while self._owned:
            self._client.disown(self._owned.popleft())
        error = ConflictError(f"channel {self.name!r} has another publisher", entry)
        if self._claim is not None:
            self._claim, self._published, self._fenced = None, None, error
        return error

    def _take_over(self, timeout: float | None) -> None:
        """Claims the channel. What its last publisher published stays."""
        deadline = _deadline(timeout)
        with self._lock:
            while self._claim is None:
                entry = self._register.get(timeout=_left(deadline))
                head = _Head.of(entry)
                self._number = entry.number
                id = self._own(head.id if head else None, deadline)
                with contextlib.suppress(ConflictError):  # it published, or somebody else took over
                    self._move(id, head.version if head else 0, deadline)

    def _own(self, id: ObjectId | None, deadline: float | None) -> ObjectId | None:
        """Before the claim: its owner may be gone in a moment. None: it is gone."""
        if id is None:
            return None
        try:
            self._client.own(id, timeout=_left(deadline))
        except ObjectDeletedError:
            return None
        self._owned.append(id)
        return id

    # --- reading

    @named
    def latest(self, timeout: float | None = None) -> int | None:
        """The newest version; None: nobody has published yet."""
        head = _Head.of(self._register.get(timeout=timeout))
        return head.version if head else None

    @named
    def get(self, at_least: int | None = None, timeout: float | None = None) -> Snapshot:
        """The newest version, of `at_least` this number; waits for it.

        PublisherGoneError: it is not there, and the publisher is gone. TimeoutError.
        """
        least, deadline = at_least or 0, _deadline(timeout)
        entry = self._register.get(timeout=_left(deadline))
        while True:
            head = _Head.of(entry)
            if head and head.id and head.version >= least:
                with contextlib.suppress(_OvertakenError):
                    return Snapshot(self._fetch(head.id, entry, deadline), head.version)
            after = self._register.changed(entry.number, timeout=_left(deadline))
            self._check_publisher(entry, after)
            entry = after

    @named
    async def aget(self, at_least: int | None = None, timeout: float | None = None) -> Snapshot:
        """``get``, for coroutines."""
        least, deadline = at_least or 0, _deadline(timeout)
        entry = await self._register.aget(timeout=_left(deadline))
        while True:
            head = _Head.of(entry)
            if head and head.id and head.version >= least:
                with contextlib.suppress(_OvertakenError):
                    return Snapshot(await self._afetch(head.id, entry, deadline), head.version)
            after = await self._register.achanged(entry.number, timeout=_left(deadline))
            self._check_publisher(entry, after)
            entry = after

    async def updates(self, wait_for_successor: bool = False) -> AsyncIterator[Snapshot]:
        """The newest version each time; what came between is skipped.

        PublisherGoneError: there is no next one, since the publisher is gone; not with
        `wait_for_successor`.
        """
        entry = RegisterEntry(0, b"", False)
        seen: ObjectId | None = None
        while True:
            after = await self._register.achanged(entry.number, only_later=wait_for_successor)
            self._check_publisher(entry, after)
            entry, head = after, _Head.of(after)
            if head is None or head.id is None or head.id == seen:
                continue  # somebody took over
            with contextlib.suppress(_OvertakenError):
                value = await self._afetch(head.id, entry, None)
                seen = head.id
                yield Snapshot(value, head.version)

    def _fetch(self, id: ObjectId, entry: RegisterEntry, deadline: float | None) -> Any:
        """The value of the head of this entry."""
        getting = self._client.get_future(id, _left(deadline), only_if_owned=True)
        moved = self._register.changed_future(entry.number)
        try:
            while not getting.done():
                wait((getting, moved), return_when=FIRST_COMPLETED)
                if not moved.done():
                    continue
                moved = self._register.changed_future(moved.result().number)
                if not getting.done() and self._is_lost(id):
                    raise _OvertakenError
            return getting.result()
        except ObjectDeletedError:
            raise _OvertakenError from None
        finally:
            getting.cancel()
            moved.cancel()

    async def _afetch(self, id: ObjectId, entry: RegisterEntry, deadline: float | None) -> Any:
        """``_fetch``, for coroutines."""
        begun = self._client.aget(id, _left(deadline), only_if_owned=True)
        getting = asyncio.ensure_future(begun)
        moved = asyncio.ensure_future(self._register.achanged(entry.number, only_later=True))
        try:
            while not getting.done():
                await asyncio.wait((getting, moved), return_when=FIRST_COMPLETED)
                if not moved.done():
                    continue
                number = moved.result().number
                moved = asyncio.ensure_future(self._register.achanged(number, only_later=True))
                if not getting.done() and await asyncio.to_thread(self._is_lost, id):
                    raise _OvertakenError
            return await getting
        except ObjectDeletedError:
            raise _OvertakenError from None
        finally:
            getting.cancel()
            moved.cancel()

    def _is_lost(self, id: ObjectId) -> bool:
        """Nobody has all of it, as far as its shard can tell: it does not come any more."""
        try:
            info = self._client.info_many([id], ANSWERS_IN)[0]
        except HopliteError:
            return False
        return info is None or not (
            info.in_directory or any(holder.complete for holder in info.holders)
        )

    def _check_publisher(self, before: RegisterEntry, after: RegisterEntry) -> None:
        if after.number == before.number and not after.has_writer:
            raise PublisherGoneError(
                f"channel {self.name!r}: its publisher is gone; its last version was "
                f"{(_Head.of(after) or _Head(b'', 0, None)).version}"
            )

    # --- the end

    def close(self) -> None:
        """It publishes and reads no more; what it published goes. Idempotent."""
        self._register.close()  # who waits for it, too
        with self._lock:
            while self._owned:
                self._client.disown(self._owned.popleft())

    def __enter__(self) -> Channel:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __repr__(self) -> str:
        publishes = f", publisher of version {self._version}" if self._claim else ""
        return f"<Channel {self.name!r}{publishes}>"


def _deadline(timeout: float | None) -> float | None:
    return None if timeout is None else time.monotonic() + timeout


def _left(deadline: float | None) -> float | None:
    return None if deadline is None else max(0.0, deadline - time.monotonic())
