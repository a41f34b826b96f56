"""What a program asks of its node and the directory: where objects are, and who is there. Moves no
object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from hoplite import _core
from hoplite._arguments import named
from hoplite._core import ObjectId
from hoplite.errors import InvalidArgumentError, NotFoundError, ObjectDeletedError


class Asking:
    """The part of a ``Client`` that asks."""

    def __init__(self, core: _core.Client) -> None:
        self._core = core

    @named
    def subscribe(self, id: ObjectId, timeout: float | None = None) -> _core.Subscription:
        """Who begins to have the object, has it, and no longer has it, from now on. (Not that it
        was deleted: ``get`` and ``info`` say so.)

        ``next(timeout)`` gives one change after the other, with `kind` ("partial", "complete",
        "gone"; "in_directory", where no node is named), `node` and `version`. TimeoutError: nothing
        changed. UnavailableError: the connection to the node has ended, and with it this.
        """
        return self._core.subscribe(id, timeout)

    @named
    def wait(
        self,
        ids: Sequence[ObjectId],
        num_returns: int = 1,
        timeout: float | None = None,
        *,
        only_if_owned: bool = False,
    ) -> tuple[list[ObjectId], list[ObjectId]]:
        """`num_returns` of them that exist, as soon as so many do, or fewer when `timeout` has
        passed; and the others. Both in the order of `ids`, each of which is there once.

        Brings none of them to this node: they may be gone again when they are asked for. With a
        timeout of 0 the node tells only what it knows by itself. ObjectDeletedError says that so
        many will not exist any more, and names one; `only_if_owned` as in ``get``.

        >>> first, late = client.put(b"first"), hoplite.ObjectId.random()
        >>> client.wait([late, first], num_returns=1, timeout=5.0) == ([first], [late])
        True

        InvalidArgumentError: `num_returns` is more than there are, an id is there twice, or there
        are more than 16384.
        """
        if not 0 <= num_returns <= len(ids):
            raise InvalidArgumentError(f"wait: num_returns is {num_returns}, of {len(ids)} ids")
        twice = [id for id, count in Counter(ids).items() if count > 1]
        if twice:
            raise InvalidArgumentError(
                f"wait: {twice[0]} is there twice, so how many exist would be ambiguous"
            )
        existing = self._core.wait_exists(list(ids), num_returns, timeout, only_if_owned)
        ready = existing[:num_returns]
        found = set(ready)
        return ready, [id for id in ids if id not in found]

    @named
    def wait_gone(
        self,
        ids: ObjectId | Iterable[ObjectId],
        timeout: float | None = None,
        *,
        only_if_owned: bool = False,
    ) -> list[ObjectId]:
        """Those of `ids` that are gone, as soon as one is: it was deleted, or it was lost with the
        nodes that had it or were making it. Empty when `timeout` seconds have passed.

        What does not exist yet is not gone. With `only_if_owned` (as in ``get``) it is, if nobody
        owns it. To hear of a process's end, let it own an object with ``grace=0``, and wait for
        that.

        >>> gone, stays = client.put(b"gone"), client.put(b"stays")
        >>> client.delete(gone)
        >>> client.wait_gone([stays, gone], timeout=5.0) == [gone]
        True

        InvalidArgumentError: there are none, or more than 16384.
        """
        asked = [ids] if isinstance(ids, ObjectId) else list(ids)
        return self._core.wait_gone(asked, timeout, only_if_owned)

    @named
    def status(
        self, timeout: float | None = None, max_objects: int | None = None
    ) -> _core.ClusterStatus:
        """A picture of the cluster: `nodes`, `shards`, and the first `max_objects` of its `objects`
        (None: all), with their holders, transfers and waiters. Of a shard that does not answer
        `away` says why."""
        return self._core.status(timeout, max_objects)

    @named
    def info(self, id: ObjectId, timeout: float | None = None) -> _core.ObjectInfo:
        """Size, holders, owners and metadata; in `user_metadata` the dict that ``put`` was given.

        NotFoundError: its directory shard does not know the object. ObjectDeletedError: it was
        deleted, and its id is still blocked.
        """
        return self._core.info(id, timeout)

    @named
    def why(self, id: ObjectId, timeout: float | None = None) -> str:
        """Why the object is not complete at this node, in words for people: a line for what a
        ``get``, ``put`` or ``reduce`` of it waits for here, and one for each other node that waits
        for it, as far as the directory knows. Of an id that nobody put it says that.

        TimeoutError, UnavailableError: the node did not answer.
        """
        return self._core.why(id, timeout)

    @named
    def info_many(
        self, ids: Iterable[ObjectId], timeout: float | None = None
    ) -> list[_core.ObjectInfo | None]:
        """``info`` of each, in a few messages, in the order of `ids`. None: its directory shard
        does not know it, or it was deleted. If one has another error that is raised."""
        found: list[_core.ObjectInfo | None] = []
        for one in self._core.infos(list(ids), timeout):
            if isinstance(one, _core.ObjectInfo):
                found.append(one)
            elif isinstance(one, (NotFoundError, ObjectDeletedError)):
                found.append(None)
            else:
                raise one
        return found

    @named
    def locations(
        self, ids: Iterable[ObjectId], timeout: float | None = None
    ) -> dict[ObjectId, list[str]]:
        """The names of the nodes that have all of each object, in a few messages. No node has what
        does not exist, nor a small object that the directory alone holds (``info_many`` says so in
        `in_directory`)."""
        asked = list(ids)
        return {
            id: [holder.node for holder in info.holders if holder.complete] if info else []
            for id, info in zip(asked, self.info_many(asked, timeout), strict=True)
        }

    @property
    def node_name(self) -> str:
        """The name of the node that this client is attached to."""
        return self._core.node_name

    @property
    def cluster_id(self) -> str:
        """16 hexadecimal digits that the nodes of one cluster have in common, and no other has.

        UnavailableError: the node has not reached its directory yet.
        """
        return self._core.cluster_id
