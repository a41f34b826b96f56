"""Which ranks of a group are there."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from hoplite import Client
from hoplite._core import ObjectId
from hoplite.errors import (
    HopliteError,
    NotFoundError,
    ObjectDeletedError,
    PeerLostError,
    TimeoutError,
)

# Seconds: in which the directory answers; until two ranks have heard of the same end; what others
# are given to read when a rank leaves.
ANSWERS_IN, HEARD_IN, READ_IN = 10.0, 2.0, 30.0
# Seconds between two looks for ranks whose node is away, and in which a rank whose node is back
# says that it lives.
LOOKS_EVERY, SAYS_IN = 0.2, 5.0


class Names:
    """Of a group's objects: no other group has them, of whatever name."""

    def __init__(self, run: str) -> None:
        self._run = run

    def __call__(self, *what: object) -> ObjectId:
        return ObjectId.from_name("/".join(map(str, ("torch", self._run, *what))))


def was_put(client: Client, id: ObjectId) -> bool:
    """Whether it exists, or has existed. Waits for nothing but the directory's answer."""
    try:
        return bool(client.info(id, ANSWERS_IN).version)
    except NotFoundError:
        return False
    except ObjectDeletedError:
        return True


@dataclass
class _Away:
    """A rank whose node is."""

    until: float
    back_since: float | None = None


