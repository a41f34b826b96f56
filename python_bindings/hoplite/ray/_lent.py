"""Refs that the keeper of this node lends to its workers, for the results of their tasks.

Ray's results outlive their worker, so the keeper makes these Refs: it owns the ids in Hoplite and
the tokens in Ray, and deletes an object when Ray says that nobody has its token any more. A worker
that dies has only borrowed: what it did not hand on goes at once.

Decides when the keeper is asked for more. Must never keep a Ref that was filled: Ray tells the
keeper who has a result only when the worker has dropped it.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

from ray._private.worker import global_worker

from hoplite._core import ObjectId
from hoplite.errors import NotFoundError, UnavailableError
from hoplite.ray import _job
from hoplite.ray._refs import Ref

# How many Refs are asked for at once, and how many are left when more are asked for.
BATCH, FEW = 16, 4
# Seconds within which the keeper lends some.
LENDS_WITHIN = 5.0


def fill(put: Callable[[ObjectId], object]) -> Ref:
    """A Ref whose object `put` has put. UnavailableError: the keeper lends none. Else what `put`
    raises."""
    while True:
        ref = _spare.take()
        # Of a keeper that has died, the id has no owner.
        with contextlib.suppress(NotFoundError):
            put(ref.id)
            return ref


class _Spare:
    """What this process has, of the keeper that lent it to this worker of Ray's."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._refs: list[Ref] = []
        self._worker: Any = None
        self._keeper: Any = None
        self._asked = False

    def take(self) -> Ref:
        with self._changed:
            if self._worker is not global_worker.core_worker:
                self._worker, self._keeper = global_worker.core_worker, None
                self._refs, self._asked = [], False
            if len(self._refs) <= FEW and not self._asked:
                self._ask()
            if not self._changed.wait_for(lambda: self._refs or not self._asked, LENDS_WITHIN):
                raise UnavailableError(f"the keeper lent nothing within {LENDS_WITHIN} s")
            if not self._refs:
                raise UnavailableError("the keeper of this node can't lend")
            return self._refs.pop()

    def _ask(self) -> None:
        """Without waiting: the answer comes on a thread of Ray's."""
        self._keeper = self._keeper or _job.keeper_here()
        if self._keeper is None:
            raise UnavailableError("this node has no keeper")
        self._asked = True
        lent = self._keeper.lend.options(enable_task_events=False).remote(BATCH)
        lent.future().add_done_callback(self._take_in)

    def _take_in(self, future: Any) -> None:
        with self._changed:
            self._asked = False
            if future.exception() is None:
                self._refs += future.result()
            else:
                self._keeper = None
            self._changed.notify_all()


_spare = _Spare()
