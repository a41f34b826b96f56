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
from hoplite.ray._made_once import MadeOnce

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
        self.made_once = MadeOnce(client, lambda: alive(self))
        self._alive = alive
        self._lock = threading.Lock()
        self._ids: dict[ObjectId, bool] = {}  # whether it is put once
        self._watched = False

    @contextlib.contextmanager
    def beginning(self, id: ObjectId, once: bool = False) -> Iterator[None]:
        """Meanwhile the client is told to own it, and the Ref is made; if that fails it owns
        nothing. `once`: it is put meanwhile, and never again."""
        with self._lock:
            self._ids[id] = once
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
            self._ids.pop(id, None)
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
        again = False
        while self._alive(self):
            try:
                # Before the ids are owned: a connection that ends between is noticed.
                connection = self.client._core.until_end(ANSWERS_IN)
                self._own_all(again)
                again = True
                connection.wait()
            except CancelledError:
                return
            except HopliteError:
                time.sleep(PAUSE)

    def _own_all(self, again: bool) -> None:
        """`again`: of another node here, and what was put at the one before may be lost."""
        with self._lock:
            ids = list(self._ids.items())
        for id, once in ids:
            try:
                self.client.own(id, ANSWERS_IN)
            except ObjectDeletedError:
                continue  # it was freed, or the node was away for too long
            if id not in self._ids:
                self.end(id)
            elif again and once:
                self.made_once.watch(id)
