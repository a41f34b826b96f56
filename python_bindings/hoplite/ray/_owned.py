"""The ids that this process owns because it made their Refs."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

from hoplite._client import Client
from hoplite._core import ObjectId
from hoplite.errors import CancelledError, HopliteError, ObjectDeletedError, TimeoutError
from hoplite.ray import _errands

# Seconds that the node is given for an answer, and between two attempts.
ANSWERS_IN = 5.0
PAUSE = 0.2


class Owned:
    """What this process's client owns.

    Decides when it says so again: a node that was started again has forgotten who owned. Is told of
    an id before anybody can have its Ref, and when Ray says that nobody has it any more. Must never
    own an id after that, nor go on when `alive` says that the job is over.
    """

    def __init__(self, client: Client, alive: Callable[[Owned], bool]) -> None:
        self.client = client
        self._alive = alive
        self._lock = threading.Lock()
        self._ids: set[ObjectId] = set()
        self._watched = False

    @contextlib.contextmanager
    def beginning(self, id: ObjectId) -> Iterator[None]:
        """Meanwhile the client is told to own it, and the Ref is made; if that fails it owns
        nothing."""
        with self._lock:
            self._ids.add(id)
            first, self._watched = not self._watched, True
        if first:
            threading.Thread(target=self._watch, name="hoplite-owner", daemon=True).start()
        try:
            yield
        except BaseException:
            _errands.run(lambda: self.end(id))
            raise

    def end(self, id: ObjectId) -> None:
        """Nobody has a Ref to it. Waits for the node: an errand."""
        with self._lock:
            self._ids.discard(id)
        while self._alive(self):
            try:
                self.client.disown(id, ANSWERS_IN)
            except TimeoutError:
                continue
            except HopliteError:
                pass  # its node is gone, and with it what it knew of owners
            return

    def _watch(self) -> None:
        """Its own thread: to the end of the job."""
        while self._alive(self):
            try:
                # Before the ids are owned: a connection that ends between is noticed.
                connection = self.client._core.until_end(ANSWERS_IN)
                self._own_all()
                connection.wait()
            except CancelledError:
                return
            except HopliteError:
                time.sleep(PAUSE)

    def _own_all(self) -> None:
        with self._lock:
            ids = list(self._ids)
        for id in ids:
            try:
                self.client.own(id, ANSWERS_IN)
            except ObjectDeletedError:
                continue  # it was freed, or the node was away for too long
            if id not in self._ids:
                self.end(id)
