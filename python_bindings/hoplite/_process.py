"""One process of the `hoplite` program: started, waited for, and ended."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import selectors
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import IO, Any

from hoplite import _program
from hoplite.errors import BY_CODE, HopliteError, UnavailableError

START_TIMEOUT = 30.0
# Until all is read that a process said which has ended.
LAST_WORDS_TIMEOUT = 1.0
STANDARD_ERROR = 2
# That are kept while nobody reads them; then the process's own log drops some, and counts them.
MOST_LINES = 1000


class Process:
    """Runs ``hoplite ARGUMENTS``, which ends with this process at the latest.

    What it says on standard error before it is ready is the reason if it never is; else, and from
    then on, it is passed on to this process's.
    """

    def __init__(self, *arguments: str) -> None:
        self._popen = _program.start(*arguments, stderr=subprocess.PIPE)
        assert self._popen.stdout is not None and self._popen.stderr is not None
        self._name = f"hoplite {arguments[0]}"
        self._stdout = self._popen.stdout
        self._voice = _Voice(self._popen.stderr)

    @property
    def pid(self) -> int:
        return self._popen.pid

    def ready(self) -> dict[str, Any]:
        """What its ready line says. Else the program's own error; UnavailableError: it said nothing
        in time."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._stdout, selectors.EVENT_READ)
            answered = selector.select(START_TIMEOUT)
        line = self._stdout.readline() if answered else b""
        if not line:
            raise self._why(ended=bool(answered))
        said: dict[str, Any] = json.loads(line)
        if "error" in said:
            raise self._refusal(**said["error"])
        self._voice.pass_on()
        return said

    def _refusal(self, code: str, message: str) -> HopliteError:
        self._popen.wait()
        self._voice.words()  # the same
        return BY_CODE[code](f"{self._name}: {message}")

    def _why(self, ended: bool) -> HopliteError:
        if not ended:
            said = "; ".join(self._voice.words(0.0)) or "HOPLITE_LOG=info makes it say what it does"
            return UnavailableError(
                f"{self._name} was not ready within {START_TIMEOUT:.0f} s: {said}"
            )
        status = self._popen.wait()
        lines = self._voice.words()
        last = lines[-1] if lines else f"it ended with status {status}"
        return UnavailableError(f"{self._name} did not become ready: {last}")

    def terminate(self) -> None:
        """Asks it to end."""
        self._popen.terminate()

    def kill(self) -> None:
        """``kill -9``; returns when it has ended."""
        self._popen.kill()
        self.wait()

    def wait(self, timeout: float | None = None) -> None:
        """Until it has ended; it is killed after so long."""
        try:
            self._popen.wait(timeout)
        except subprocess.TimeoutExpired:
            self._popen.kill()
            self._popen.wait()
        self._voice.finish()
        self._stdout.close()


class _Voice:
    """What a process says on standard error: kept until it is to be passed on. Nobody waits for
    whoever reads this process's own: then the process's lines are kept here, and at last there.
    Its threads end with the process, and sleep while nothing is said."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe
        self._lines: queue.Queue[bytes | None] = queue.Queue(MOST_LINES)  # None: the last one
        self._listener = _thread(self._listen)
        self._speaker: threading.Thread | None = None

    def words(self, patience: float = LAST_WORDS_TIMEOUT) -> list[str]:
        """The lines that were kept, which are not passed on; waits so long for the last ones of a
        process that has ended."""
        self._listener.join(patience)
        kept: list[bytes] = []
        with contextlib.suppress(queue.Empty):
            while (line := self._lines.get_nowait()) is not None:
                kept.append(line)
        return b"".join(kept).decode(errors="replace").splitlines()

    def pass_on(self) -> None:
        """What was kept, and what comes."""
        if self._speaker is None:
            self._speaker = _thread(self._speak)

    def finish(self) -> None:
        """The process has ended: everything is passed on, unless that takes long."""
        if self._listener.is_alive() or not self._lines.empty():
            self.pass_on()
        if self._speaker is not None:
            self._speaker.join(LAST_WORDS_TIMEOUT)

    def _listen(self) -> None:
        with self._pipe:
            for line in self._pipe:
                self._lines.put(line)
        self._lines.put(None)

    def _speak(self) -> None:
        while (line := self._lines.get()) is not None:
            _say(line)


def _thread(work: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=work, name="hoplite-stderr", daemon=True)
    thread.start()
    return thread


def _say(line: bytes) -> None:
    """As a child would that shares it. In a process that was started without standard error its
    number is some file of the program's."""
    if sys.__stderr__ is None:
        return
    with contextlib.suppress(OSError):
        os.write(STANDARD_ERROR, line)
