"""The threads on which a program's callbacks run."""

from __future__ import annotations

import collections
import threading
import time
from collections.abc import Callable

# Seconds after which an idle thread ends.
IDLE = 1.0


class Callbacks:
    """Runs functions of the program, which may wait for what others of them do. Thread-safe.

    Functions begin in the order in which they were given. The next one begins when the one before
    has ended, or has not ended in time: a function that waits holds up nobody for long.
    """

    def __init__(self, name: str, patience: float) -> None:
        """`patience`: seconds until the next function begins although one is still running."""
        self._name, self._patience = name, patience
        self._changed = threading.Condition()
        self._waiting: collections.deque[Callable[[], None]] = collections.deque()
        self._running, self._idle = 0, 0
        self._moved_at = 0.0  # when a function has begun or ended last
        self._closed = False
        self.threads: set[threading.Thread] = set()

    def run(self, function: Callable[[], None]) -> None:
        """Soon, on another thread. `function` must not raise."""
        with self._changed:
            self._waiting.append(function)
            self._require_a_thread()

    def close(self) -> None:
        """Each thread ends when nothing is left for it."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _require_a_thread(self) -> None:
        """For the function that is next. The caller holds the lock."""
        if self._idle:
            self._changed.notify()
            return
        thread = threading.Thread(target=self._serve, name=self._name, daemon=True)
        self._idle += 1
        self.threads.add(thread)
        thread.start()

    def _serve(self) -> None:
        with self._changed:
            while self._take_turn():
                function = self._waiting.popleft()
                self._idle -= 1
                self._running += 1
                self._moved_at = time.monotonic()
                if self._waiting:
                    self._require_a_thread()
                self._changed.release()
                try:
                    function()
                    del function  # else what it has would live until the next one
                finally:
                    self._changed.acquire()
                    self._running -= 1
                    self._idle += 1
                    self._moved_at = time.monotonic()
            self._idle -= 1
            self.threads.discard(threading.current_thread())

    def _take_turn(self) -> bool:
        """Waits until the next function may begin. False: there is none for a while."""
        end = time.monotonic() + IDLE
        while True:
            now = time.monotonic()
            if not self._waiting:
                until = end
                if self._closed or now >= end:
                    return False
            else:
                until = self._moved_at + self._patience if self._running else now
                if now >= until:
                    return True
            self._changed.wait(until - now)
