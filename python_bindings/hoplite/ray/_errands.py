"""What is to be done later, by one thread of this process: Ray calls back on threads of its own,
which must neither wait nor raise."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable

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


def _work() -> None:
    while True:
        errand = _errands.get()
        try:
            errand()
        except Exception:
            logging.getLogger("hoplite.ray").exception("an errand failed")
