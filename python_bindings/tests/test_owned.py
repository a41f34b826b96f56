"""Owned objects: they go with their last owner, and not before."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import hoplite
import numpy as np
import pytest
from hoplite import Client, LocalCluster, ObjectId
from waiting import standing_still

LARGE = 1 << 20


def is_deleted(client: Client, id: ObjectId) -> bool:
    """Whether who asks is told so, soon: the directory hears of an owner's end in a moment."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            client.get(id, timeout=60)
        except hoplite.ObjectDeletedError:
            return True
        time.sleep(0.02)
    return False


def test_what_a_client_owns_goes_when_it_is_closed(cluster: LocalCluster, there: Client) -> None:
    with cluster.connect(0) as owner:
        small = owner.put(b"small", owned=True)
        large = owner.put(np.ones(LARGE), owned=True)
        with owner.create(LARGE, np.uint8, owned=True) as draft:
            draft.array[:] = 1
        later = asyncio.run(owner.aput(np.ones(LARGE), owned=True))
        stays = owner.put(b"stays")
        view = there.get(large, timeout=10)
    for id in (small, large, draft.id, later):
        assert is_deleted(there, id)
    assert view.sum() == LARGE
    assert bytes(there.get(stays, timeout=10)) == b"stays"


def test_a_second_owner_keeps_it(cluster: LocalCluster, there: Client) -> None:
    with cluster.connect(0) as owner:
        id = owner.put(np.ones(LARGE), owned=True)
        there.own(id, timeout=10)
        info = there.info(id)
        assert info.ever_owned
        assert info.owners == 2
    assert there.get(id, timeout=10).sum() == LARGE
    there.disown([id], timeout=10)
    assert is_deleted(there, id)
    with pytest.raises(hoplite.ObjectDeletedError, match=id.hex()):
        there.own([id], timeout=10)


def test_a_result_is_put_only_if_it_is_wanted(here: Client, there: Client) -> None:
    wanted = ObjectId.random()
    here.own(wanted, timeout=10)
    there.put(np.ones(LARGE), id=wanted, only_if_owned=True)
    assert here.get(wanted, timeout=10).sum() == LARGE
    here.disown(wanted)
    assert is_deleted(there, wanted)
    for value in (b"small", np.ones(LARGE)):
        with pytest.raises(hoplite.NotFoundError, match="nobody owns"):
            there.put(value, only_if_owned=True, timeout=10)
    with pytest.raises(hoplite.NotFoundError):
        there.create(LARGE, only_if_owned=True).seal(timeout=10)


@pytest.mark.parametrize("size", [1000, LARGE])
def test_a_reduction_may_be_owned(cluster: LocalCluster, there: Client, size: int) -> None:
    sources = [there.put(np.ones(size, np.float32)) for _ in range(2)]
    with cluster.connect(0) as owner:
        reduction = owner.reduce(sources, owned=True).wait(timeout=60)
        assert there.get(reduction.target, timeout=10)[0] == 2
    assert is_deleted(there, reduction.target)
    there.delete(sources)


KILLED = """
import sys
import hoplite
import numpy as np
client = hoplite.connect(sys.argv[1])
grace = float(sys.argv[2]) if len(sys.argv) > 2 else None
owned = hoplite.ObjectId.random()
client.own(owned, grace=grace)
print(client.put(np.ones(1 << 20), owned=True, grace=grace).hex(), owned.hex(), flush=True)
sys.stdin.read()
"""


@contextmanager
def killed(cluster: LocalCluster, *arguments: str) -> Iterator[list[ObjectId]]:
    """What a process owns while it lives; then it is killed."""
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, cluster.socket(0), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        yield [ObjectId(id) for id in process.stdout.readline().split()]
        process.kill()


def test_what_a_killed_process_owned_goes_after_the_grace(
    cluster: LocalCluster, there: Client
) -> None:
    with killed(cluster) as (id, owned):
        assert there.get(id, timeout=10).sum() == LARGE
        assert there.info(id).grace is None
    ended = time.monotonic()
    assert there.info(id).owners == 1
    assert is_deleted(there, id) and is_deleted(there, owned)
    assert time.monotonic() - ended >= 25, "the grace is 30 s; a reader may be late, not early"


def test_without_a_grace_it_goes_with_the_process(cluster: LocalCluster, there: Client) -> None:
    with killed(cluster, "0") as ids:
        assert there.get(ids[0], timeout=10).sum() == LARGE
        assert [there.info(id).grace for id in ids] == [0, 0]
        ended = time.monotonic()
    assert all(is_deleted(there, id) for id in ids)
    assert time.monotonic() - ended < 20, "far from the 30 s of others"


