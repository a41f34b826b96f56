"""Ranks of torch.distributed that die, or leave, and hosts without a node."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
import types
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import hoplite
import pytest
from hoplite import LocalCluster, _host_node
from hoplite._host import new_secret

pytest.importorskip("torch", reason="PyTorch is not installed")
import torch_ranks
from hoplite.torch import _cluster
from hoplite.torch._members import Members, Names
from torch_ranks import HEARD_IN, Rank, run
from waiting import Unanswered, standing_still, until_lost


def raised(rank: Rank) -> str:
    return str(rank.answer()["raised"])


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    """Two nodes with room for what a killed rank leaves there for its grace of 30 s."""
    with LocalCluster(nodes=2, memory="256MiB") as two:
        yield two


@pytest.mark.parametrize("case", ["large_allreduce", "small_allreduce", "barrier", "receive"])
def test_a_rank_that_dies_is_named_at_once(
    cluster: LocalCluster, tmp_path: Path, case: str
) -> None:
    """The last rank of three has not come to what the others wait for."""
    with torch_ranks.ranks(3, tmp_path, cluster) as ranks:
        run(ranks, "joined")
        for rank in ranks[:2]:
            rank.tell(case)
        time.sleep(0.2)
        ranks[2].kill()
        died = time.monotonic()
        for rank in ranks[:2]:
            assert "rank 2 has died" in raised(rank)
            assert time.monotonic() - died < HEARD_IN
            rank.tell("small_allreduce")  # nor does it go on later
            assert "rank 2 has died" in raised(rank)


@pytest.mark.parametrize(("size", "away"), [(2, 1), (3, 0)], ids=["alone", "beside another"])
def test_a_node_that_is_away_for_a_while_ends_nothing(tmp_path: Path, size: int, away: int) -> None:
    """Twice: its ranks say each time that they live. Then the last rank, which is there too, dies
    with its node away."""
    with (
        LocalCluster(nodes=2, memory="64MiB") as two,
        two.connect(1 - away) as elsewhere,
        torch_ranks.ranks(size, tmp_path, two) as ranks,
    ):
        run(ranks, "joined")
        for _ in range(2):
            run(ranks, "large_allreduce")
            with standing_still(two, away):
                for rank in ranks:
                    rank.tell("small_allreduce")
                until_lost(elsewhere, f"n{away}")
            answers = [rank.answer() for rank in ranks]
            assert ["gave" in answer for answer in answers] == [True] * size, answers
        run(ranks, "large_allreduce")
        with standing_still(two, away):
            for rank in ranks[:-1]:
                rank.tell("barrier")
            until_lost(elsewhere, f"n{away}")
            ranks[-1].kill()
        for rank in ranks[:-1]:
            assert f"rank {size - 1} has died" in raised(rank)


def test_a_call_that_times_out_ends_no_group(cluster: LocalCluster) -> None:
    """The node of the rank that watches stands still for longer than the call may take."""
    names, called = Names(hoplite.ObjectId.random().hex()), [0, 1]
    with cluster.connect(0) as client, cluster.connect(1) as other, ThreadPoolExecutor() as threads:
        life: Any = Unanswered(client, "wait_gone", hoplite.TimeoutError("no answer"))
        watches, dies = Members(life, names, 0, called), Members(other, names, 1, called)
        given_up = threading.Event()
        entering = [threads.submit(one.enter, HEARD_IN, given_up.set) for one in (watches, dies)]
        for entered in entering:
            entered.result()
        other.close()
        assert watches.why_over(HEARD_IN) == "rank 1 has died"
        assert given_up.wait(HEARD_IN) and life.left == 0


def test_a_rank_that_dies_in_the_middle_leaves_nobody_waiting(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    """The others have the sum or hear of it, and hear of it at the next call."""
    with torch_ranks.ranks(3, tmp_path, cluster) as ranks:
        run(ranks, "joined")
        for rank in ranks:
            rank.tell("large_allreduce")
        time.sleep(0.03)
        ranks[2].kill()
        for rank in ranks[:2]:
            said = rank.answer(HEARD_IN)
            assert "gave" in said or "rank 2 has died" in said["raised"]
            rank.tell("barrier")
            assert "rank 2 has died" in raised(rank)


def test_a_rank_that_ends_when_it_is_done_disturbs_nobody(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    """What it has put is read later; but what needs it raises."""
    with torch_ranks.ranks(3, tmp_path, cluster) as ranks:
        run(ranks, "send_and_reduce")
        ranks[2].end()
        ranks[2].join()
        run(ranks[:2], "read_late")
        for case in ("large_allreduce", "receive"):
            for rank in ranks[:2]:
                rank.tell(case)
            for rank in ranks[:2]:
                assert "rank 2 has left the group" in raised(rank)


def test_a_rank_that_leaves_too_early_is_named(cluster: LocalCluster, tmp_path: Path) -> None:
    with torch_ranks.ranks(3, tmp_path, cluster) as ranks:
        run(ranks, "joined")
        for rank in ranks[:2]:
            rank.tell("barrier")
        time.sleep(0.2)
        ranks[2].end()
        for rank in ranks[:2]:
            assert "rank 2 has left the group" in raised(rank)


def test_ranks_start_what_their_host_lacks(tmp_path: Path) -> None:
    """One node and one directory, which go on when the rank dies that has started them."""
    with torch_ranks.ranks(3, tmp_path, None, "hoplite") as ranks:
        run(ranks, "large_allreduce")
        (cluster,) = set(run(ranks, "cluster"))
        assert [line.split()[1] for line in processes(cluster)] == ["node", "directory"]
        for rank in ranks[1:]:
            rank.tell("barrier")
        time.sleep(0.2)
        ranks[0].kill()
        for rank in ranks[1:]:
            assert "rank 0 has died" in raised(rank)
    torch_ranks.until(lambda: not processes(cluster), "its processes have ended")


def test_ranks_start_again_what_has_died(tmp_path: Path) -> None:
    """The groups of that node are over; the next group has another one."""
    with torch_ranks.ranks(2, tmp_path, None) as ranks:
        run(ranks, "large_allreduce")
        (cluster,) = set(run(ranks, "cluster"))
        for line in processes(cluster, "pid,args"):
            os.kill(int(line.split()[0]), signal.SIGKILL)
        for rank in ranks:
            rank.tell("barrier")
        for rank in ranks:
            assert "this rank has lost its node" in raised(rank)
        run(ranks, "in_a_new_group")


def test_a_name_that_only_its_own_host_takes_for_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    """127.0.1.1, as Debian has it; but who says localhost means it."""
    towards = {"debian": "127.0.0.1", "localhost": "127.0.0.1", "127.0.0.1": "127.0.0.1"}
    towards |= {_cluster.ANYWHERE: "10.1.2.3", "other": "10.1.2.4"}
    monkeypatch.setattr(_cluster, "_address_towards", towards.__getitem__)
    found = [_cluster._own_address(types.SimpleNamespace(host=host)) for host in list(towards)]
    assert found == ["10.1.2.3", "127.0.0.1", "127.0.0.1", "10.1.2.3", "10.1.2.4"]


def test_the_interface_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOPLITE_INTERFACE", "lo")
    assert _cluster._own_address(types.SimpleNamespace(host="198.51.100.1")) == "127.0.0.1"
    monkeypatch.setenv("HOPLITE_INTERFACE", "nothing0")
    with pytest.raises(hoplite.InvalidArgumentError, match="HOPLITE_INTERFACE=nothing0: no inter"):
        _cluster._own_address(types.SimpleNamespace(host="198.51.100.1"))


def test_addresses_that_do_not_meet_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """As another host takes a directory that rank 0 has started at 127.0.0.1."""
    monkeypatch.setattr(_host_node, "START_TIMEOUT", 1.0)
    monkeypatch.setattr(_cluster, "_joined", [])
    place = _cluster.Place("torch-0123456789abcdef", "127.0.0.1:9", new_secret())
    words = "directory is at 127.0.0.1:9, this host's node at 127.0.0.1 .HOPLITE_INTERFACE chooses"
    with pytest.raises(hoplite.UnavailableError, match=words):
        _cluster._join(place)


def processes(cluster: str, shown: str = "args") -> list[str]:
    """Of the cluster of that name, or the node of that socket, the oldest first: their programs."""
    listed = subprocess.run(
        ["ps", "-wweo", shown, "--sort=start_time"], capture_output=True, text=True, check=True
    )
    return [line for line in listed.stdout.splitlines() if cluster in line]


def test_ranks_of_two_clusters_do_not_join(cluster: LocalCluster, tmp_path: Path) -> None:
    with LocalCluster(nodes=1) as other:
        store = tmp_path / "store"
        sockets = [cluster.socket(0), other.socket(0), None]
        ranks = [Rank(k, 3, store, "hoplite", socket) for k, socket in enumerate(sockets)]
        assert "is of another cluster than rank 0's" in raised(ranks[1])
        assert "HOPLITE_SOCKET is set where rank 0 is, but not here" in raised(ranks[2])
        for rank in ranks:
            rank.kill()
