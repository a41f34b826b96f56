"""Ctrl-C ends every call that waits within 100 ms."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import hoplite
import numpy as np
import pytest
from hoplite import Client, LocalCluster, ObjectId
from waiting import standing_still

SOON = 0.1
# On a busy machine another process may run just then: one attempt in so many has to be in time.
ATTEMPTS = 10


def seconds_to_interrupt(call: Callable[[], Any]) -> float:
    """From the signal to its exception."""
    pressed = []

    def press() -> None:
        pressed.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.1, press)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        call()
    ended = time.monotonic()
    timer.join()
    return ended - pressed[0]


def is_interrupted_soon(call: Callable[[], Any]) -> None:
    took = [seconds_to_interrupt(call)]
    while took[-1] > SOON and len(took) < ATTEMPTS:
        took.append(seconds_to_interrupt(call))
    assert min(took) <= SOON, took


MISSING = [ObjectId.random(), ObjectId.random()]
WAITS: dict[str, Callable[[Client], Any]] = {
    "get": lambda client: client.get(MISSING[0]),
    "get into": lambda client: client.get(MISSING[0], out=np.empty(10)),
    "get_many": lambda client: client.get_many(MISSING),
    "wait": lambda client: client.wait(MISSING),
    "Reduction.wait": lambda client: client.reduce(MISSING, dtype="int8").wait(),
    "Reduction.used": lambda client: client.reduce(MISSING, dtype="int8").used,
    "aget": lambda client: asyncio.run(client.aget(MISSING[0])),
}


@pytest.mark.parametrize("name", WAITS)
def test_what_waits_for_objects(here: Client, name: str) -> None:
    is_interrupted_soon(lambda: WAITS[name](here))
    assert here.get(here.put(b"it goes on"), timeout=10) == b"it goes on"


def test_a_reduction_goes_on_after_an_interrupted_wait(here: Client) -> None:
    source = ObjectId.random()
    reduction = here.reduce([source], dtype="float64")
    is_interrupted_soon(reduction.wait)
    here.put(np.ones(10), source)
    assert reduction.wait(timeout=10).used == [source]


def test_what_waits_for_room(here: Client) -> None:
    full = here.put(np.zeros(60 << 20, np.uint8))
    more = np.zeros(10 << 20, np.uint8)
    is_interrupted_soon(lambda: here.put(more))
    is_interrupted_soon(lambda: here.create(more.shape, more.dtype))
    here.delete(full)
    here.delete(here.put(more, timeout=10))  # it goes on


CALLS: dict[str, Callable[[Client], Any]] = {
    "put": lambda client: client.put(b"x"),
    "put of more": lambda client: client.put(np.zeros(1 << 20)),
    "create": lambda client: client.create(10),
    "info": lambda client: client.info(MISSING[0]),
    "delete": lambda client: client.delete(MISSING),
    "reduce of an unknown dtype": lambda client: client.reduce(MISSING),
    "cluster_id": lambda client: client.cluster_id,
    "aput": lambda client: asyncio.run(client.aput(b"x")),
}


@pytest.mark.parametrize("name", CALLS)
def test_what_waits_for_a_node_that_stands_still(
    cluster: LocalCluster, here: Client, name: str
) -> None:
    with standing_still(cluster, 0):
        is_interrupted_soon(lambda: CALLS[name](here))


def test_connecting_to_a_node_that_stands_still(cluster: LocalCluster) -> None:
    with standing_still(cluster, 0):
        is_interrupted_soon(lambda: hoplite.connect(cluster.socket(0), timeout=30))


def test_sealing_at_a_node_that_stands_still(cluster: LocalCluster, here: Client) -> None:
    drafts = [here.create(1000) for _ in range(ATTEMPTS)]
    with standing_still(cluster, 0):
        is_interrupted_soon(lambda: drafts.pop().seal())


def test_a_handler_that_raises_nothing_interrupts_nothing(here: Client, there: Client) -> None:
    rung = []
    before = signal.signal(signal.SIGALRM, lambda *_: rung.append(True))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(hoplite.TimeoutError):
            here.get(ObjectId.random(), timeout=0.4)
        assert rung
    finally:
        signal.signal(signal.SIGALRM, before)
