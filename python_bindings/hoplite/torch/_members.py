"""Which ranks of a group are there."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence

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


class Members:
    """Knows by a tiny object of each rank, which goes with its process, that it is there.

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

    def enter(self, seconds: float, give_up: Callable[[], None]) -> None:
        """Returns when all are there. `give_up` is called by another thread when the group is over.
        TimeoutError names the ranks that are missing."""
        self._life.put(b"", id=self._here(self._rank), timeout=seconds, owned=True, grace=0)
        ranks = {self._here(rank): rank for rank in range(len(self._called))}
        _, missing = self._life.wait(list(ranks), len(ranks), seconds)
        if missing:
            raise TimeoutError(f"not there: {self.name(*(ranks[id] for id in missing))}")
        del ranks[self._here(self._rank)]
        if ranks:
            watching = threading.Thread(
                target=self._watch, args=(ranks, give_up), name="hoplite-members", daemon=True
            )
            watching.start()

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
        return self._names("here", rank)

    def _watch(self, others: dict[ObjectId, int], give_up: Callable[[], None]) -> None:
        try:
            while others and not self._why:
                for id in self._life.wait_gone(list(others)):
                    self._note_end_of(others.pop(id))
        except HopliteError as error:
            if not self._leaving:
                self._end(f"this rank has lost its node, make a new group: {error}")
        if self._why:
            self._over.set()
            give_up()

    def _note_end_of(self, rank: int) -> None:
        last = self._left_after(rank)
        if last is None:
            return self._end(f"{self.name(rank)} has died")
        with self._lock:
            self._left[rank] = last
            late = self._begun > last
            awaited = [id for id, sender in self._awaited.items() if sender == rank]
        if late or not all(was_put(self._life, id) for id in awaited):
            self._end(f"{self.name(rank)} has left the group")

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
