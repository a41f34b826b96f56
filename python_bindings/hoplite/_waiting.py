"""How a coroutine waits for a request of a client: no thread sleeps for it.

The client's own thread writes to a descriptor that the loop watches (``add_reader``), one for each
loop; uvloop has that, too.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
import weakref
from collections.abc import Callable
from typing import Protocol, TypeVar

from hoplite import _core

T_co = TypeVar("T_co", covariant=True)


class Request(Protocol[T_co]):
    """What the extension has begun."""

    def ready(self) -> bool: ...
    def tell(self, arrivals: _core.Arrivals, number: int) -> None: ...
    def cancel(self) -> None: ...
    def wait(self) -> T_co: ...


class Waiting:
    """The requests of one client that coroutines wait for. Thread-safe: each loop has its own
    thread. Must never keep a loop alive, nor watch anything for one where nobody waits."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loops: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _OfOneLoop] = (
            weakref.WeakKeyDictionary()
        )

    async def answer(self, request: Request[T_co]) -> T_co:
        """What ``request.wait()`` gives or raises, when it is there. Who is cancelled meanwhile
        cancels the request."""
        if not request.ready():
            loop = asyncio.get_running_loop()
            with self._lock:
                here = self._loops.get(loop)
                if here is None:
                    here = self._loops[loop] = _OfOneLoop()
            await here.until_ready(request, loop)
        return request.wait()


class _OfOneLoop:
    """Used by that loop's thread only. Holds nothing of the loop: what waits is held by the loop's
    reader, so a loop that is closed meanwhile is forgotten with it."""

    def __init__(self) -> None:
        self._arrivals = _core.Arrivals()
        self._numbers = itertools.count()
        self._waiters: Callable[[], _Waiters | None] = lambda: None

    async def until_ready(self, request: Request[T_co], loop: asyncio.AbstractEventLoop) -> None:
        number, waiter = next(self._numbers), loop.create_future()
        waiters = self._waiters()
        if waiters is None or not waiters.by_number:
            waiters = _Waiters(self._arrivals)
            self._waiters = weakref.ref(waiters)
            loop.add_reader(self._arrivals.descriptor, waiters.take)
        waiters.by_number[number] = waiter
        try:
            request.tell(self._arrivals, number)
            await waiter
        except BaseException:  # cancelled, or the loop was closed
            request.cancel()
            raise
        finally:
            del waiters.by_number[number]
            if not waiters.by_number and not loop.is_closed():
                loop.remove_reader(self._arrivals.descriptor)


class _Waiters:
    """What waits in one loop, from the first to the last that do so at a time."""

    def __init__(self, arrivals: _core.Arrivals) -> None:
        self._arrivals = arrivals
        self.by_number: dict[int, asyncio.Future[None]] = {}

    def take(self) -> None:
        """Wakes those whose answers have come."""
        for number in self._arrivals.take():
            waiter = self.by_number.get(number)  # none: it was cancelled
            if waiter is not None and not waiter.done():
                waiter.set_result(None)
