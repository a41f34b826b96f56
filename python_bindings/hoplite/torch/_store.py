"""A store for ``torch.distributed`` on registers: ranks find each other by a name, and not by the
address of a first one."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable
from datetime import timedelta

import hoplite
from hoplite._core import ObjectId
from hoplite._register import fitting
from hoplite._torch import require_torch

require_torch()
from torch.distributed import DistStoreError  # noqa: E402
from torch.distributed import Store as _Store  # type: ignore[attr-defined]  # noqa: E402

# How a register's value begins. An empty one is a key that was deleted, or is still to be set.
_HERE, _OBJECT = b"v", b"o"
_MOST = 1024 - 1
# Seconds until a node that was lost is to be there again, and between two looks.
BACK_IN, PAUSE = 30.0, 0.1


class Store(_Store):
    """A ``torch.distributed.Store``, for ``init_process_group(store=...)``: each key is a register.

    A key lives as long as one of the processes that used it has its store, and goes with the last
    one; that of a value beyond 1,023 bytes with the process that set it. `name` keeps stores of one
    cluster apart. Keep the store while torch uses it: torch does not. ``num_keys`` counts the
    keys that this process has used. Threads may share it.

    >>> import hoplite.torch
    >>> store = hoplite.torch.Store(client, "a run")
    >>> store.set("rank0", "here")
    >>> store.get("rank0"), store.add("ready", 1), store.add("ready", 1)
    (b'here', 1, 2)

    DistStoreError: a key was not there within the timeout. UnavailableError: the node was lost, and
    is not back within 30 s; or it was lost while this call wrote: whether it did is not known.
    """

    def __init__(
        self,
        client: hoplite.Client,
        name: str = "torch",
        timeout: timedelta = timedelta(minutes=5),
    ) -> None:
        super().__init__()
        self.set_timeout(timeout)
        self._client, self._name = client, name
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._open: dict[str, hoplite.Register] = {}
        self._owned: dict[str, ObjectId] = {}  # where large values lie that were set here

    # --- what torch calls

    def set_timeout(self, timeout: timedelta) -> None:
        super().set_timeout(timeout)
        self._timeout = timeout

    def set(self, key: str, value: str | bytes) -> None:
        said = _bytes(value)
        self._change(key, lambda _: said)

    def get(self, key: str) -> bytes:
        return self._value(key, self._deadline(None))

    def add(self, key: str, amount: int) -> int:
        return int(self._change(key, lambda value: b"%d" % (int(value or 0) + amount)) or 0)

    def compare_set(self, key: str, expected: str | bytes, desired: str | bytes) -> bytes:
        old, new = _bytes(expected), _bytes(desired)

        def chosen(value: bytes | None) -> bytes | None:
            return new if value == old or (value is None and not old) else value

        found = self._change(key, chosen)
        return old if found is None else found

    def check(self, keys: Iterable[str]) -> bool:
        deadline = self._deadline(None)
        return all(self._now(key, deadline).value for key in keys)

    def wait(self, keys: Iterable[str], timeout: timedelta | None = None) -> None:
        deadline = self._deadline(timeout)
        for key in keys:
            self._entry(key, deadline)

    def delete_key(self, key: str) -> bool:
        gone: list[bytes] = []

        def nothing(value: bytes | None) -> bytes | None:
            gone[:] = [] if value is None else [value]
            return None

        self._change(key, nothing)
        with self._lock:
            self._open.pop(key, None)  # it is opened again if somebody asks
        return bool(gone)

    def num_keys(self) -> int:
        with self._lock:
            keys = list(self._open)
        return sum(self.check([key]) for key in keys)

    # By these names torch finds them.
    deleteKey = delete_key
    getNumKeys = num_keys
    compareSet = compare_set

    # --- on registers

    def _register(self, key: str) -> hoplite.Register:
        with self._lock:
            if key not in self._open:
                name = fitting(f"{self._name}/{key}")
                self._open[key] = self._client.register(name, self._seconds())
            return self._open[key]

    def _asked(
        self, key: str, deadline: float, ask: Callable[[hoplite.Register], hoplite.RegisterEntry]
    ) -> hoplite.RegisterEntry:
        """What the register says. It is opened again, and asked again, when its node was started
        again. UnavailableError: it is not back in time."""
        back_by = deadline
        while True:
            register: hoplite.Register | None = None
            try:
                register = self._register(key)
                return ask(register)
            except hoplite.UnavailableError:
                self._forget(key, register)
                back_by = min(back_by, time.monotonic() + BACK_IN)
                if os.getpid() != self._process or time.monotonic() > back_by:
                    raise
                time.sleep(PAUSE)

    def _now(self, key: str, deadline: float) -> hoplite.RegisterEntry:
        return self._asked(key, deadline, lambda register: register.get(_left(deadline)))

    def _forget(self, key: str, lost: hoplite.Register | None) -> None:
        with self._lock:
            if lost is not None and self._open.get(key) is lost:
                del self._open[key]

    def _change(self, key: str, chosen: Callable[[bytes | None], bytes | None]) -> bytes | None:
        """Makes of the value, None if there is none, another one; gives that."""
        deadline = self._deadline(None)
        entry = self._now(key, deadline)
        while True:
            register = self._register(key)
            value = self._read(entry.value, deadline) if entry.value else None
            new = chosen(value)
            if new == value:
                return value
            written, id = self._written(new, deadline)
            try:
                register.compare_and_set(entry.number, written, timeout=_left(deadline))
            except hoplite.ConflictError as conflict:
                entry = conflict.entry
                self._drop(id)
            except hoplite.UnavailableError:  # it may have been written
                self._forget(key, register)
                self._drop(id)
                raise
            else:
                self._keep(key, id)
                return new

    def _written(self, value: bytes | None, deadline: float) -> tuple[bytes, ObjectId | None]:
        if value is None:
            return b"", None
        if len(value) <= _MOST:
            return _HERE + value, None
        id = self._client.put(value, timeout=_left(deadline), owned=True)
        return _OBJECT + bytes(id), id

    def _read(self, written: bytes, deadline: float) -> bytes:
        if written.startswith(_HERE):
            return written[1:]
        id = ObjectId.from_bytes(written[1:])
        return bytes(self._client.get(id, _left(deadline), only_if_owned=True))

    def _value(self, key: str, deadline: float) -> bytes:
        while True:
            entry = self._entry(key, deadline)
            try:
                return self._read(entry.value, deadline)
            except hoplite.ObjectDeletedError:  # it was set anew, or went with who had set it
                self._changed(key, entry.number, deadline)

    def _entry(self, key: str, deadline: float) -> hoplite.RegisterEntry:
        """With a value: waits for it."""
        entry = self._now(key, deadline)
        while not entry.value:
            entry = self._changed(key, entry.number, deadline)
        return entry

    def _changed(self, key: str, after: int, deadline: float) -> hoplite.RegisterEntry:
        try:
            return self._asked(
                key,
                deadline,
                lambda register: register.changed(after, _left(deadline), only_later=True),
            )
        except hoplite.TimeoutError as late:
            raise DistStoreError(f"store {self._name!r}: key {key!r} was not set in time") from late

    def _keep(self, key: str, id: ObjectId | None) -> None:
        with self._lock:
            old = self._owned.pop(key, None)
            if id is not None:
                self._owned[key] = id
        self._drop(old)

    def _drop(self, id: ObjectId | None) -> None:
        if id is not None:
            self._client.disown(id)

    def _seconds(self) -> float:
        return self._timeout.total_seconds()

    def _deadline(self, timeout: timedelta | None) -> float:
        return time.monotonic() + (self._timeout if timeout is None else timeout).total_seconds()


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


def _left(deadline: float) -> float:
    return max(0.0, deadline - time.monotonic())
