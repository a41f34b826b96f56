"""What is to be done later, by one thread of this process: Ray calls back on threads of its own,
which must neither wait nor raise. And what every thread of this package does before it ends."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable

import ray
from ray._private.worker import global_worker

# Between two looks whether Ray has shut down, in seconds.
PAUSE = 0.02

_errands: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
_starting = threading.Lock()
_threads: list[threading.Thread] = []


def run(errand: Callable[[], None]) -> None:
    """Soon, one after another, in the order of calls. Takes no lock: it may be called anywhere,
    even while an object is being finalized."""
    _errands.put(errand)


def start() -> None:
    """Before the first errand; idempotent."""
    with _starting:
        if not _threads:
            _threads.append(threading.Thread(target=_work, name="hoplite-ray", daemon=True))
            _threads[0].start()


def outlast_shutdown() -> None:
    """Waits while Ray is shutting down. Ray ends the process, with status 1, when a thread drops
    an ObjectRef after its core has gone and before it has forgotten the core."""
    while not ray.is_initialized() and hasattr(global_worker, "core_worker"):
        time.sleep(PAUSE)


def _work() -> None:
    while True:
        errand = _errands.get()
        try:
            errand()
        except Exception:
            logging.getLogger("hoplite.ray").exception("an errand failed")
        outlast_shutdown()
        del errand