class Members:
    """Knows by a tiny object of each rank, which goes with its process, that it is there. It goes
    also with a node that is away for some seconds: then a next one follows when the node is back.

    Decides that the group is over: a rank has died, or has left it before an operation in which
    this one is. Must never take a rank that has left for one that has died: what it put stays for
    who still reads it.
    """

    def __init__(self, life: Client, names: Names, rank: int, called: Sequence[int]) -> None:
        """`life`: a connection of its own, which outlives what the group gives up. `called`: the
        global rank of each."""
        self._life, self._names, self._rank, self._called = life, names, rank, called
        self._lock = threading.Lock()
        self._begun = 0
        self._left: dict[int, int] = {}  # after so many operations
        self._awaited: dict[ObjectId, int] = {}
        self._why = ""
        self._over = threading.Event()
        self._leaving = False
        self._turns = [0] * len(called)  # how many such objects of each rank have gone
        self._nodes: dict[int, str] = {}
        self._away: dict[int, _Away] = {}

    def enter(self, seconds: float, give_up: Callable[[], None]) -> None:
        """Returns when all are there. `give_up` is called by another thread when the group is over.
        TimeoutError names the ranks that are missing."""
        self._seconds = seconds
        self._say_here(seconds)
        ranks = {self._here(rank): rank for rank in range(len(self._called))}
        _, missing = self._life.wait(list(ranks), len(ranks), seconds)
        if missing:
            raise TimeoutError(f"not there: {self.name(*(ranks[id] for id in missing))}")
        if len(ranks) > 1:
            with contextlib.suppress(ObjectDeletedError):  # one has died since: the watch says so
                names = self._life.get_many(list(ranks), ANSWERS_IN)
                self._nodes = dict(enumerate(bytes(name).decode() for name in names))
            watching = threading.Thread(
                target=self._watch, args=(ranks, give_up), name="hoplite-members", daemon=True
            )
            watching.start()

    def _say_here(self, seconds: float) -> None:
        node = self._life.node_name.encode()
        self._life.put(node, id=self._here(self._rank), timeout=seconds, owned=True, grace=0)

    def begin(self) -> int:
        """The number of the next operation, which it has at all ranks. PeerLostError: the group is
        over, or a rank has left it before that."""
        with self._lock:
            self.require()
            for rank, last in self._left.items():
                if self._begun >= last:
                    raise PeerLostError(f"{self.name(rank)} has left the group")
            self._begun += 1
            return self._begun

    def require(self) -> None:
        """PeerLostError: the group is over."""
        if self._why:
            raise PeerLostError(self._why)

    @contextlib.contextmanager
    def awaiting(self, message: ObjectId, sender: int) -> Iterator[None]:
        """PeerLostError: the sender has left, and has not put it."""
        with self._lock:
            self.require()
            has_left = sender in self._left
            self._awaited[message] = sender
        try:
            if has_left and not was_put(self._life, message):
                raise PeerLostError(f"{self.name(sender)} has left the group")
            yield
        finally:
            with self._lock:
                del self._awaited[message]

    def why_over(self, seconds: float = HEARD_IN) -> str:
        """Why the group is over; waits so long for it. Empty: it is not."""
        return self._why if self._over.wait(seconds) else ""

    def name(self, *ranks: int) -> str:
        listed = ", ".join(str(self._called[rank]) for rank in sorted(ranks))
        return f"rank {listed}" if len(ranks) == 1 else f"ranks {listed}"

    def leave(self) -> None:
        """The others hear that this rank has left, and is not dead. What it put stays."""
        with self._lock:
            if self._leaving:
                return
            self._leaving = True
        with contextlib.suppress(HopliteError):
            said = b"%d" % self._begun
            self._life.put(said, id=self._names("left", self._rank), timeout=ANSWERS_IN, owned=True)
            self._life.disown(self._here(self._rank), timeout=ANSWERS_IN)

    def wait_for_all_to_leave(self, seconds: float) -> None:
        """So many seconds at most."""
        deadline = time.monotonic() + seconds
        for rank in range(len(self._called)):
            with contextlib.suppress(HopliteError):  # most often it has closed since
                left = max(0.0, deadline - time.monotonic())
                self._life.get(self._names("left", rank), 0.0 if self._why else left)

    def _here(self, rank: int) -> ObjectId:
        return self._names("here", rank, self._turns[rank])

    def _watch(self, there: dict[ObjectId, int], give_up: Callable[[], None]) -> None:
        """`there`: this rank too, which says again that it lives if its node was away."""
        try:
            while (len(there) > 1 or self._away) and not self._why:
                for id in self._life.wait_gone(list(there), LOOKS_EVERY if self._away else None):
                    rank = there.pop(id)
                    if rank == self._rank:
                        self._say_again(there)
                    else:
                        self._note_end_of(rank)
                for rank in list(self._away):
                    self._look_for(rank, there)
        except HopliteError as error:
            if not self._leaving:
                self._end(f"this rank has lost its node, make a new group: {error}")
        if self._why:
            self._over.set()
            give_up()

    def _note_end_of(self, rank: int) -> None:
        last = self._left_after(rank)
        if last is None:
            if self._is_node_there(rank):
                return self._end(f"{self.name(rank)} has died")
            self._away[rank] = _Away(time.monotonic() + self._seconds)
            return None
        with self._lock:
            self._left[rank] = last
            late = self._begun > last
            awaited = [id for id, sender in self._awaited.items() if sender == rank]
        if late or not all(was_put(self._life, id) for id in awaited):
            self._end(f"{self.name(rank)} has left the group")

    def _say_again(self, there: dict[ObjectId, int]) -> None:
        with self._lock:
            if self._leaving:
                return
            self._turns[self._rank] += 1
            self._say_here(ANSWERS_IN)
            there[self._here(self._rank)] = self._rank

    def _look_for(self, rank: int, there: dict[ObjectId, int]) -> None:
        """Whether a rank whose node was away is there again, has left, or has died."""
        now, away = time.monotonic(), self._away[rank]
        following = self._names("here", rank, self._turns[rank] + 1)
        if was_put(self._life, following):
            self._turns[rank] += 1
            there[following] = rank
            del self._away[rank]
        elif self._left_after(rank) is not None:
            del self._away[rank]
            self._note_end_of(rank)
        elif now > away.until:
            node = self._nodes.get(rank, "")
            self._end(f"{self.name(rank)} is away: node {node} was not back in {self._seconds:g} s")
        elif not self._is_node_there(rank):
            away.back_since = None
        elif away.back_since is None:
            away.back_since = now
        elif now - away.back_since > SAYS_IN:
            self._end(f"{self.name(rank)} has died")

    def _is_node_there(self, rank: int) -> bool:
        name = self._nodes.get(rank)
        nodes = self._life.status(ANSWERS_IN, 0).nodes
        return name is None or any(node.alive for node in nodes if node.name == name)

    def _end(self, why: str) -> None:
        with self._lock:
            self._why = self._why or why

    def _left_after(self, rank: int) -> int | None:
        """How many operations; None: it has not left."""
        said = self._names("left", rank)
        if not was_put(self._life, said):
            return None
        try:
            return int(bytes(self._life.get(said, ANSWERS_IN)))
        except ObjectDeletedError:
            return 0
