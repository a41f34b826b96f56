"""What a task runtime asks for: futures without an event loop, changes, pictures."""

from __future__ import annotations

import asyncio
import concurrent.futures
import itertools
import os
import re
import resource
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import hoplite
import numpy as np
import pytest
from hoplite import Client, LocalCluster, ObjectId


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


def test_callbacks_may_wait_for_other_futures(here: Client) -> None:
    """Each for the next one of its client, which comes later."""
    ids = [ObjectId.random() for _ in range(4)]
    gets = [here.get_future(id, timeout=20.0) for id in ids]
    heard: list[Any] = []

    def wait_for(other: Any) -> Callable[[Any], None]:
        return lambda _: heard.append(other.result(10.0))

    for one, other in itertools.pairwise(gets):
        one.add_done_callback(wait_for(other))
    for number, id in enumerate(ids):
        here.put(np.full(10, number), id=id, timeout=20.0)
    concurrent.futures.wait(gets, timeout=20.0)
    deadline = time.monotonic() + 20.0
    while len(heard) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert sorted(value[0] for value in heard) == [1, 2, 3]
    here.delete(ids)


@pytest.fixture
def many_descriptors() -> Iterator[None]:
    """The next one is above 1,023."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 2048:
        pytest.skip(f"this process may have {hard} descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2048), hard))
    opened = [os.open(os.devnull, os.O_RDONLY) for _ in range(1100)]
    yield
    for one in opened:
        os.close(one)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("many_descriptors")
def test_futures_are_settled_beyond_a_thousand_descriptors(cluster: LocalCluster) -> None:
    with cluster.connect(0) as client, client.register("descriptors") as register:
        id = ObjectId.random()
        get, changed = client.get_future(id, timeout=20.0), register.changed_future(0, timeout=20.0)
        assert client.put_future(b"x", id=id, timeout=20.0).result(20.0) == id
        register.compare_and_set(0, b"y", timeout=20.0)
        assert (bytes(get.result(20.0)), changed.result(20.0).value) == (b"x", b"y")
        assert bytes(asyncio.run(client.aget(id, timeout=20.0))) == b"x"
        client.delete(id)


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


def test_many_objects_are_looked_at_in_a_few_messages(here: Client, there: Client) -> None:
    array, small, gone = here.put(np.zeros(100_000)), here.put(b"small"), here.put(b"gone")
    there.get(array, timeout=20.0)
    here.delete(gone)
    missing = [ObjectId.random() for _ in range(3000)]
    infos = here.info_many([array, *missing, small, gone], timeout=20.0)
    first, *others, held, deleted = infos
    assert first is not None and (first.id, first.size_bytes) == (array, 800_000)
    assert held is not None and held.size_bytes == 5
    assert others == [None] * 3000 and deleted is None
    found = here.locations([array, missing[0]], timeout=20.0)
    assert {id: set(nodes) for id, nodes in found.items()} == {
        array: {here.node_name, there.node_name},
        missing[0]: set(),
    }
    assert here.info_many([]) == [] and here.locations([]) == {}
    with pytest.raises(TypeError, match="info_many: ids: a list of ObjectIds expected"):
        here.info_many("all")  # type: ignore[arg-type]
    here.delete([array, small])


def test_a_users_own_metadata_lies_beside_the_value(here: Client, there: Client) -> None:
    own = {"step": 7, "names": ["a", "b"], "nested": {"": None, "really": True, "rate": 0.5}}
    ones = np.ones(1000, np.float32)
    values: list[Any] = [b"bytes", ones, {"w": ones}, {"text": "\u00e4"}]
    ids = [here.put(value, metadata=own) for value in values]
    ids.append(asyncio.run(here.aput(ones, metadata=own)))
    ids.append(here.put_future(ones, metadata=own).result(20.0))
    with here.create(3, metadata=own) as draft:
        draft.array[:] = 1.0
    ids.append(draft.id)
    assert [info.user_metadata for info in there.info_many(ids) if info] == [own] * len(ids)
    assert bytes(there.get(ids[0], timeout=20.0)) == b"bytes"
    assert there.get(ids[2], timeout=20.0)["w"].sum() == 1000
    other = there.put(ones, metadata={"step": 8})  # it need not be the same of all sources
    assert there.get(here.reduce([ids[1], other]).target, timeout=20.0)[0] == 2.0
    assert here.info(here.put(b"none")).user_metadata == {}
    here.delete(ids)


@pytest.mark.parametrize(
    ("metadata", "why"),
    [
        ({"text": "x" * 2040}, r"metadata: it takes 2051 bytes as JSON; at most 2048"),
        ({"one": np.ones(1)}, "metadata: it can't be written as JSON: Object of type ndarray"),
        ({1: "one"}, "metadata: JSON does not give it back as it was: its keys"),
        ({"pair": (1, 2)}, "metadata: JSON does not give it back as it was: its keys"),
    ],
)
def test_metadata_that_can_not_go_is_refused(here: Client, metadata: Any, why: str) -> None:
    for put in (here.put, here.put_future):
        with pytest.raises(hoplite.InvalidArgumentError, match=why):
            put(b"value", metadata=metadata)
    with pytest.raises(TypeError, match="put: metadata: a dict expected, not the str 'text'"):
        here.put(b"value", metadata="text")  # type: ignore[arg-type]


def test_what_stands_at_a_prompt(here: Client) -> None:
    id, never = ObjectId.random(), ObjectId.random()
    assert re.fullmatch(r"<Client of node n0 at .*n0\.sock>", repr(here))
    get = here.get_future(id)
    assert repr(get) == f"<Future of a get of {id}: under way>"
    draft = here.create(100, id=id)
    draft.advance(80)
    assert repr(draft) == f"<Draft of {id}: 800 bytes, 80 of them advanced, open>"
    draft.seal()
    assert repr(draft) == f"<Draft of {id}: 800 bytes, sealed>"
    get.result(20.0)
    assert repr(get) == f"<Future of a get of {id}: done>"
    assert repr(here._core.get(id)) == f"<View of {id}, 800 bytes>"
    waits = here.reduce([id, never], dtype="float64")
    assert repr(waits) == f"<Reduction into {waits.target}: under way>"
    waits.cancel()
    assert "CancelledError" in repr(waits)
    final = here.reduce([id, never], num_objects=1, dtype="float64").wait(20.0)
    assert repr(final) == f"<Reduction into {final.target}: final, 1 of 2 sources used>"
    assert f"{id}, 800 bytes: " in repr(here.info(id))
    here.delete([id, final.target])


def test_a_cluster_is_a_tree_in_a_notebook() -> None:
    with hoplite.LocalCluster(nodes=2, memory="32MiB") as cluster, cluster.connect(1) as client:
        array, failed = client.put(np.zeros(100_000)), ObjectId.random()
        client.fail(failed, "<script>alert()</script>")
        assert repr(cluster).startswith("<LocalCluster of 2 nodes of 32MiB: n0, n1; directory at")
        shown = cluster._repr_html_()
        assert f"<li>{array}, 781.2 KiB: n1: all</li>" in shown and "n0 at 127.0.0.1" in shown
        assert "&lt;script&gt;" in shown and "<script>" not in shown
        assert shown.count("<details") == shown.count("</details>") > 0
        cluster.kill(0)
        assert "n0 killed" in repr(cluster) and str(array) in cluster._repr_html_()
    assert repr(cluster) == "<LocalCluster, closed>" and "closed" in cluster._repr_html_()
    assert repr(client).endswith(", closed>")
