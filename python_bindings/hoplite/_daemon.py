"""One daemon of the `hoplite` program, kept running by the process that this is."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from hoplite import _program
from hoplite.errors import HopliteError, InvalidArgumentError, UnavailableError

START_TIMEOUT = 20.0
# What the program exits with if its arguments make no sense: another attempt would not help.
USAGE_ERROR = 2
# Between the end of one and the start of the next.
PAUSE = 0.1
LONGEST_PAUSE = 2.0


class Daemon:
    """Runs ``hoplite ARGUMENTS``, and again whenever that ends; it ends with this process.

    Decides when it is started again. Asks for the arguments anew each time. Must never let one
    outlive this process.
    """

    def __init__(self, arguments: Callable[[], list[str]], log: Path) -> None:
        self._arguments = arguments
        self._log = log
        self._ready = threading.Condition()
        self._said: dict[str, Any] = {}
        self._last_words = ""
        self._given_up = False
        self._process: subprocess.Popen[bytes] | None = None
        self._error: type[HopliteError] = UnavailableError
        threading.Thread(target=self._keep, name="hoplite-keeper", daemon=True).start()

    def ready(self) -> dict[str, Any]:
        """What the ready line of the one that runs says; waits for it.

        UnavailableError: none became ready in time; the last words of the last one, which say what
        it was doing. InvalidArgumentError: it does not take its arguments.
        """
        with self._ready:
            self._ready.wait_for(lambda: self._said or self._given_up, START_TIMEOUT)
            if self._said:
                return self._said
            reason, kind = self._last_words, self._error
        if not reason:
            doing = self._last_logged() or "it has said nothing"
            reason = f"not ready within {START_TIMEOUT:.0f} s: {doing}"
        raise kind(f"hoplite {self._arguments()[0]}: {reason} ({self._log})")

    def stop(self) -> None:
        """Ends it for good. Idempotent."""
        with self._ready:
            self._given_up = True
            if self._process is not None:
                self._process.terminate()

    def _keep(self) -> None:
        pause = PAUSE
        while not self._given_up:
            self._log.parent.mkdir(parents=True, exist_ok=True)
            with self._log.open("ab") as log:
                ran = self._run_once(log)
            pause = PAUSE if ran else min(2 * pause, LONGEST_PAUSE)
            time.sleep(pause)

    def _run_once(self, log: IO[bytes]) -> bool:
        """Whether it became ready."""
        try:
            process = self._start(log)
        except OSError as error:
            self._tell({}, str(error), given_up=True)
            return False
        assert process.stdout is not None
        with process.stdout:
            said: dict[str, Any] = json.loads(process.stdout.readline() or "{}")
            if "error" not in said:
                self._tell(said)
            status = process.wait()
        if status == USAGE_ERROR:
            self._error = InvalidArgumentError
        last_words = self._last_logged() or f"ended with status {status}"
        self._tell({}, last_words, given_up=status == USAGE_ERROR)
        return "event" in said

    def _start(self, log: IO[bytes]) -> subprocess.Popen[bytes]:
        with self._ready:
            self._process = _program.start(*self._arguments(), stderr=log, log_level="info")
            if self._given_up:  # stopped since
                self._process.terminate()
            return self._process

    def _tell(self, said: dict[str, Any], last_words: str = "", given_up: bool = False) -> None:
        with self._ready:
            self._said = said
            self._last_words = last_words
            self._given_up = self._given_up or given_up
            self._ready.notify_all()

    def _last_logged(self) -> str:
        lines = self._log.read_text(errors="replace").splitlines() if self._log.exists() else []
        told = [line for line in lines if not line.startswith("Run with --help")]
        return told[-1] if told else ""
