"""Why an object is not complete: what needs drafts and views to be staged."""

from __future__ import annotations

import os

import hoplite
import numpy as np
import pytest
from hoplite import Client, LocalCluster, ObjectId
from waiting import until


def test_its_producer_is_slow(here: Client, there: Client) -> None:
    id = ObjectId.random()
    draft = here.create(4_000_000, np.uint8, id=id)
    draft.array[:1_000_000] = 7
    draft.advance(1_000_000)
    get = there.get_future(id)
    until(lambda: there.why(id), " of 4000000 bytes from n0, ", "; n0, which makes it, has ")
    assert "it is being put here: 1000000 of 4000000 bytes are written" in here.why(id)
    draft.array[1_000_000:] = 7
    draft.seal()
    assert get.result(20.0)[-1] == 7
    assert there.why(id) == f"object {id} is complete at n1"


def test_its_producer_writes_nothing(here: Client, there: Client) -> None:
    id = ObjectId.random()
    draft = here.create(4_000_000, np.uint8, id=id)
    draft.advance(1_000_000)  # whole blocks count
    get = there.get_future(id, timeout=60.0)
    silent = "it has arrived up to 999424 of 4000000 bytes from n0, which has sent nothing for "
    maker = "; n0, which makes it, has 999424 of 4000000 bytes so far"
    until(lambda: there.why(id), silent, maker)
    with pytest.raises(
        hoplite.TimeoutError, match=f"is not complete at the deadline: {silent}.*{maker}"
    ):
        there.get(id, timeout=1.0)
    get.cancel()
    draft.abort()


def test_nobody_owns_it_any_more(here: Client, cluster: LocalCluster) -> None:
    id = ObjectId.random()
    with cluster.connect(1) as owner:
        owner.put(np.zeros(100, np.uint8), id=id, owned=True)
    until(
        lambda: here.why(id),
        f"object {id} was deleted, since nobody owned it any more; its id is blocked for another ",
    )


def test_its_producer_gave_up(here: Client, there: Client) -> None:
    id = ObjectId.random()
    draft = here.create(4_000_000, np.uint8, id=id)
    draft.advance(1_000_000)
    get = there.get_future(id, timeout=2.0)
    until(lambda: there.why(id), " of 4000000 bytes from n0, ")
    draft.abort()
    gave_up = "n0, which made it, was lost or gave up before it was whole"
    until(lambda: there.why(id), gave_up)
    until(lambda: here.why(id), gave_up)
    with pytest.raises(hoplite.TimeoutError, match=gave_up):
        get.result()


def test_memory_is_kept_by_a_process() -> None:
    with LocalCluster(nodes=1, memory="8MiB") as cluster, cluster.connect(0) as client:
        view = client.get(client.put(np.zeros(6_000_000, np.uint8)))
        id, large = ObjectId.random(), np.zeros(6_000_000, np.uint8)
        put = client.put_future(large, id=id, timeout=60.0)
        said = until(lambda: client.why(id), "a put of it waits")
        assert "bytes by objects that were put or reduced here" in said
        assert f"; clients keep: 6000000 bytes (pid {os.getpid()})" in said
        with pytest.raises(hoplite.ResourceExhaustedError, match=rf"\(pid {os.getpid()}\)"):
            client.put(large, timeout=0.2)
        put.cancel()
        assert view.size == 6_000_000
