"""The one node of this host in a runtime's cluster: all its processes here share that."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from hoplite import _folder, _program
from hoplite._client import Client, connect
from hoplite._host import Host
from hoplite.errors import BY_CODE, HopliteError, UnavailableError

# After its last client has gone a node goes on for so long: workers are restarted in less.
IDLE = "5s"
# Seconds until a node that has started knows its directory.
START_TIMEOUT = 20.0
PAUSE = 0.02


def folder(runtime: str) -> Path:
    """Of the sockets of this user's nodes. UnavailableError: it is another user's."""
    path = Path(_folder.place()) / f"hoplite-{runtime}-{os.getuid()}"
    path.mkdir(mode=0o700, exist_ok=True)
    if path.lstat().st_uid != os.getuid():
        raise UnavailableError(f"hoplite.{runtime}: {path} belongs to another user")
    return path


@dataclass(frozen=True)
class HostNode:
    """The node of one host. Whoever needs it first starts it; it ends when nobody has used it for
    a while, and with no process of the runtime."""

    host: Host
    #: HOST:PORT
    directory: str
    memory: str
    runtime: str
    #: Others of ``hoplite node``.
    options: tuple[str, ...] = ()

    def attach(self) -> Client:
        """A client of it, once it knows its directory. UnavailableError: it does not start, and
        why."""
        with contextlib.suppress(UnavailableError):
            return once_known(connect(self._socket))
        self.start()
        return once_known(connect(self._socket))

    def start(self) -> None:
        """If nobody listens there. UnavailableError: it does not start, and why.
        InvalidArgumentError: it does not take its arguments."""
        lock = _folder.locked(str(self.host.sockets))
        try:
            connect(self._socket).close()
        except UnavailableError:
            self._run()
        finally:
            os.close(lock)

    @property
    def _socket(self) -> Path:
        return self.host.socket(self.host.address)

    def arguments(self, directory: str | None) -> list[str]:
        """Of the program; its directory (None) may still have to be added."""
        address = self.host.address
        name = f"{self.runtime}-{address}"
        stated = self.host.node_arguments(address, directory, self.memory, name)
        return [*stated, *self.options, f"--exit-when-idle={IDLE}"]

    def _run(self) -> None:
        """Returns when it is ready."""
        log = self.host.log("node")
        with log.open("ab") as errors:
            arguments = self.arguments(self.directory)
            process = _program.start(*arguments, stderr=errors, log_level="info", with_parent=False)
        ready(process, log)


def ready(process: subprocess.Popen[bytes], log: Path) -> dict[str, str]:
    """What a process of the program says when it is ready; waits for that, and looks after it from
    then on. UnavailableError, or what it says: it does not start."""
    assert process.stdout is not None
    said: dict[str, str] = json.loads(process.stdout.readline() or "{}")
    if "event" not in said:
        process.wait()
        raise _error(said.get("error", {}), log)  # type: ignore[arg-type]
    threading.Thread(target=_wait, args=(process,), name="hoplite-node", daemon=True).start()
    return said


def _wait(process: subprocess.Popen[bytes]) -> None:
    """Else it would stay as a zombie."""
    with process:
        pass


def _error(said: dict[str, str], log: Path) -> HopliteError:
    """Why a node has not started."""
    words = log.read_text(errors="replace").splitlines() or ["it has said nothing"]
    kind = BY_CODE.get(said.get("code", ""), UnavailableError)
    return kind(f"hoplite node: {said.get('message', words[-1])} ({log})")


def once_known(client: Client) -> Client:
    """The client, when its node has reached its directory."""
    deadline = time.monotonic() + START_TIMEOUT
    while True:
        try:
            client.cluster_id  # noqa: B018 - raises before it is known
            return client
        except HopliteError:
            if time.monotonic() > deadline:
                client.close()
                raise
            time.sleep(PAUSE)
