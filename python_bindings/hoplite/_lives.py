"""Which ranks of a group live: what the groups of all plug-ins have in common."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from hoplite import _core
from hoplite._client import Client
from hoplite._core import ObjectId
from hoplite.errors import (
    NotFoundError,
    ObjectDeletedError,
    PeerLostError,
    TimeoutError,
    UnavailableError,
)

# Seconds: in which the directory answers; between two looks for ranks whose node is away; in which
# a rank whose node is back says that it lives; the same, if nothing shows that its node was away.
ANSWERS_IN, LOOKS_EVERY, SAYS_IN, SURE_IN = 10.0, 0.2, 5.0, 0.5


def was_put(client: Client, id: ObjectId) -> bool:
    """Whether it exists, or has existed: that somebody waits for it is not enough. Waits for
    nothing but the directory's answer."""
    try:
        return bool(client.info(id, ANSWERS_IN).version)
    except NotFoundError:
        return False
    except (ObjectDeletedError, PeerLostError):
        return True


@dataclass
class _Away:
    """A rank whose node is."""

    until: float
    back_since: float | None = None


class Lives:
    """Knows by a tiny object of each rank, which goes with its process, that it lives. It goes also
    with a node that is away for some seconds: then a next one follows when the node is back.

    Decides that a rank is dead: its object has gone, its node is there, and no next object comes.
    Must never take a rank for dead because its node, or this rank's, was away for less than the
    patience; nor this rank's node for lost because it, or the directory, does not answer.
    """

    def __init__(
        self,
        client: Client,
        rank: int,
        here: Callable[[int, int], ObjectId],
        has_left: Callable[[int], bool],
        on_left: Callable[[int], str] = lambda rank: "",
        name: Callable[[int], str] = "rank {}".format,
    ) -> None:
        """`here`: the id of such an object of a rank, the first, second and so on. `has_left`:
        whether the rank has left the group. `on_left` is told so, more than once if a node does not
        answer, and says why that ends the group; empty: it does not."""
        self._client, self._rank, self._here = client, rank, here
        self._has_left, self._on_left, self._name = has_left, on_left, name
        self._turn = 0  # of this rank
        self._said = -SAYS_IN  # when it said so again
        self._leaving = False
        self._turns: dict[int, int] = {}
        self._nodes: dict[int, str] = {}
        self._away: dict[int, _Away] = {}

    def say(self, timeout: float | None = None) -> None:
        """That this one does."""
        node = {"node": self._client.node_name}
        id = self._here(self._rank, self._turn)
        self._client.put(b"", id=id, timeout=timeout, owned=True, grace=0, metadata=node)

    def leave(self) -> None:
        """From now on this one does not say so. Any thread may call it."""
        self._leaving = True
        self._client.disown(self._here(self._rank, self._turn), wait=False)

    def watch(self, ranks: int, joined_in: float, patience: float) -> str:
        """Why the group is over; empty: the others have left it. Waits `joined_in` seconds for
        ranks that have yet to come, and `patience` for a node that is away. UnavailableError: this
        rank has lost its node."""
        self._patience = patience
        self._turns = dict.fromkeys(range(ranks), 0)
        there = {self._here(rank, 0): rank for rank in self._turns}
        connection, why = self._client.subscribe(self._here(self._rank, 0)), ""
        with _patiently(connection), contextlib.suppress(ObjectDeletedError):  # the look finds it
            self._client.wait(list(there), ranks, joined_in)
        while not why and (len(there) > 1 or self._away):
            _require_open(connection)
            with _patiently(connection):
                self._learn_nodes(there)
                why = self._look(there)
        return why

    def _learn_nodes(self, there: dict[ObjectId, int]) -> None:
        """Of ranks whose object is there: it says the node's name."""
        new = [id for id, rank in there.items() if rank not in self._nodes]
        found = self._client.info_many(new, ANSWERS_IN) if new else []
        for id, info in zip(new, found, strict=True):
            if info is not None and info.version:
                self._nodes[there[id]] = info.user_metadata["node"]

    def _look(self, there: dict[ObjectId, int]) -> str:
        if not there:  # this rank has left
            time.sleep(LOOKS_EVERY)
        elif gone := self._client.wait_gone(list(there), LOOKS_EVERY if self._away else None):
            for id in gone:
                if why := self._note_end_of(there[id], there):
                    return why
                del there[id]
        for rank in list(self._away):
            if why := self._look_for(rank, there):
                return why
        return ""

    def _note_end_of(self, rank: int, there: dict[ObjectId, int]) -> str:
        if rank == self._rank:
            self._say_again(there)
        elif self._has_left(rank):
            return self._on_left(rank)
        elif self._may_live(rank):
            self._away[rank] = _Away(time.monotonic() + self._patience)
        else:
            return f"{self._name(rank)} has died"
        return ""

    def _say_again(self, there: dict[ObjectId, int]) -> None:
        if self._leaving:
            return
        self._turn += 1
        with contextlib.suppress(ObjectDeletedError):  # the node was away again: the next look says
            self.say()
        self._said = time.monotonic()
        there[self._here(self._rank, self._turn)] = self._rank
        if self._leaving:  # since
            self.leave()

    def _may_live(self, rank: int) -> bool:
        """Although its object has gone: with its node perhaps, or this rank's has heard it late."""
        if rank not in self._nodes or not self._is_node_there(rank) or self._was_away():
            return True
        try:  # it may be back just now
            return bool(self._client.wait([self._following(rank)], 1, SURE_IN)[0])
        except ObjectDeletedError:
            return True

    def _was_away(self) -> bool:
        """This rank's node, just now: then it hears late of ends, and of ranks beside this one."""
        if time.monotonic() - self._said < SAYS_IN:
            return True
        try:
            return not self._client.info(self._here(self._rank, self._turn), ANSWERS_IN).version
        except (NotFoundError, ObjectDeletedError, PeerLostError):
            return True

    def _look_for(self, rank: int, there: dict[ObjectId, int]) -> str:
        """Whether a rank whose node was away is there again, has left, or has died."""
        now, away, why = time.monotonic(), self._away[rank], ""
        following = self._following(rank)
        if self._has_left(rank):
            why = self._on_left(rank)
            del self._away[rank]
        elif was_put(self._client, following):
            self._turns[rank] += 1
            there[following] = rank
            del self._away[rank]
        elif now > away.until:
            node = self._nodes.get(rank, "")
            why = f"{self._name(rank)} is away: node {node} was not back in {self._patience:g} s"
        elif not self._is_node_there(rank):
            away.back_since = None
        elif away.back_since is None:
            away.back_since = now
        elif now - away.back_since > SAYS_IN:
            why = f"{self._name(rank)} has died"
        return why

    def _following(self, rank: int) -> ObjectId:
        return self._here(rank, self._turns[rank] + 1)

    def _is_node_there(self, rank: int) -> bool:
        name = self._nodes.get(rank)
        nodes = self._client.status(ANSWERS_IN, 0).nodes
        return name is None or any(node.alive for node in nodes if node.name == name)


@contextlib.contextmanager
def _patiently(connection: _core.Subscription) -> Iterator[None]:
    """A node that stands still meanwhile, or a directory that is away, ends nothing: who comes here
    asks again. UnavailableError: the connection to the node has ended."""
    try:
        yield
    except TimeoutError:
        pass
    except UnavailableError:
        _require_open(connection)
        time.sleep(LOOKS_EVERY)


def _require_open(connection: _core.Subscription) -> None:
    """UnavailableError: the connection to the node has ended. Its client would make a new one, and
    what it had put is lost."""
    with contextlib.suppress(TimeoutError):  # nothing else has changed
        while True:
            connection.next(0.0)
