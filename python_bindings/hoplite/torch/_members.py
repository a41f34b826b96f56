"""Which ranks of a group are there."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence

from hoplite import Client
from hoplite._core import ObjectId
from hoplite._lives import ANSWERS_IN, Lives, was_put
from hoplite.errors import HopliteError, ObjectDeletedError, PeerLostError, TimeoutError

# Seconds: until two ranks have heard of the same end; what others are given to read when a rank
# leaves.
HEARD_IN, READ_IN = 2.0, 30.0


class Names:
    """Of a group's objects: no other group has them, of whatever name."""

    def __init__(self, run: str) -> None:
        self._run = run

    def __call__(self, *what: object) -> ObjectId:
        return ObjectId.from_name("/".join(map(str, ("torch", self._run, *what))))


class Members:
    """Knows which ranks are in the group: which live, and which have left it, after how many
    operations.

    Decides that the group is over: a rank has died, or has left it before an operation in which
    this one is. Must never take a rank that has left for one that has died: what it put stays for
    who still reads it.
    """

    def __init__(self, life: Client, names: Names, rank: int, called: Sequence[int]) -> None:
        """`life`: a connection of its own, which outlives what the group gives up. `called`: the
        global rank of each."""
        self._life, self._names, self._rank, self._called = life, names, rank, called
        self._lives = Lives(life, rank, self._here, self._has_left, self._note_left, self.name)
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
        self._lives.say(seconds)
        ranks = {self._here(rank, 0): rank for rank in range(len(self._called))}
        _, missing = self._life.wait(list(ranks), len(ranks), seconds)
        if missing:
            raise TimeoutError(f"not there: {self.name(*(ranks[id] for id in missing))}")
        if len(ranks) > 1:
            watching = threading.Thread(
                target=self._watch, args=(seconds, give_up), name="hoplite-members", daemon=True
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
            self._lives.leave()

    def wait_for_all_to_leave(self, seconds: float) -> None:
        """So many seconds at most."""
        deadline = time.monotonic() + seconds
        for rank in range(len(self._called)):
            with contextlib.suppress(HopliteError):  # most often it has closed since
                left = max(0.0, deadline - time.monotonic())
                self._life.get(self._names("left", rank), 0.0 if self._why else left)

    def _here(self, rank: int, turn: int) -> ObjectId:
        return self._names("here", rank, turn)

    def _watch(self, seconds: float, give_up: Callable[[], None]) -> None:
        """Its own thread: until the group is over, or the others have left it."""
        try:
            why = self._lives.watch(len(self._called), ANSWERS_IN, seconds)
        except HopliteError as error:
            lost = f"this rank has lost its node, make a new group: {error}"
            why = "" if self._leaving else lost
        if why:
            self._why = why
            self._over.set()
            give_up()

    def _has_left(self, rank: int) -> bool:
        return was_put(self._life, self._names("left", rank))

    def _note_left(self, rank: int) -> str:
        """Why the group is over with that; empty: it is not."""
        last = self._left_after(rank)
        with self._lock:
            self._left[rank] = last
            late = self._begun > last
            awaited = [id for id, sender in self._awaited.items() if sender == rank]
        needed = late or not all(was_put(self._life, id) for id in awaited)
        return f"{self.name(rank)} has left the group" if needed else ""

    def _left_after(self, rank: int) -> int:
        """How many operations: it has left."""
        try:
            return int(bytes(self._life.get(self._names("left", rank), ANSWERS_IN)))
        except ObjectDeletedError:
            return 0
