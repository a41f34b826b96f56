"""How tests wait for other processes, and stop them."""

from __future__ import annotations

import os
import pathlib
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from hoplite import LocalCluster


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
