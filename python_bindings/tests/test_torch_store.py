"""The store for torch.distributed: as torch's own, and ranks find each other by it."""

from __future__ import annotations

import subprocess
import sys
import threading
from datetime import timedelta
from typing import Any

import pytest
from hoplite import Client, LocalCluster

torch = pytest.importorskip("torch")
hoplite_torch = pytest.importorskip("hoplite.torch")

RANK = """
import sys, datetime, torch, torch.distributed as dist, hoplite, hoplite.torch
socket, rank = sys.argv[1], int(sys.argv[2])
store = hoplite.torch.Store(hoplite.connect(socket), "ranks")
dist.init_process_group("gloo", store=store, rank=rank, world_size=2)
mine = torch.full((1000,), float(rank + 1))
dist.all_reduce(mine)
dist.barrier()
gathered = [None, None]
dist.all_gather_object(gathered, {"rank": rank})
print(mine[0].item(), [one["rank"] for one in gathered], flush=True)
dist.destroy_process_group()
"""


def said_of(store: Any) -> list[Any]:
    """What a store answers to the same calls, one after the other."""
    store.set("a", "1")
    said: list[Any] = [store.get("a"), store.check(["a"]), store.check(["a", "b"])]
    store.set("a", b"x" * 3000)
    said += [store.get("a"), store.add("n", 5), store.add("n", -2), store.get("n")]
    said += [store.compare_set("c", "", "first"), store.compare_set("c", "other", "second")]
    said += [store.compare_set("c", "first", "third"), store.get("c")]
    said += [store.compare_set("absent", "expected", "new"), store.check(["absent"])]
    said += [store.delete_key("a"), store.delete_key("a"), store.check(["a"]), store.num_keys()]
    store.set("a", "")
    said += [store.get("a"), store.num_keys()]
    store.set("k" * 5000, "long")
    said += [store.get("k" * 5000), store.check(["k" * 4999])]
    store.wait(["a", "c"], timedelta(seconds=1))
    return said


def test_it_answers_as_the_store_of_torch(here: Client) -> None:
    assert said_of(hoplite_torch.Store(here, "alike")) == said_of(torch.distributed.HashStore())


def test_keys_that_were_deleted_are_not_kept(here: Client) -> None:
    store = hoplite_torch.Store(here, "deleted")
    for number in range(50):
        store.set(f"step {number}", b"x" * 2000)
        assert store.delete_key(f"step {number}")
    assert (store._open, store._owned, store.num_keys()) == ({}, {}, 0)


def test_torch_finds_every_call(here: Client) -> None:
    """Through the C++ side, as process groups call it."""
    store = hoplite_torch.Store(here, "wrapped")
    wrapped = torch.distributed.PrefixStore("prefix", store)
    alike = torch.distributed.PrefixStore("prefix", torch.distributed.HashStore())
    assert said_of(wrapped) == said_of(alike)
    assert wrapped.num_keys() == store.num_keys()


def test_who_waits_hears_of_a_key(here: Client, there: Client) -> None:
    mine, yours = hoplite_torch.Store(here, "waits"), hoplite_torch.Store(there, "waits")
    later = threading.Timer(0.1, lambda: yours.set("key", "value"))
    later.start()
    assert mine.get("key") == b"value"
    later.join()
    with pytest.raises(torch.distributed.DistStoreError, match="'nobody' was not set in time"):
        mine.wait(["nobody"], timedelta(milliseconds=50))


def test_threads_count_without_a_lock(here: Client, there: Client) -> None:
    stores = [hoplite_torch.Store(client, "counts") for client in (here, there)]
    threads = [
        threading.Thread(target=lambda store=store: [store.add("n", 1) for _ in range(50)])
        for store in stores
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert stores[0].get("n") == b"100"


def test_ranks_find_each_other(cluster: LocalCluster) -> None:
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", RANK, cluster.socket(rank), str(rank)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    for rank in ranks:
        said, _ = rank.communicate(timeout=90)
        assert (rank.returncode, said) == (0, "3.0 [0, 1]\n")


def test_it_goes_on_when_its_node_was_started_again() -> None:
    """What a process at another node has used is still there; a wait goes on."""
    with (
        LocalCluster(nodes=2, memory="32MiB") as cluster,
        cluster.connect(0) as one,
        cluster.connect(1) as other,
    ):
        mine, theirs = (hoplite_torch.Store(client, "restarts") for client in (one, other))
        mine.set("a", "1")
        assert (theirs.get("a"), theirs.add("n", 1)) == (b"1", 1)
        cluster.restart(0)
        assert (mine.get("a"), mine.add("n", 1), mine.check(["a"])) == (b"1", 2, True)
        cluster.restart(0)
        mine.set("a", "2")
        assert theirs.get("a") == b"2"
        waiting = threading.Thread(target=mine.wait, args=(["late"], timedelta(seconds=30)))
        waiting.start()
        cluster.restart(0)
        theirs.set("late", "x")
        waiting.join(30)
        assert not waiting.is_alive() and mine.get("late") == b"x"
