"""How long objects stay: who owns them, and what is deleted."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable

from hoplite import _core, errors
from hoplite._arguments import named
from hoplite._asking import Asking
from hoplite._core import ObjectId
from hoplite._waiting import Waiting

# Ids of one request.
MOST_AT_ONCE = 16384


class Keeping(Asking):
    """The part of a ``Client`` that owns and deletes."""

    def __init__(self, core: _core.Client) -> None:
        super().__init__(core)
        self._waiting = Waiting()

    @named
    def delete(self, ids: ObjectId | Iterable[ObjectId], timeout: float | None = None) -> None:
        """Deletes everywhere; also ids that don't exist (yet). Views stay readable."""
        self._core.delete(_list_of(ids), timeout)

    @named
    async def adelete(
        self, ids: ObjectId | Iterable[ObjectId], timeout: float | None = None
    ) -> None:
        """``delete``, for coroutines. Cancelled, some may be deleted."""
        await self._on_each(self._core.delete_later, _list_of(ids), timeout)

    @named
    def own(
        self,
        ids: ObjectId | Iterable[ObjectId],
        timeout: float | None = None,
        *,
        grace: float | None = None,
    ) -> None:
        """From now on this client owns them; also ids that don't exist yet.

        What ever had an owner is deleted everywhere when its last owner is gone. A client owns
        until ``disown``, ``close`` or its own end. If its process or its node died it owns for
        `grace` seconds more: 0 ends it with the process, and None stands for what the directory
        says (30 s). The grace of the last ``own`` or owned ``put`` of an id counts. Hand an id over
        by owning it until the receiver's ``own`` has returned.

        ObjectDeletedError: it was deleted, or its last owner is gone. ResourceExhaustedError: the
        clients of this node own as many ids as it allows. InvalidArgumentError: `grace` is longer
        than the directory marks a deleted id (60 s).
        """
        self._core.own(_list_of(ids), timeout, grace)

    @named
    async def aown(
        self,
        ids: ObjectId | Iterable[ObjectId],
        timeout: float | None = None,
        *,
        grace: float | None = None,
    ) -> None:
        """``own``, for coroutines. Cancelled, this client may own some of them: ``disown`` all."""
        begin = functools.partial(self._core.own_later, grace=grace)
        await self._on_each(begin, _list_of(ids), timeout)

    @named
    def disown(
        self,
        ids: ObjectId | Iterable[ObjectId],
        timeout: float | None = None,
        *,
        wait: bool = True,
    ) -> None:
        """This client owns them no longer; also ids that it did not own. If it was the last owner
        of one, that is deleted at once.

        With ``wait=False`` nobody waits for the node: finalizers, callbacks and coroutines may call
        it. It raises nothing that the node or the directory says, and `timeout` means nothing.
        Later calls of this client come after it.
        """
        if wait:
            self._core.disown(_list_of(ids), timeout)
        else:
            self._core.disown_soon(_list_of(ids))

    async def _on_each(
        self,
        begin: Callable[[list[ObjectId], float | None], _core.DoneLater],
        ids: list[ObjectId],
        timeout: float | None,
    ) -> None:
        """One id's error keeps no other from being done: the first is raised at the end."""
        parts = [ids[at : at + MOST_AT_ONCE] for at in range(0, len(ids), MOST_AT_ONCE)]
        begun = [begin(part, timeout) for part in parts]
        failed: errors.HopliteError | None = None
        for request in begun:
            try:
                await self._waiting.answer(request)
            except errors.HopliteError as error:
                failed = failed or error
        if failed is not None:
            raise failed


def _list_of(ids: ObjectId | Iterable[ObjectId]) -> list[ObjectId]:
    return [ids] if isinstance(ids, ObjectId) else list(ids)
