"""A client, and what it made, in other threads and processes than its own."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import pickle
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import hoplite
import numpy as np
import pytest
from hoplite import Client, LocalCluster, ObjectId

ID = ObjectId.from_name("an id")
CALLS: list[Callable[[Client], Any]] = [
    lambda client: client.put(b"x"),
    lambda client: client.put(np.zeros(1 << 20)),
    lambda client: client.create(10),
    lambda client: client.get(ID),
    lambda client: client.get(ID, out=np.empty(10)),
    lambda client: client.get_many([ID]),
    lambda client: client.wait([ID]),
    lambda client: client.reduce([ID], dtype="int8").wait(),
    lambda client: client.reduce([ID]),
    lambda client: client.delete(ID),
    lambda client: client.info(ID),
    lambda client: client.cluster_id,
    lambda client: asyncio.run(client.aput(b"x")),
    lambda client: asyncio.run(client.aget(ID)),
]


def refusals(client: Client) -> set[str]:
    """The codes with which it refuses all calls, at once."""
    codes = set()
    start = time.monotonic()
    for call in CALLS:
        with pytest.raises(hoplite.HopliteError) as refused:
            call(client)
        codes.add(refused.value.code)
    assert time.monotonic() - start < 10
    return codes


def test_a_closed_client_refuses_16_threads(cluster: LocalCluster) -> None:
    client = cluster.connect(0)
    view = client.get(client.put(np.arange(100_000)), timeout=10)
    with ThreadPoolExecutor(16) as pool:
        waiting = [pool.submit(client.get, ObjectId.random()) for _ in range(16)]
        time.sleep(0.1)
        client.close()
        for wait in waiting:
            with pytest.raises(hoplite.CancelledError):
                wait.result(timeout=10)
        for refused in [pool.submit(refusals, client) for _ in range(16)]:
            assert refused.result(timeout=30) == {"cancelled"}
    client.close()
    assert view[-1] == 99_999


def in_a_forked_child(check: Callable[[], None]) -> None:
    child = os.fork()
    if child == 0:
        try:
            check()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def test_a_forked_child_makes_a_client_of_its_own(cluster: LocalCluster, here: Client) -> None:
    name = here.put(np.arange(100_000))
    view = here.get(name, timeout=10)
    draft = here.create(10)
    reduction = here.reduce([ObjectId.random()], dtype="int8")

    def check() -> None:
        assert refusals(here) == {"unavailable"}
        for call in (draft.seal, reduction.wait):
            with pytest.raises(hoplite.UnavailableError):
                call()
        with cluster.connect(0) as own:
            assert own.get(name, timeout=10)[-1] == 99_999

    in_a_forked_child(check)
    assert view[-1] == 99_999 and here.get(name, timeout=10)[-1] == 99_999
    reduction.cancel()


def test_a_spawned_child_connects_itself(cluster: LocalCluster, here: Client) -> None:
    name = here.put(np.arange(100_000))
    spawn = multiprocessing.get_context("spawn")
    with pytest.raises(TypeError, match="connect"):
        spawn.Process(target=print, args=(here,)).start()
    with spawn.Pool(1) as pool:
        assert pool.apply(last_of, (cluster.socket(0), name)) == 99_999


def last_of(socket: str, name: ObjectId) -> int:
    with hoplite.connect(socket) as client:
        return int(client.get(name, timeout=10)[-1])


def test_what_belongs_to_its_process_does_not_pickle(here: Client) -> None:
    for one in (here, here.reduce([ObjectId.random()], dtype="int8"), here.create(10)):
        with pytest.raises(TypeError):
            pickle.dumps(one)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_another_user_is_told_who_may_use_the_node(cluster: LocalCluster) -> None:
    socket = cluster.socket(0)
    receiver, sender = multiprocessing.Pipe(duplex=False)
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(54322)
            os.setuid(54321)
            hoplite.connect(socket)
            sender.send("it is let in")
        except hoplite.InvalidArgumentError as error:
            sender.send(str(error))
        finally:
            os._exit(0)
    assert receiver.poll(20)
    said = receiver.recv()
    os.waitpid(child, 0)
    assert socket in said
    assert "user 54321 may not enter" in said or "only root may use it" in said
