"""The objects of the arrays that the workers of this process have sent, or got."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import weakref
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from hoplite._client import Client
from hoplite._core import ObjectId
from hoplite.errors import (
    HopliteError,
    ObjectDeletedError,
    ResourceExhaustedError,
    UnavailableError,
)

# Seconds, beside those for the bytes at so many bytes a second: no slower link is waited for.
TIMEOUT, SLOWEST = 10.0, 1e6
# Seconds until a request that goes on is asked whether it waits for room, and how it says so.
ROOM_TIMEOUT, NO_ROOM = 0.3, "no memory is free"
# Seconds without objects after the store had no room, and after anything else failed.
FULL_PAUSE, PAUSE = 10.0, 1.0

T = TypeVar("T")

# A frame of a key's value: the key, and where its bytes lie. A task that returns its input gives
# the same memory to a new key, and may have changed it.
Place = tuple[Any, int, int]


@dataclass
class Entry:
    """The object of a frame."""

    id: ObjectId
    #: What the frame's memory belongs to: while it lives, nothing else lies there.
    owner: weakref.ref[Any]
    #: Whether the object could be put. None: it was got.
    put: asyncio.Future[bool] | None = None
    #: Called when the owner has ended.
    end: weakref.finalize[Any, Any] | None = None


class Share:
    """Which arrays of this process have objects, and which objects its client owns.

    Owns an object while an array with its bytes lives. Decides when bytes have to travel by TCP.
    All calls come from the loop on which it was made. Must never give one key's object for another
    key, nor an object for other bytes than those that lay there when it was put.
    """

    def __init__(self, client: Client, room: int, revive: Callable[[], None]) -> None:
        """`room`: bytes of the node's store; `revive` is called when the node is away."""
        self.client = client
        self.cluster = client.cluster_id
        self.workers = 0
        self._room = room
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
                entry = Entry(ObjectId.random(), weakref.ref(owner))
            except TypeError:
                return None
            if not self.works or frame.nbytes > self._room:
                return None
            self._entries[place] = entry
            entry.put = self._loop.create_task(self._put(place, entry, frame, owner))
        exists = entry.put is None or await asyncio.shield(entry.put)
        return entry.id if exists else None

    async def _put(self, place: Place, entry: Entry, frame: memoryview, owner: Any) -> bool:
        try:
            try:
                await self._put_now(entry.id, frame)
            except ResourceExhaustedError:
                self._make_room()
                entry.id = ObjectId.random()  # the other one was withdrawn
                await self._put_now(entry.id, frame)
        except HopliteError as error:
            if self._entries.get(place) is entry:
                del self._entries[place]
            self.failed(error)
            return False
        self._end_with(owner, place, entry)
        return True

    async def _put_now(self, id: ObjectId, frame: memoryview) -> None:
        """This process owns it, or it does not exist."""
        self._owned[id] += 1
        timeout = TIMEOUT + frame.nbytes / SLOWEST
        putting = self.client.aput(frame, id, timeout, owned=True, grace=0.0)
        try:
            await self._if_there_is_room(id, putting)
        except BaseException:
            self.drop([id])
            raise

    def _make_room(self) -> None:
        """Drops the older half of what was put: who asks for it later has it put again."""
        done = [(place, entry) for place, entry in self._entries.items() if entry.put and entry.end]
        for place, entry in done[: (len(done) + 1) // 2]:
            if entry.end is not None and entry.end.detach() is not None:
                self._end(place, entry)

    async def own(self, ids: Iterable[ObjectId]) -> None:
        """From now on, until `drop`. The errors of ``Client.own``; then none is owned."""
        wanted = list(ids)
        self._owned.update(wanted)
        try:
            await self.client.aown(wanted, TIMEOUT, grace=0.0)
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
        written to. From now on it is owned while they live. The errors of ``Client.get``;
        ResourceExhaustedError soon, if the store has no room."""
        timeout = TIMEOUT + nbytes / SLOWEST
        getting = self.client.aget(id, timeout, writable=True, only_if_owned=True)
        return self.keep(key, id, await self._if_there_is_room(id, getting))

    async def _if_there_is_room(self, id: ObjectId, request: Coroutine[Any, Any, T]) -> T:
        """What the put or get of that object gives; else it would wait to its end."""
        going = asyncio.ensure_future(request)
        patience = ROOM_TIMEOUT
        try:
            while not (await asyncio.wait([going], timeout=patience))[0]:
                why = await asyncio.to_thread(self.client.why, id, TIMEOUT)
                if NO_ROOM in why and not going.done():
                    raise ResourceExhaustedError(why)
                patience *= 2
            return await going
        finally:
            if going.cancel():  # before the object is disowned
                await asyncio.wait([going])

    def keep(self, key: Any, id: ObjectId, view: Any) -> memoryview:
        """`view` as a frame of that key's value, which is passed on as that object. Takes over one
        `own`."""
        array = np.frombuffer(view, np.uint8)
        place, entry = _place(key, array.data), Entry(id, weakref.ref(array))
        self._entries[place] = entry
        self._end_with(array, place, entry)
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
        pause = FULL_PAUSE if isinstance(error, ResourceExhaustedError) else PAUSE
        self._paused_until = self._loop.time() + pause
        if isinstance(error, UnavailableError):
            self._entries.clear()  # a node that is started again is empty
            self._revive()

    def _end_with(self, owner: Any, place: Place, entry: Entry) -> None:
        """The object is owned as long as `owner` lives."""

        def ended() -> None:  # on any thread, in the middle of anything
            with contextlib.suppress(RuntimeError):  # the loop is closed, and so is the client
                self._loop.call_soon_threadsafe(self._end, place, entry)

        entry.end = weakref.finalize(owner, ended)
        entry.end.atexit = False

    def _end(self, place: Place, entry: Entry) -> None:
        if self._entries.get(place) is entry:
            del self._entries[place]
        self.drop([entry.id])


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
