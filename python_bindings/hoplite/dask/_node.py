"""The Hoplite node of this host: all workers of a Dask cluster on it share one."""

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

# After its last worker has gone a node goes on for so long: workers are restarted in less.
IDLE = "5s"
# Seconds until a node that has started knows its directory.
START_TIMEOUT = 20.0
PAUSE = 0.02


def folder() -> Path:
    """Of the sockets of this user's nodes. UnavailableError: it is another user's."""
    path = Path(_folder.place()) / f"hoplite-dask-{os.getuid()}"
    path.mkdir(mode=0o700, exist_ok=True)
    if path.lstat().st_uid != os.getuid():
        raise UnavailableError(f"hoplite.dask: {path} belongs to another user")
    return path


@dataclass(frozen=True)
class HostNode:
    """The node of one host. Whoever needs it first starts it; it ends when nobody has used it for
    a while, and with no process of Dask."""

    host: Host
    #: HOST:PORT
    directory: str
    memory: str

    def attach(self) -> Client:
        """A client of it, once it knows its directory. UnavailableError: it does not start, and
        why."""
        with contextlib.suppress(UnavailableError):
            return _once_known(connect(self._socket))
        self.start()
        return _once_known(connect(self._socket))

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

    def _run(self) -> None:
        """Returns when it is ready."""
        name = f"dask-{self.host.address}"
        arguments = self.host.node_arguments(self.host.address, self.directory, self.memory, name)
        log = self.host.log("node")
        with log.open("ab") as errors:
            process = _program.start(
                *arguments,
                f"--exit-when-idle={IDLE}",
                stderr=errors,
                log_level="info",
                with_parent=False,
            )
        assert process.stdout is not None
        said = json.loads(process.stdout.readline() or "{}")
        if "event" not in said:
            process.wait()
            raise _error(said.get("error", {}), log)
        threading.Thread(target=_wait, args=(process,), name="hoplite-node", daemon=True).start()


def _wait(process: subprocess.Popen[bytes]) -> None:
    """Else it would stay as a zombie."""
    with process:
        pass


def _error(said: dict[str, str], log: Path) -> HopliteError:
    """Why a node has not started."""
    words = log.read_text(errors="replace").splitlines() or ["it has said nothing"]
    kind = BY_CODE.get(said.get("code", ""), UnavailableError)
    return kind(f"hoplite node: {said.get('message', words[-1])} ({log})")


def _once_known(client: Client) -> Client:
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
