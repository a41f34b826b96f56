"""Requests of a client as ``concurrent.futures.Future``, for programs without an event loop."""

from __future__ import annotations

import itertools
import select
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from hoplite import _core
from hoplite._callbacks import Callbacks
from hoplite._waiting import Request

T = TypeVar("T")


class Asked(Future[Any]):
    """A future that says what was asked."""

    def __init__(self, what: str) -> None:
        super().__init__()
        self._what = what

    def __repr__(self) -> str:
        if not self.done():
            return f"<Future of {self._what}: under way>"
        if self.cancelled():
            return f"<Future of {self._what}: cancelled>"
        error = self.exception()
        return f"<Future of {self._what}: {'done' if error is None else repr(error)}>"


# Seconds until the next future is settled although a callback of the one before is still running.
PATIENCE = 0.01


class Futures:
    """The requests of one client that have a future. One thread waits for them all; it ends when
    none is under way, and a next one begins with the next request. Other threads settle them, since
    what hangs on a future, and what a value is unpickled by, may wait for another one.
    Thread-safe."""

    def __init__(self) -> None:
        self._callbacks = Callbacks("hoplite-callbacks", PATIENCE)
        self._lock = threading.Lock()
        self._arrivals: _core.Arrivals | None = None
        self._numbers = itertools.count()
        self._under_way: dict[int, Callable[[], None]] = {}

    def of(self, request: Request[T], value_of: Callable[[T], Any], what: str) -> Future[Any]:
        """What ``value_of`` makes of the answer. Who cancels the future cancels the request."""
        future = Asked(what)

        def settle() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(value_of(request.wait()))
            except BaseException as error:
                future.set_exception(error)

        future.add_done_callback(lambda done: request.cancel() if done.cancelled() else None)
        with self._lock:
            if self._arrivals is None:
                self._arrivals = _core.Arrivals()
            number = next(self._numbers)
            if not self._under_way:
                threading.Thread(
                    target=self._serve, args=(self._arrivals,), name="hoplite-futures", daemon=True
                ).start()
            self._under_way[number] = settle
            arrivals = self._arrivals
        request.tell(arrivals, number)
        return future

    def _serve(self, arrivals: _core.Arrivals) -> None:
        arrived = select.poll()  # `select` takes no descriptor above 1,023
        arrived.register(arrivals.descriptor, select.POLLIN)
        while True:
            arrived.poll()
            for number in arrivals.take():
                with self._lock:
                    self._callbacks.run(self._under_way.pop(number))
                    if not self._under_way:
                        self._arrivals = None
                        return
