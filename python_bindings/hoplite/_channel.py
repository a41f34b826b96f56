"""Channels: one publishes versions of a value, everybody has the newest.

What a version is made of, and who publishes, is decided by the C++ library (R99); `_parts` makes
parts of values.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

from hoplite import _core, _parts
from hoplite._arguments import named
from hoplite._core import ObjectId
from hoplite._waiting import Waiting
from hoplite.errors import InvalidArgumentError

_MOST_VERSION = (1 << 64) - 1


class Snapshot(Mapping[Any, Any]):
    """A version of a channel's value, all of it. If that is a dict, a mapping like it:
    ``load_state_dict`` takes it."""

    def __init__(self, core: _core.ChannelSnapshot) -> None:
        self._core = core
        #: As ``Client.get`` gives it: arrays and tensors are views of shared memory.
        self.value = _parts.value_of(core)
        #: The number that its publisher gave it.
        self.version = core.version

    def copy_to(self, target: Mapping[Any, Any]) -> None:
        """Copies each array and tensor into that of the same place, in nested dicts, lists and
        tuples too: into memory of one's own, which stays when the next version comes. Of what is no
        array the target gets the version's.

        InvalidArgumentError: the value is no dict, or names the first entry that is not of one
        dtype and shape in both, is not in both, or can't be written to.
        """
        _parts.copy_to(self.value, target, f"version {self.version}")

    def __getitem__(self, key: Any) -> Any:
        return self.value[key]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.value)

    def __len__(self) -> int:
        return len(self.value)

    def __repr__(self) -> str:
        return f"<Snapshot of version {self.version}: {type(self.value).__name__}>"


class Updates(AsyncIterator[Snapshot], Iterator[Snapshot]):
    """The versions of a channel, each newer than the one before. Keeps none of them."""

    def __init__(self, core: _core.Channel, waiting: Waiting, wait_for_successor: bool) -> None:
        self._core = core
        self._waiting = waiting
        self._wait_for_successor = wait_for_successor
        self._last: ObjectId | None = None

    def __iter__(self) -> Updates:
        return self

    def __aiter__(self) -> Updates:
        return self

    def __next__(self) -> Snapshot:
        return self._seen(self._begin().wait())

    async def __anext__(self) -> Snapshot:
        return self._seen(await self._waiting.answer(self._begin()))

    def _begin(self) -> _core.SnapshotLater:
        return self._core.get_later(after=self._last, wait_for_successor=self._wait_for_successor)

    def _seen(self, found: _core.ChannelSnapshot) -> Snapshot:
        self._last = found.id
        return Snapshot(found)


class Channel:
    """A channel that is open here, to publish or to read. ``Client.channel`` opens it.

    A version lives while its publisher has the channel open, and keeps it (`keep`); 30 s
    more if the publisher's process died. Threads may share a channel.
    """

    def __init__(self, core: _core.Channel, waiting: Waiting, name: str) -> None:
        self._core = core
        self._waiting = waiting
        #: As it was opened by.
        self.name = name

    @named
    def publish(self, value: Any, version: int | None = None, timeout: float | None = None) -> int:
        """Makes `value` the newest; gives its version. It is copied, as by ``Client.put``; an array
        or tensor of 64 KiB and more that is equal to the last version's is not sent again.

        `version`: above this publisher's last one; None: one more. The first publish makes this the
        channel's publisher.

        ConflictError: the channel has another publisher, or got one meanwhile: this one is none any
        more. InvalidArgumentError: the version does not grow. The errors of ``Client.put``; after a
        TimeoutError it may be published all the same, and the next publish finds out.
        """
        if version is not None and not 0 <= version <= _MOST_VERSION:
            raise InvalidArgumentError(f"channel {self.name!r}: {version} is no version")
        parts, stream = _parts.parts_of(value)
        return self._core.publish(parts, stream, version, timeout)

    @named
    def latest(self, timeout: float | None = None) -> int | None:
        """The newest version; None: nobody has published yet."""
        return self._core.latest(timeout)

    @named
    def get(
        self,
        at_least: int | None = None,
        timeout: float | None = None,
        *,
        exactly: int | None = None,
    ) -> Snapshot:
        """The newest version, of `at_least` this number, or `exactly` this one; waits for it.

        PublisherGoneError: it is not there, and the publisher is gone. NotFoundError: the newest is
        a later one than `exactly`. TimeoutError.
        """
        return Snapshot(self._core.get_later(at_least or 0, exactly, timeout=timeout).wait())

    @named
    async def aget(
        self,
        at_least: int | None = None,
        timeout: float | None = None,
        *,
        exactly: int | None = None,
    ) -> Snapshot:
        """``get``, for coroutines. Cancelling it cancels the request."""
        begun = self._core.get_later(at_least or 0, exactly, timeout=timeout)
        return Snapshot(await self._waiting.answer(begun))

    @named
    def updates(self, wait_for_successor: bool = False) -> Updates:
        """The newest version each time, by ``async for`` or ``for``; what came between is skipped.

        PublisherGoneError: there is no next one, since the publisher is gone; not with
        `wait_for_successor`.
        """
        return Updates(self._core, self._waiting, wait_for_successor)

    @named
    def stream(
        self,
        at_least: int | None = None,
        timeout: float | None = None,
        *,
        exactly: int | None = None,
    ) -> Iterator[tuple[str, Any]]:
        """The arrays and tensors of the version that ``get`` would give, one after the other while
        they arrive, each with its name: the keys to it, with dots between; of what lies in no dict,
        list or tuple "#" and a number. They are copies. One array at two places comes once for each
        name. What is only a part of its memory, such as an expanded tensor, comes as bytes.

        >>> with client.channel("streamed") as trainer:
        ...     version = trainer.publish({"layer": {"w": np.ones(3), "b": np.zeros(1)}})
        ...     [name for name, array in trainer.stream()]
        ['layer.w', 'layer.b']

        `timeout`: of the whole. What came is of a whole version only when the last one has come.
        ObjectDeletedError: the version was replaced too early: begin again. The errors of ``get``.
        """
        until = None if timeout is None else time.monotonic() + timeout
        opened = self._core.stream(at_least or 0, exactly, timeout)
        return _streamed(opened, until)

    def close(self) -> None:
        """It publishes and reads no more; what it published goes. Idempotent."""
        self._core.close()

    def __enter__(self) -> Channel:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Channel {self.name!r}>"


def _streamed(opened: _core.SnapshotStream, until: float | None) -> Iterator[tuple[str, Any]]:
    while True:
        left = None if until is None else max(0.0, until - time.monotonic())
        found = opened.next(left)
        if found is None:
            return
        said, copy = found
        part = _parts.part_of(said, copy)
        for name in _parts.names_of(said):
            yield name, part
