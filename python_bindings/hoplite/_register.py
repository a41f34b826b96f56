"""Registers: small values with a number, to read and to compare and set."""

from __future__ import annotations

import hashlib
from concurrent.futures import Future

from hoplite import _core
from hoplite._arguments import named
from hoplite._futures import Futures
from hoplite._register_entry import RegisterEntry
from hoplite._waiting import Waiting
from hoplite.errors import CancelledError, ConflictError, InvalidArgumentError

_HALF = 64  # bits of each part of a number
_LONGEST_NAME = 256  # bytes


def fitting(name: str) -> str:
    """A register's name for a name of any length: of a longer one its SHA-256."""
    encoded = name.encode()
    if len(encoded) <= _LONGEST_NAME:
        return name
    return f"sha256/{hashlib.sha256(encoded).hexdigest()}"


class Register:
    """A register that is open here. ``Client.register`` opens it.

    It lives in the directory as long as somebody has it open, and is forgotten with the last: it is
    no place to store things. It is closed by ``close``, as a context manager, with its client, and
    when this process dies. It outlives restarts of its directory shard, which then answers nothing
    for two seconds.

    Calls raise UnavailableError when the connection to the node has ended: open it again.
    """

    def __init__(self, core: _core.Register, name: str, waiting: Waiting, futures: Futures) -> None:
        self._open: _core.Register | None = core
        self._waiting = waiting
        self._futures = futures
        #: As it was opened by.
        self.name = name

    @named
    def get(self, timeout: float | None = None) -> RegisterEntry:
        """What it holds after this call began."""
        return _entry(self._opened().get_later(timeout).wait())

    @named
    async def aget(self, timeout: float | None = None) -> RegisterEntry:
        """``get``, for coroutines."""
        return _entry(await self._waiting.answer(self._opened().get_later(timeout)))

    @named
    def compare_and_set(
        self,
        expected: int,
        value: bytes | bytearray | memoryview,
        writer: bool = False,
        timeout: float | None = None,
    ) -> int:
        """Sets the value if the register's number is `expected`; gives its number from then on.

        With `writer` this handle becomes the register's writer, and whoever was so before is not
        any more: that one's next write raises ConflictError. This returns when the node of the
        writer before has heard of it, or was lost.

        ConflictError: the number was another; its ``entry`` says what the register holds. After any
        other error the write may have been done: ``get`` tells. One that was done raises
        ConflictError in one case: its answer was lost with a session, somebody wrote after it, and
        before the next session the shard was started again, or gave up the node.
        InvalidArgumentError: the value has more than 1,024 bytes.
        """
        return self._written(self._write(expected, value, writer, timeout).wait(), expected)

    @named
    async def acompare_and_set(
        self,
        expected: int,
        value: bytes | bytearray | memoryview,
        writer: bool = False,
        timeout: float | None = None,
    ) -> int:
        """``compare_and_set``, for coroutines."""
        begun = self._write(expected, value, writer, timeout)
        return self._written(await self._waiting.answer(begun), expected)

    @named
    def changed(
        self, after: int, timeout: float | None = None, *, only_later: bool = False
    ) -> RegisterEntry:
        """Waits for a number above `after` and gives the newest entry that the node has heard of;
        what came between is skipped.

        If somebody had claimed the register, and is gone, it gives the entry as it is:
        ``has_writer`` is False. With `only_later` it goes on to wait: another may come.
        """
        return _entry(self._changed(after, only_later, timeout).wait())

    @named
    async def achanged(
        self, after: int, timeout: float | None = None, *, only_later: bool = False
    ) -> RegisterEntry:
        """``changed``, for coroutines."""
        return _entry(await self._waiting.answer(self._changed(after, only_later, timeout)))

    def changed_future(self, after: int, timeout: float | None = None) -> Future[RegisterEntry]:
        """``changed`` with `only_later`, for programs without an event loop."""
        begun = self._changed(after, True, timeout)
        return self._futures.of(begun, _entry, f"a change of register {self.name!r}")

    def close(self) -> None:
        """The handle is closed; if it was the writer there is none any more. Idempotent."""
        self._open = None

    def __enter__(self) -> Register:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Register {self.name!r}{', closed' if self._open is None else ''}>"

    def _opened(self) -> _core.Register:
        if self._open is None:
            raise CancelledError(f"register {self.name!r} was closed")
        return self._open

    def _changed(self, after: int, only_later: bool, timeout: float | None) -> _core.RegisterLater:
        return self._opened().changed_later(_parts(after), only_later, timeout)

    def _write(
        self,
        expected: int,
        value: bytes | bytearray | memoryview,
        writer: bool,
        timeout: float | None,
    ) -> _core.RegisterWriteLater:
        if not isinstance(value, (bytes, bytearray, memoryview)):
            raise TypeError(f"compare_and_set: value: bytes expected, not {value!r:.100}")
        return self._opened().write_later(_parts(expected), bytes(value), writer, timeout)

    def _written(self, write: _core.RegisterWrite, expected: int) -> int:
        entry = _entry(write.entry)
        if write.written:
            return entry.number
        said = f"register {self.name!r} has number {entry.number}, not {expected}"
        raise ConflictError(said, entry)


def _entry(core: _core.RegisterEntry) -> RegisterEntry:
    incarnation, sequence = core.number
    return RegisterEntry(incarnation << _HALF | sequence, core.value, core.has_writer)


def _parts(number: int) -> tuple[int, int]:
    if not 0 <= number < 1 << 2 * _HALF:
        raise InvalidArgumentError(f"{number} is the number of no register")
    return number >> _HALF, number & ((1 << _HALF) - 1)