def test_a_grace_that_makes_no_sense_is_named(here: Client) -> None:
    for call in (
        lambda grace: here.own(ObjectId.random(), grace=grace),
        lambda grace: here.put(b"", owned=True, grace=grace),
        lambda grace: asyncio.run(here.aput(np.ones(LARGE), owned=True, grace=grace)),
        lambda grace: here.reduce([here.put(np.ones(3))], owned=True, grace=grace).wait(timeout=60),
    ):
        with pytest.raises(hoplite.InvalidArgumentError, match=r"a grace of 61 s .* for 60 s only"):
            call(61)
        with pytest.raises(ValueError, match="grace: a number of seconds from 0 on, or None"):
            call(-1)
        with pytest.raises(TypeError, match="grace: seconds, a number, expected, not the str '1'"):
            call("1")
    with pytest.raises(hoplite.InvalidArgumentError, match=r"a grace is given, but .* not to be"):
        here.put(b"", grace=1)


def test_who_disowns_need_not_wait(here: Client, there: Client) -> None:
    for id in (here.put(b"small", owned=True), here.put(np.ones(LARGE), owned=True)):
        here.disown([id, ObjectId.random()], wait=False)
        assert is_deleted(there, id)
    never_put = ObjectId.random()
    here.own(never_put, timeout=10)
    here.disown(never_put, wait=False)
    assert is_deleted(there, never_put)


def test_a_finalizer_disowns_while_the_node_stands_still() -> None:
    class Handle:
        def __init__(self, client: Client, id: ObjectId) -> None:
            self.client, self.id = client, id

        def __del__(self) -> None:
            self.client.disown(self.id, wait=False)

    with LocalCluster(nodes=2, memory="64MiB") as cluster, cluster.connect(1) as other:
        client = cluster.connect(0)
        handles = [Handle(client, client.put(b"x", owned=True)) for _ in range(1000)]
        ids, before = [handle.id for handle in handles], threading.active_count()
        with standing_still(cluster, 0):
            begun = time.perf_counter()
            del handles
            took = time.perf_counter() - begun
            assert threading.active_count() == before
        assert took < 1, "a stopped node answers nobody"
        for id in ids[::100]:
            assert is_deleted(other, id)
        cluster.kill(0)
        client.disown(ids, wait=False)
        client.close()
        client.disown(ids, wait=False)


def test_coroutines_own_and_delete(here: Client, there: Client) -> None:
    async def main() -> None:
        owned, gone = [ObjectId.random() for _ in range(20_000)], here.put(b"gone")
        await asyncio.gather(here.aown(owned, timeout=30), there.adelete(gone, timeout=30))
        assert here.info(owned[-1]).owners == 1
        with pytest.raises(hoplite.ObjectDeletedError, match=gone.hex()):
            await here.aown([gone, (last := ObjectId.random())], timeout=30)
        assert here.info(last).owners == 1
        await here.adelete([*owned, last], timeout=30)
        with pytest.raises(hoplite.ObjectDeletedError):
            await there.aown(owned[0], timeout=30)

    asyncio.run(main())


def test_what_it_does_not_own_a_client_may_disown(here: Client) -> None:
    id = here.put(b"stays")
    here.disown([id, ObjectId.random()])
    assert not here.info(id).ever_owned


def test_who_relies_on_an_owner_does_not_wait_for_nothing(here: Client, there: Client) -> None:
    nobodys, wanted = ObjectId.random(), ObjectId.random()
    here.own(wanted, timeout=10)
    with pytest.raises(hoplite.ObjectDeletedError, match=f"{nobodys.hex()}.*nobody owns it"):
        there.get(nobodys, only_if_owned=True)
    with pytest.raises(hoplite.ObjectDeletedError):
        there.get(nobodys, out=np.empty(3), only_if_owned=True)
    with pytest.raises(hoplite.ObjectDeletedError):
        asyncio.run(there.aget(nobodys, only_if_owned=True))
    with pytest.raises(hoplite.ObjectDeletedError):
        there.get_many([nobodys], only_if_owned=True)
    with pytest.raises(hoplite.ObjectDeletedError, match=nobodys.hex()):
        there.wait([wanted, nobodys], 2, only_if_owned=True)
    with pytest.raises(hoplite.ObjectDeletedError, match=nobodys.hex()):
        there.reduce([wanted, nobodys], dtype="float32", only_if_owned=True).wait()
    with pytest.raises(hoplite.TimeoutError):
        there.get(nobodys, timeout=0.2)
    with pytest.raises(hoplite.TimeoutError):
        there.get(wanted, timeout=0.2, only_if_owned=True)
    here.put(np.ones(LARGE), id=wanted)
    assert there.get(wanted, only_if_owned=True).sum() == LARGE
    here.disown(wanted)


def test_owning_is_asked_for_by_name(here: Client) -> None:
    with pytest.raises(TypeError):
        here.put(b"", None, None, True)  # type: ignore[arg-type, call-arg]
