"""LocalCluster: a directory and some nodes on this machine, each a process of its own."""

from __future__ import annotations

import itertools
import json
import selectors
import shutil
import subprocess
import tempfile
import time
import weakref
from pathlib import Path
from typing import Any

from hoplite import _program
from hoplite._client import Client, connect
from hoplite.errors import InvalidArgumentError, UnavailableError

START_TIMEOUT = 30.0
STOP_TIMEOUT = 10.0


class LocalCluster:
    """Starts ``nodes`` nodes of ``memory`` each, for tests and examples.

    `memory` is a number of bytes or a text as the command line takes it ("1GiB"). Used as a context
    manager it ends all its processes; what was got stays readable. They end too when the
    interpreter exits, but not when it is killed.
    """

    def __init__(self, nodes: int = 2, memory: int | str = "64MiB") -> None:
        if nodes < 1:
            raise InvalidArgumentError(f"nodes: {nodes}; at least one is needed")
        self._memory = str(memory)
        self._folder = tempfile.mkdtemp(prefix="hoplite-")
        self._nodes: list[subprocess.Popen[str] | None] = [None] * nodes
        self._directories: list[subprocess.Popen[str]] = []  # one, once it is started
        self._finalizer = weakref.finalize(
            self, _clean_up, self._nodes, self._directories, self._folder
        )
        try:
            directory = _start(["directory", "--listen=127.0.0.1:0", "--recovery-window=0ms"])
            self._directories.append(directory)
            self.directory_address = _ready(directory)["address"]
            for index in range(nodes):
                self._nodes[index] = self._start_node(index)
            for node in self._nodes:
                assert node is not None
                _ready(node)
        except BaseException:
            self.close()
            raise

    def __len__(self) -> int:
        return len(self._nodes)

    def socket(self, index: int) -> str:
        """Where workers attach to node `index`."""
        if not 0 <= index < len(self._nodes):
            raise IndexError(f"node {index} of {len(self._nodes)}")
        return str(Path(self._folder) / f"n{index}.sock")

    def connect(self, index: int) -> Client:
        """A new client of node `index`, each time."""
        return connect(self.socket(index))

    def kill(self, index: int) -> None:
        """``kill -9``: its copies are lost, nobody is told."""
        self.socket(index)
        node = self._nodes[index]
        if node is None:
            return
        node.kill()
        node.wait()
        _close_pipe(node)
        self._nodes[index] = None

    def restart(self, index: int) -> None:
        """Starts node `index` again, empty; kills it first if it runs."""
        self.kill(index)
        Path(self.socket(index)).unlink(missing_ok=True)
        node = self._start_node(index)
        self._nodes[index] = node
        _ready(node)

    def close(self) -> None:
        """Ends all processes. Idempotent."""
        self._finalizer()

    def __enter__(self) -> LocalCluster:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _start_node(self, index: int) -> subprocess.Popen[str]:
        return _start(
            ["node", "--listen=127.0.0.1:0", f"--directory={self.directory_address}"],
            [f"--socket={self.socket(index)}", f"--memory={self._memory}", f"--name=n{index}"],
        )


def _start(*arguments: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [_program.path(), *itertools.chain(*arguments), "--json"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )


def _ready(process: subprocess.Popen[str]) -> dict[str, Any]:
    """What its ready line says. UnavailableError: it ended, or said nothing in time."""
    assert process.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        line = process.stdout.readline() if selector.select(START_TIMEOUT) else ""
    if not line:
        raise UnavailableError(f"{process.args!r} did not become ready")
    said: dict[str, Any] = json.loads(line)
    return said


def _clean_up(
    nodes: list[subprocess.Popen[str] | None],
    directories: list[subprocess.Popen[str]],
    folder: str,
) -> None:
    processes = [process for process in [*nodes, *directories] if process is not None]
    for process in processes:
        process.terminate()
    deadline = time.monotonic() + STOP_TIMEOUT
    for process in processes:
        try:
            process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        _close_pipe(process)
    nodes[:] = [None] * len(nodes)
    shutil.rmtree(folder, ignore_errors=True)


def _close_pipe(process: subprocess.Popen[str]) -> None:
    if process.stdout is not None:
        process.stdout.close()
