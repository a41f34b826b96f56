"""What an operation gives to its caller, and the threads on which operations run."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from hoplite._callbacks import Callbacks


class Work(dist.Work):
    """One operation of a rank, under way or done.

    Its future raises the operation's error when torch asks for its value. An error must never be
    *set* on that future: DDP's C++ side ends the process then.
    """

    def __init__(self, run: Callable[[], int | None], result: list[Tensor]) -> None:
        super().__init__()
        self._run, self._result = run, result
        self._done = threading.Event()
        self._error: BaseException | None = None
        self._source = -1
        self._lock = threading.Lock()
        self._settled: Any = None  # while nobody has asked for a future
        self._future: Any = None

    def run(self, callbacks: Callbacks) -> None:
        """On a thread of the group. What hangs on the future runs on another one: it may wait for
        an operation of this thread."""
        try:
            source = self._run()
            self._source = -1 if source is None else source
        except BaseException as error:  # whatever it is, the caller gets it
            self._error = error
        del self._run  # and with it what only the operation needed
        with self._lock:
            self._done.set()
            asked = self._settled is not None
        if asked:
            callbacks.run(self._settle)

    def wait(self, timeout: timedelta | None = None) -> bool:
        """DistBackendError: a rank has died, or did not come in time; or the operation's error."""
        seconds = timeout.total_seconds() if timeout else None
        if not self._done.wait(seconds):
            raise dist.DistBackendError(f"hoplite: timed out: not done after {seconds:g} s")
        if self._error is not None:
            raise self._error
        return True

    def get_future(self) -> Any:
        with self._lock:
            if self._settled is None:
                self._settled = torch.futures.Future()
                self._future = self._settled.then(self._value)
                if self._done.is_set():
                    self._settle()
            return self._future

    getFuture = get_future

    def is_completed(self) -> bool:
        return self._done.is_set()

    def is_success(self) -> bool:
        return self._done.is_set() and self._error is None

    def exception(self) -> BaseException | None:
        return self._error

    def result(self) -> list[Tensor]:
        return self._result

    def synchronize(self) -> None:
        self.wait()

    def source_rank(self) -> int:
        """From where a message came that was received from anybody."""
        return self._source

    _source_rank = source_rank

    def _settle(self) -> None:
        self._settled.set_result(self._result)

    def _value(self, settled: Any) -> Any:
        if self._error is not None:
            raise self._error
        return settled.value()


class Lane:
    """Runs operations one after another: on a thread of its own, or on the caller's, who waits for
    it anyway, if it has nothing else to do."""

    def __init__(self, callbacks: Callbacks) -> None:
        self._callbacks = callbacks
        self._lock, self._running = threading.Lock(), threading.Lock()
        self._begun = 0  # and not done
        self._waiting: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        #: None: all operations ran on their callers' threads.
        self.thread: threading.Thread | None = None

    def begin(self, work: Work, caller_waits: bool) -> None:
        with self._lock:
            here = caller_waits and self._begun == 0
            self._begun += 1
            if not here:
                self._waiting.put(work)
                self._start()
        if here:
            self._run(work)

    @property
    def idle(self) -> bool:
        """Nothing is under way."""
        with self._lock:
            return self._begun == 0

    def close(self) -> None:
        """When what was begun is done its thread ends."""
        self._waiting.put(None)

    def _start(self) -> None:
        if self.thread is None:
            self.thread = threading.Thread(target=self._run_all, name="hoplite-lane", daemon=True)
            self.thread.start()

    def _run_all(self) -> None:
        while (work := self._waiting.get()) is not None:
            self._run(work)
            del work  # else its tensors would live until the next one

    def _run(self, work: Work) -> None:
        with self._running:
            work.run(self._callbacks)
        with self._lock:
            self._begun -= 1
