"""One process of the `hoplite` program: started, waited for, and ended."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import sys
import threading
from typing import IO, Any

from hoplite import _program
from hoplite.errors import BY_CODE, HopliteError, UnavailableError

START_TIMEOUT = 30.0
# Until all is read that a process said which has ended.
LAST_WORDS_TIMEOUT = 1.0
STANDARD_ERROR = 2


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
    """What a process says on standard error: kept until it is to be passed on. Ends with it. Its
    thread sleeps while nothing is said."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe
        self._lock = threading.Lock()
        self._kept: list[bytes] | None = []
        self._thread = threading.Thread(target=self._listen, name="hoplite-stderr", daemon=True)
        self._thread.start()

    def words(self, patience: float = LAST_WORDS_TIMEOUT) -> list[str]:
        """The lines that were kept, which are not passed on; waits so long for the last ones of a
        process that has ended."""
        self._thread.join(patience)
        with self._lock:
            kept, self._kept = self._kept or [], []
        return b"".join(kept).decode(errors="replace").splitlines()

    def pass_on(self) -> None:
        """What was kept, and what comes."""
        with self._lock:
            for line in self._kept or []:
                _say(line)
            self._kept = None

    def finish(self) -> None:
        """The process has ended: everything is passed on."""
        self.pass_on()
        self._thread.join(LAST_WORDS_TIMEOUT)

    def _listen(self) -> None:
        with self._pipe:
            for line in self._pipe:
                with self._lock:
                    if self._kept is None:
                        _say(line)
                    else:
                        self._kept.append(line)


def _say(line: bytes) -> None:
    """As a child would that shares it. In a process that was started without standard error its
    number is some file of the program's."""
    if sys.__stderr__ is None:
        return
    with contextlib.suppress(OSError):
        os.write(STANDARD_ERROR, line)
