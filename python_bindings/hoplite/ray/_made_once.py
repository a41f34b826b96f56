"""What nobody makes again, if it is lost: sums, and what was put without a Ref."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable

from hoplite._client import Client
from hoplite._core import ObjectId
from hoplite.errors import (
    AlreadyExistsError,
    HopliteError,
    NotFoundError,
    ObjectDeletedError,
    PeerLostError,
)

# Seconds: what the node is given for an answer; before it is asked again, if it is away.
ANSWERS_IN, PAUSE = 5.0, 0.2
# Seconds for which one question waits, and for each id in it; how many ids it has at most.
ONE_WAIT, FOR_EACH, MOST = 0.5, 0.001, 10_000


class MadeOnce:
    """Objects that this process has made.

    Decides nothing: the directory says that the nodes that had one have died. Then the object fails
    with PeerLostError, so whoever gets it is told, instead of waiting for ever. Must never be given
    what another process may put again.
    """

    def __init__(self, client: Client, alive: Callable[[], bool]) -> None:
        self._client = client
        self._alive = alive
        self._lock = threading.Lock()
        self._ids: dict[ObjectId, None] = {}  # those that were not asked about for longest first
        self._watching = False

    def watch(self, id: ObjectId) -> None:
        """From now on, until it is gone. Does not wait."""
        with self._lock:
            self._ids[id] = None
            first, self._watching = not self._watching, True
        if first:
            threading.Thread(target=self._watch, name="hoplite-made-once", daemon=True).start()

    def _watch(self) -> None:
        """Its own thread: to the end of the job, or until there is nothing to watch."""
        while self._alive() and (asked := self._next()):
            try:
                # Not without end: others are to be asked about, too.
                wait = max(ONE_WAIT, FOR_EACH * len(asked))
                for id in self._client.wait_gone(asked, wait, only_if_owned=True):
                    self._tell(id)
                    with self._lock:
                        del self._ids[id]
            except HopliteError:
                time.sleep(PAUSE)

    def _next(self) -> list[ObjectId]:
        """Empty: there are none, and the thread ends."""
        with self._lock:
            asked = list(self._ids)[:MOST]
            for id in asked:
                self._ids[id] = self._ids.pop(id)
            self._watching = bool(asked)
        return asked

    def _tell(self, id: ObjectId) -> None:
        """Those who wait for it: it was lost, unless it was deleted or put again."""
        lost = PeerLostError(self._client.why(id, ANSWERS_IN))
        with contextlib.suppress(AlreadyExistsError, NotFoundError, ObjectDeletedError):
            self._client.fail(id, lost, ANSWERS_IN, only_if_owned=True)
