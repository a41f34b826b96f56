"""LocalCluster: a directory and some nodes on this machine, each a process of its own."""

from __future__ import annotations

import contextlib
import html
import os
import time
import weakref
from pathlib import Path

from hoplite import _shown, _spill
from hoplite._client import Client, connect
from hoplite._folder import Folder
from hoplite._process import Process
from hoplite.errors import HopliteError, InvalidArgumentError

STOP_TIMEOUT = 10.0
# Of a picture for a notebook: seconds, and objects.
SHOWN_WITHIN = 2.0
MOST_SHOWN = 200


class LocalCluster:
    """Starts ``nodes`` nodes of ``memory`` each, for tests and examples.

    `memory` is a number of bytes or a text as the command line takes it ("1GiB"). Used as a context
    manager it ends all its processes; what was got stays readable. They also end with this process,
    however it ends (a signal, ``kill -9``), and with nothing else: not by Ctrl-C on the terminal,
    nor with a forked child of it. What does not start raises the program's own error
    (InvalidArgumentError: no such `memory`). With `spill`, a folder on a disk, put objects lie
    there when memory is wanted, up to `spill_limit` for each node ("10GiB"); a disk that is
    smaller than these together is refused.
    """

    def __init__(
        self,
        nodes: int = 2,
        memory: int | str = "64MiB",
        *,
        spill: str | os.PathLike[str] | None = None,
        spill_limit: int | str = 0,
    ) -> None:
        if nodes < 1:
            raise InvalidArgumentError(f"nodes: {nodes}; at least one is needed")
        self._memory = str(memory)
        self._disk = _spill.options(spill, spill_limit, nodes)
        self._folder = Folder()
        self._nodes: list[Process | None] = [None] * nodes
        self._directories: list[Process] = []  # one, once it is started
        self._finalizer = weakref.finalize(
            self, _clean_up, os.getpid(), self._nodes, self._directories, self._folder
        )
        try:
            directory = Process("directory", "--listen=127.0.0.1:0", "--recovery-window=0ms")
            self._directories.append(directory)
            #: HOST:PORT of the directory, for further nodes.
            self.directory_address = directory.ready()["address"]
            for index in range(nodes):
                self._nodes[index] = self._start_node(index)
            for node in self._nodes:
                assert node is not None
                node.ready()
        except BaseException:
            self.close()
            raise

    def __len__(self) -> int:
        return len(self._nodes)

    def socket(self, index: int) -> str:
        """Where workers attach to node `index`. IndexError: there is no such node."""
        if not 0 <= index < len(self._nodes):
            raise IndexError(f"node {index} of {len(self._nodes)}")
        return str(Path(self._folder.path) / f"n{index}.sock")

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
        self._nodes[index] = None

    def restart(self, index: int) -> None:
        """Starts node `index` again, empty; kills it first if it runs."""
        self.kill(index)
        Path(self.socket(index)).unlink(missing_ok=True)
        node = self._start_node(index)
        self._nodes[index] = node
        node.ready()

    def close(self) -> None:
        """Ends all processes. Idempotent; does nothing in a forked child."""
        self._finalizer()

    def __repr__(self) -> str:
        if not self._finalizer.alive:
            return "<LocalCluster, closed>"
        nodes = [f"n{index}" + ("" if one else " killed") for index, one in enumerate(self._nodes)]
        return (
            f"<LocalCluster of {len(nodes)} nodes of {self._memory}: {', '.join(nodes)}; "
            f"directory at {self.directory_address}>"
        )

    def _repr_html_(self) -> str:
        """What the first node that answers says of all of them."""
        tree = ""
        for index, node in enumerate(self._nodes):
            if node is None or not self._finalizer.alive:
                continue
            with contextlib.suppress(HopliteError), self.connect(index) as client:
                tree = _shown.html(client.status(SHOWN_WITHIN, MOST_SHOWN))
                break
        return f"<p>{html.escape(repr(self))}</p>{tree}"

    def __enter__(self) -> LocalCluster:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def _start_node(self, index: int) -> Process:
        return Process(
            *("node", "--listen=127.0.0.1:0", f"--directory={self.directory_address}"),
            *(f"--socket={self.socket(index)}", f"--memory={self._memory}", f"--name=n{index}"),
            *self._disk,
        )


def _clean_up(
    owner: int, nodes: list[Process | None], directories: list[Process], folder: Folder
) -> None:
    """The nodes first: one whose directory ends before it would complain."""
    if os.getpid() != owner:
        return
    for processes in [node for node in nodes if node is not None], directories:
        for process in processes:
            process.terminate()
        deadline = time.monotonic() + STOP_TIMEOUT
        for process in processes:
            process.wait(max(0.0, deadline - time.monotonic()))
    nodes[:] = [None] * len(nodes)
    folder.remove()
