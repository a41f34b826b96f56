"""Which ranks of a group live."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass

from hoplite import Client
from hoplite._core import ObjectId
from hoplite.errors import NotFoundError, ObjectDeletedError, TimeoutError

# Seconds: in which the directory answers; between two looks for ranks whose node is away; in which
# a rank whose node is back says that it lives.
ANSWERS_IN, LOOKS_EVERY, SAYS_IN = 10.0, 0.2, 5.0


@dataclass
class _Away:
    """A rank whose node is."""

    until: float
    back_since: float | None = None


class Lives:
    """Knows by a tiny object of each rank, which goes with its process, that it lives. It goes also
    with a node that is away for some seconds: then a next one follows when the node is back.

    `here`: the id of such an object of a rank, the first, second and so on. `has_left`: whether the
    rank has left the group. Must never take a rank for dead whose node is away for less than
    `patience` seconds.
    """

    def __init__(
        self,
        client: Client,
        rank: int,
        here: Callable[[int, int], ObjectId],
        has_left: Callable[[int], bool],
        patience: float,
    ) -> None:
        self._client, self._rank = client, rank
        self._here, self._has_left, self._patience = here, has_left, patience
        self._turn = 0  # of this rank
        self._said = -SAYS_IN  # when it said so again
        self._turns: dict[int, int] = {}
        self._nodes: dict[int, str] = {}
        self._away: dict[int, _Away] = {}

    def say(self) -> None:
        """That this one does."""
        node = self._client.node_name.encode()
        self._client.put(node, id=self._here(self._rank, self._turn), owned=True, grace=0)

    def watch(self, ranks: int, joined_in: float) -> str:
        """Why the group is over; empty: the others have left it."""
        self._turns = dict.fromkeys(range(ranks), 0)
        there = {self._here(rank, 0): rank for rank in self._turns}
        with contextlib.suppress(ObjectDeletedError, TimeoutError):  # of a rank that did not come
            names = self._client.get_many(list(there), joined_in)
            self._nodes = dict(enumerate(bytes(name).decode() for name in names))
        why = ""
        while not why and (len(there) > 1 or self._away):
            with contextlib.suppress(TimeoutError):  # of a node that stands still
                why = self._look(there)
        return why

    def _look(self, there: dict[ObjectId, int]) -> str:
        for id in self._client.wait_gone(list(there), LOOKS_EVERY if self._away else None):
            if why := self._note_end_of(there[id], there):
                return why
            del there[id]
        return next(filter(None, [self._look_for(rank, there) for rank in list(self._away)]), "")

    def _note_end_of(self, rank: int, there: dict[ObjectId, int]) -> str:
        if rank == self._rank:
            self._turn += 1
            self.say()
            self._said = time.monotonic()
            there[self._here(rank, self._turn)] = rank
        elif not self._has_left(rank):
            if self._is_node_there(rank) and not self._was_away():
                return f"rank {rank} has died"
            self._away[rank] = _Away(time.monotonic() + self._patience)
        return ""

    def _was_away(self) -> bool:
        """This rank's node, just now: then it hears late of ends, and of ranks beside this one."""
        if time.monotonic() - self._said < SAYS_IN:
            return True
        try:
            self._client.info(self._here(self._rank, self._turn), ANSWERS_IN)
        except (NotFoundError, ObjectDeletedError):
            return True
        return False

    def _look_for(self, rank: int, there: dict[ObjectId, int]) -> str:
        """Whether a rank whose node was away is there again, has left, or has died."""
        now, away = time.monotonic(), self._away[rank]
        following = self._here(rank, self._turns[rank] + 1)
        if self._was_put(following):
            self._turns[rank] += 1
            there[following] = rank
            del self._away[rank]
        elif self._has_left(rank):
            del self._away[rank]
        elif now > away.until:
            node = self._nodes.get(rank, "")
            return f"rank {rank} is away: node {node} was not back in {self._patience:g} s"
        elif not self._is_node_there(rank):
            away.back_since = None
        elif away.back_since is None:
            away.back_since = now
        elif now - away.back_since > SAYS_IN:
            return f"rank {rank} has died"
        return ""

    def _is_node_there(self, rank: int) -> bool:
        name = self._nodes.get(rank)
        nodes = self._client.status(ANSWERS_IN, 0).nodes
        return name is None or any(node.alive for node in nodes if node.name == name)

    def _was_put(self, id: ObjectId) -> bool:
        try:
            self._client.info(id, ANSWERS_IN)
        except NotFoundError:
            return False
        except ObjectDeletedError:
            pass
        return True
