"""How tests wait for other processes, stop them, and keep answers from clients."""

from __future__ import annotations

import os
import pathlib
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from hoplite import Client, HopliteError, LocalCluster


def until(says: Callable[[], str], *parts: str) -> str:
    """What it says as soon as it says all of these."""
    deadline = time.monotonic() + 20
    while not all(part in says() for part in parts):
        assert time.monotonic() < deadline, says()
        time.sleep(0.01)
    return says()


@contextmanager
def standing_still(cluster: LocalCluster, index: int) -> Iterator[None]:
    """That node, as a process that is stopped."""
    node = cluster._nodes[index]
    assert node is not None
    os.kill(node.pid, signal.SIGSTOP)
    while ") T " not in pathlib.Path(f"/proc/{node.pid}/stat").read_text():  # it may still run
        time.sleep(0.001)
    try:
        yield
    finally:
        os.kill(node.pid, signal.SIGCONT)


def until_lost(asked: Client, node: str) -> None:
    """The directory has given up the node of that name."""
    deadline = time.monotonic() + 60
    while any(one.name == node for one in asked.status(60, 0).nodes):
        assert time.monotonic() < deadline, node
        time.sleep(0.01)


class Unanswered:
    """A client that gets no answer to the first `times` calls of one name."""

    def __init__(self, client: Client, call: str, error: HopliteError, times: int = 2) -> None:
        self._client, self._call, self._error, self.left = client, call, error, times

    def __getattr__(self, name: str) -> Any:
        if name == self._call and self.left > 0:
            return self._fail
        return getattr(self._client, name)

    def _fail(self, *_: Any, **__: Any) -> Any:
        self.left -= 1
        raise self._error
