"""Ranks of a group know which of them live, also while a node or the directory is away."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import hoplite
import pytest
from hoplite import Client, LocalCluster, ObjectId
from hoplite._lives import LOOKS_EVERY, Lives, was_put
from hoplite._process import Process
from waiting import Unanswered, standing_still, until_lost

SECONDS = 60.0


class Rank:
    """One rank, which watches the others. It dies when its client is closed."""

    def __init__(self, run: str, rank: int, client: Any) -> None:
        self._run, self.rank, self.client = run, rank, client
        self.lives = Lives(client, rank, self.here, self._has_left)
        self.watching: Future[str]

    def here(self, rank: int, turn: int) -> ObjectId:
        return ObjectId.from_name(f"{self._run}/here/{rank}/{turn}")

    def leave(self) -> None:
        self.client.put(b"", id=self._left(self.rank), owned=True)
        self.lives.leave()

    def until(self, holds: Callable[[Lives], bool]) -> None:
        """Of what it knows."""
        deadline = time.monotonic() + SECONDS
        while not holds(self.lives):
            assert time.monotonic() < deadline and not self.watching.done(), vars(self.lives)
            time.sleep(0.01)

    def said(self) -> str:
        """Why the group is over."""
        return self.watching.result(SECONDS)

    def _has_left(self, rank: int) -> bool:
        return was_put(self.client, self._left(rank))

    def _left(self, rank: int) -> ObjectId:
        return ObjectId.from_name(f"{self._run}/left/{rank}")


@contextmanager
def group(clients: Sequence[Any], patience: float = SECONDS) -> Iterator[list[Rank]]:
    """Of a rank for each client, all of which watch; they are closed at the end."""
    run = ObjectId.random().hex()
    ranks = [Rank(run, rank, client) for rank, client in enumerate(clients)]
    with ThreadPoolExecutor(len(ranks)) as threads, contextlib.ExitStack() as closing:
        for rank in ranks:
            closing.callback(rank.client.close)
            rank.lives.say(SECONDS)
        for rank in ranks:
            rank.watching = threads.submit(rank.lives.watch, len(ranks), SECONDS, patience)
        for rank in ranks:
            rank.until(lambda lives: len(lives._nodes) == len(ranks))
        yield ranks


def test_ranks_beside_one_another_live_while_their_node_is_away() -> None:
    """Twice. Then a rank elsewhere dies: who took another one for dead says so."""
    with (
        LocalCluster(nodes=2, memory="64MiB") as two,
        two.connect(1) as there,
        group([two.connect(node) for node in (0, 0, 1, 1)]) as ranks,
    ):
        for turn in (1, 2):
            with standing_still(two, 0):
                until_lost(there, "n0")
            again = [ranks[0].here(rank, turn) for rank in (0, 1)]
            assert there.wait(again, 2, SECONDS) == (again, [])
        ranks[3].client.close()
        assert [rank.said() for rank in ranks[:3]] == ["rank 3 has died"] * 3


def test_a_rank_that_dies_while_its_node_is_away_is_named() -> None:
    with (
        LocalCluster(nodes=2, memory="64MiB") as two,
        two.connect(1) as there,
        group([two.connect(node) for node in (0, 0, 1)]) as ranks,
    ):
        with standing_still(two, 0):
            until_lost(there, "n0")
            ranks[1].client.close()
        assert [ranks[rank].said() for rank in (0, 2)] == ["rank 1 has died"] * 2


def test_a_node_that_is_away_for_too_long_is_named() -> None:
    with (
        LocalCluster(nodes=2, memory="64MiB") as two,
        group([two.connect(node) for node in (0, 1)], patience=0.5) as ranks,
    ):
        with standing_still(two, 0):
            said = ranks[1].said()
        assert said == "rank 0 is away: node n0 was not back in 0.5 s"


@pytest.mark.parametrize("call", ["wait", "info_many", "wait_gone", "info", "status"])
@pytest.mark.parametrize(
    "error", [hoplite.TimeoutError("no answer"), hoplite.UnavailableError("no directory")]
)
def test_what_gets_no_answer_is_asked_again(
    cluster: LocalCluster, error: hoplite.HopliteError, call: str
) -> None:
    """A rank leaves, and another one dies, while the node of the first stands still, or the
    directory is away."""
    asks = Unanswered(cluster.connect(0), call, error)
    with group([asks, cluster.connect(0), cluster.connect(1)]) as ranks:
        ranks[1].leave()
        ranks[2].client.close()
        assert ranks[0].said() == "rank 2 has died"
        assert asks.left == 0


def test_a_directory_that_restarts_ends_nothing() -> None:
    """While ranks look for one whose node is away: it comes back, and they know it again."""
    with (
        LocalCluster(nodes=2, memory="64MiB") as two,
        two.connect(1) as there,
        group([two.connect(node) for node in (0, 1, 1)]) as ranks,
    ):
        with standing_still(two, 0):
            until_lost(there, "n0")
            two._directories.pop().kill()
            with pytest.raises(hoplite.UnavailableError, match="directory shard"):
                while True:
                    there.info(ranks[0].here(0, 0), SECONDS)
            time.sleep(3 * LOOKS_EVERY)  # each looks, and gets no answer
            two._directories.append(Process("directory", f"--listen={two.directory_address}"))
            two._directories[0].ready()
        for rank in ranks[1:]:
            rank.until(lambda lives: lives._turns[0] == 1)
        assert not any(rank.watching.done() for rank in ranks)


def test_a_rank_whose_node_was_lost_hears_of_it() -> None:
    """Also if there is another one at once, to which a client attaches by itself."""
    with (
        LocalCluster(nodes=1, memory="64MiB") as one,
        group([one.connect(0), one.connect(0)]) as ranks,
    ):
        one.restart(0)
        for rank in ranks:
            with pytest.raises(hoplite.UnavailableError, match="the node has ended"):
                rank.said()


def test_ranks_that_leave_end_nothing(cluster: LocalCluster) -> None:
    with group([cluster.connect(rank % 2) for rank in range(3)]) as ranks:
        for rank in ranks[1:]:
            rank.leave()
        assert ranks[0].said() == ""


def test_what_somebody_waits_for_was_not_put(here: Client, there: Client) -> None:
    id = ObjectId.random()
    waiting = there.get_future(id, SECONDS)
    while not is_known(here, id):
        assert not waiting.done()
    assert not was_put(here, id)
    here.put(b"", id=id)
    assert was_put(here, id)
    here.delete(id)
    assert was_put(here, id)


def is_known(client: Client, id: ObjectId) -> bool:
    """To the directory, as something that somebody waits for."""
    try:
        return bool(client.info(id, SECONDS))
    except hoplite.NotFoundError:
        return False
