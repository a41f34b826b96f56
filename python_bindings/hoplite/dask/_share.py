"""The objects of the arrays that the workers of this process have sent, or got."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import weakref
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hoplite._client import Client
from hoplite._core import ObjectId
from hoplite.errors import HopliteError, ObjectDeletedError, UnavailableError

# Seconds, beside those for the bytes: where the store is full they travel by TCP, soon.
PUT_TIMEOUT = 0.1
GET_TIMEOUT = 10.0
# Bytes a second: of the slowest copy and the slowest link that are waited for.
SLOWEST_COPY = 100e6
SLOWEST_LINK = 1e6
# Seconds without objects after one could not be put or got.
PAUSE = 2.0

# A frame of a key's value: the key, and where its bytes lie. A task that returns its input gives
# the same memory to a new key, and may have changed it.
Place = tuple[Any, int, int]


@dataclass(frozen=True)
class Entry:
    """The object of a frame."""

    id: ObjectId
    #: What the frame's memory belongs to: while it lives, nothing else lies there.
    owner: weakref.ref[Any]
    #: Whether the object could be put.
    exists: asyncio.Future[bool]


class Share:
    """Which arrays of this process have objects, and which objects its client owns.

    Owns an object while an array with its bytes lives. Decides when bytes have to travel by TCP.
    All calls come from the loop on which it was made. Must never give one key's object for another
    key, nor an object for other bytes than those that lay there when it was put.
    """

    def __init__(self, client: Client, revive: Callable[[], None]) -> None:
        self.client = client
        self.cluster = client.cluster_id
        self.workers = 0
        self._revive = revive
        self._loop = asyncio.get_running_loop()
        self._entries: dict[Place, Entry] = {}
        self._owned: Counter[ObjectId] = Counter()
        self._paused_until = 0.0

    @property
    def works(self) -> bool:
        """Not so for a while after something failed."""
        return self._loop.time() >= self._paused_until

    async def put(self, key: Any, frame: memoryview) -> ObjectId | None:
        """The object of that frame of the key's value; all who ask meanwhile get the same. None: it
        has to travel by TCP. It is immutable bytes, whose end nobody is told of, or the store has
        no room, or the node is away."""
        place = _place(key, frame)
        entry = self._entries.get(place)
        if entry is None or entry.owner() is None:
            owner = _owner(frame)
            try:
                reference = weakref.ref(owner)
            except TypeError:
                return None
            if not self.works:
                return None
            id = ObjectId.random()
            putting = self._loop.create_task(self._put(place, id, frame, owner))
            entry = self._entries[place] = Entry(id, reference, putting)
        return entry.id if await asyncio.shield(entry.exists) else None

    async def _put(self, place: Place, id: ObjectId, frame: memoryview, owner: Any) -> bool:
        self._owned[id] += 1
        timeout = PUT_TIMEOUT + frame.nbytes / SLOWEST_COPY
        try:
            await self.client.aput(frame, id, timeout, owned=True, grace=0.0)
        except HopliteError as error:
            self._end(place, id)
            self.failed(error)
            return False
        self._end_with(owner, place, id)
        return True

    async def own(self, ids: Iterable[ObjectId]) -> None:
        """From now on, until `drop`. The errors of ``Client.own``; then none is owned."""
        wanted = list(ids)
        self._owned.update(wanted)
        try:
            await self.client.aown(wanted, GET_TIMEOUT, grace=0.0)
        except BaseException:
            self.drop(wanted)
            raise

    def drop(self, ids: Iterable[ObjectId]) -> None:
        """Of each, one `own` has ended, or the life of one array."""
        for id in ids:
            self._owned[id] -= 1
            if self._owned[id] <= 0:
                del self._owned[id]
                with contextlib.suppress(HopliteError):  # closed: it owns nothing
                    self.client.disown(id, wait=False)

    async def get(self, key: Any, id: ObjectId, nbytes: int) -> memoryview:
        """The bytes of an object that this process owns: in shared memory, copied where they are
        written to. From now on it is owned while they live. The errors of ``Client.get``."""
        timeout = GET_TIMEOUT + nbytes / SLOWEST_LINK
        view = await self.client.aget(id, timeout, writable=True, only_if_owned=True)
        return self.keep(key, id, view)

    def keep(self, key: Any, id: ObjectId, view: Any) -> memoryview:
        """`view` as a frame of that key's value, which is passed on as that object. Takes over one
        `own`."""
        array = np.frombuffer(view, np.uint8)
        exists = self._loop.create_future()
        exists.set_result(True)
        place = _place(key, array.data)
        self._entries[place] = Entry(id, weakref.ref(array), exists)
        self._end_with(array, place, id)
        return array.data

    def forget(self, ids: Iterable[ObjectId]) -> None:
        """Somebody can't get them: who asks next is given new ones."""
        gone = set(ids)
        for place, entry in list(self._entries.items()):
            if entry.id in gone:
                del self._entries[place]

    def failed(self, error: HopliteError) -> None:
        """Something could not be put or got, and travels by TCP."""
        logging.getLogger("hoplite.dask").info("bytes travel by TCP: %s", error)
        if isinstance(error, ObjectDeletedError):
            return
        self._paused_until = self._loop.time() + PAUSE
        if isinstance(error, UnavailableError):
            self._entries.clear()  # a node that is started again is empty
            self._revive()

    def _end_with(self, owner: Any, place: Place, id: ObjectId) -> None:
        """The object is owned as long as `owner` lives."""

        def ended() -> None:  # on any thread, in the middle of anything
            with contextlib.suppress(RuntimeError):  # the loop is closed, and so is the client
                self._loop.call_soon_threadsafe(self._end, place, id)

        weakref.finalize(owner, ended).atexit = False

    def _end(self, place: Place, id: ObjectId) -> None:
        entry = self._entries.get(place)
        if entry is not None and entry.id == id:
            del self._entries[place]
        self.drop([id])


def here() -> Share | None:
    """That of the running loop's workers; None: they have no node."""
    return _shares.get(asyncio.get_running_loop())


def enter(share: Share) -> None:
    """The running loop's workers have it from now on."""
    _shares[asyncio.get_running_loop()] = share


def leave() -> None:
    """The running loop's workers have none."""
    _shares.pop(asyncio.get_running_loop(), None)


_shares: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Share] = weakref.WeakKeyDictionary()


def _place(key: Any, frame: memoryview) -> Place:
    return key, np.frombuffer(frame, np.uint8).ctypes.data, frame.nbytes


def _owner(frame: memoryview) -> Any:
    """What the frame's memory belongs to: views of an array come and go."""
    owner: Any = frame.obj
    while isinstance(owner, np.ndarray) and isinstance(owner.base, np.ndarray):
        owner = owner.base
    return owner
