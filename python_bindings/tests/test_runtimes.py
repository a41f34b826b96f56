"""What a task runtime asks for: futures without an event loop, changes, pictures."""

from __future__ import annotations

import concurrent.futures
import threading

import hoplite
import numpy as np
import pytest
from hoplite import Client, ObjectId


def test_futures_need_no_event_loop(here: Client, there: Client) -> None:
    ids = [ObjectId.random() for _ in range(3)]
    gets = [there.get_future(id, timeout=20.0) for id in ids]
    puts = [here.put_future(np.full(1000, i), id=id, timeout=20.0) for i, id in enumerate(ids)]
    concurrent.futures.wait(puts + gets, timeout=20.0)
    assert [put.result(0) for put in puts] == ids
    assert [int(get.result(0)[0]) for get in gets] == [0, 1, 2]
    again = threading.Event()
    there.get_future(ids[0], timeout=20.0).add_done_callback(lambda _: again.set())
    assert again.wait(20.0)


def test_a_future_has_the_error_and_cancels_its_request(here: Client) -> None:
    late = here.get_future(ObjectId.random(), timeout=0.1)
    with pytest.raises(hoplite.TimeoutError):
        late.result(20.0)
    given_up = here.get_future(ObjectId.random())
    assert given_up.cancel()
    with pytest.raises(concurrent.futures.CancelledError):
        given_up.result(20.0)
    here.put_future(b"x", timeout=20.0).result(20.0)  # the thread goes on


def test_a_subscription_tells_of_copies(here: Client, there: Client) -> None:
    id = ObjectId.random()
    changes = there.subscribe(id, timeout=20.0)
    with pytest.raises(hoplite.TimeoutError):
        changes.next(0)
    here.put(np.zeros(100_000), id=id)
    told = []
    while ("complete", here.node_name) not in told:
        change = changes.next(20.0)
        told.append((change.kind, change.node))
    there.get(id, timeout=20.0)
    while ("complete", there.node_name) not in told:
        change = changes.next(20.0)
        told.append((change.kind, change.node))
    here.delete(id)


def test_a_picture_of_the_cluster(here: Client) -> None:
    id = here.put(np.zeros(100_000))
    status = here.status(timeout=20.0)
    assert here.node_name in [node.name for node in status.nodes]
    assert all(node.alive for node in status.nodes)
    assert [holder.node for one in status.objects if one.id == id for holder in one.holders] == [
        here.node_name
    ]
    assert [shard.away for shard in status.shards] == [""]
    assert status.object_count >= 1
    assert len(here.status(timeout=20.0, max_objects=0).objects) == 0
    here.delete(id)
