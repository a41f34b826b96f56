"""Whoever waits for an object's end is told of it."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable

import hoplite
import numpy as np
import pytest
from hoplite import Client, LocalCluster, ObjectId

LARGE = 1 << 20


def while_somebody_waits(
    wait: Callable[[], list[ObjectId]], end: Callable[[], object]
) -> list[ObjectId]:
    """What the wait gives once this has happened."""
    given: list[list[ObjectId]] = []
    waiting = threading.Thread(target=lambda: given.append(wait()))
    waiting.start()
    end()
    waiting.join(60)
    return given[0]


def test_a_deleted_object_is_gone(here: Client, there: Client) -> None:
    stays, never = here.put(b"stays"), ObjectId.random()
    for value in (b"small", np.ones(LARGE)):
        id = here.put(value)
        asked = [stays, never, id]
        assert there.wait_gone(asked, timeout=0.05) == []
        wait, end = functools.partial(there.wait_gone, asked, timeout=60), here.delete
        ended = while_somebody_waits(wait, functools.partial(end, id))
        assert ended == [id]
        assert there.wait_gone(id, timeout=60) == [id]


def test_what_nobody_owns_is_gone(cluster: LocalCluster, there: Client) -> None:
    id = ObjectId.random()
    with cluster.connect(0) as owner:
        owner.own(id, timeout=10)
        assert there.wait_gone(id, timeout=0.05) == []
    assert there.wait_gone([id], timeout=60) == [id]
    assert there.wait_gone(ObjectId.random(), timeout=60, only_if_owned=True) != []
    with pytest.raises(hoplite.InvalidArgumentError, match="0 ids to wait for; 1 to 16384"):
        there.wait_gone([])
    with pytest.raises(TypeError, match=r"wait_gone: ids: .* the int 7"):
        there.wait_gone([7])  # type: ignore[list-item]


def test_a_lost_object_is_gone() -> None:
    with LocalCluster(nodes=2) as cluster, cluster.connect(1) as other:
        with cluster.connect(0) as putter:
            id = putter.put(np.ones(LARGE))
        assert other.wait([id], timeout=60) == ([id], [])  # the directory knows that it is whole
        begun = time.monotonic()
        gone = while_somebody_waits(
            lambda: other.wait_gone(id, timeout=60), lambda: cluster.kill(0)
        )
        assert gone == [id] and time.monotonic() - begun < 30
