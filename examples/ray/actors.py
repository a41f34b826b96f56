"""What the actors of the programs have in common: a transport, and a clock of their computing."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ray
from transports import TRANSPORTS, Transport


class Computing:
    """An actor's class; `transport` brings what its methods are given."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self._seconds = 0.0

    @contextmanager
    def computing(self) -> Iterator[None]:
        """Meanwhile the clock runs."""
        start = time.perf_counter()
        yield
        self._seconds += time.perf_counter() - start

    def seconds(self) -> float:
        """Spent computing."""
        return self._seconds


def start(name: str) -> Transport:
    """That transport, on the Ray cluster of this process, of RAY_ADDRESS, or a new one, whose
    workers find the modules that this process finds."""
    if not ray.is_initialized():
        path = os.pathsep.join(filter(None, sys.path))
        ray.init(runtime_env={"env_vars": {"PYTHONPATH": path}})
    transport = TRANSPORTS[name]()
    transport.start()
    return transport


def spread(kind: type[Computing], transport: Transport, count: int, *arguments: Any) -> list[Any]:
    """So many actors, on all hosts by turns; each is told a number of its own. Ray starts those
    that fail again."""
    actor = ray.remote(kind).options(num_cpus=0, scheduling_strategy="SPREAD", max_restarts=-1)
    return [actor.remote(transport, number, *arguments) for number in range(count)]
