"""The processes of a cluster on one host: where their sockets and logs are, and how they are
started and kept running. A runtime (`hoplite.ray`) says which cluster that is, and which of its own
processes keeps them."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hoplite._daemon import Daemon


@dataclass(frozen=True)
class Host:
    """The part of one host in the cluster of that name. Hosts may share the folders, and a host may
    have several nodes: their names tell them apart."""

    cluster: str
    #: Its address, to which others connect.
    address: str
    #: Folders, which may not exist yet.
    sockets: Path
    logs: Path
    #: By which the cluster's processes recognize each other (``new_secret``). Of one that only
    #: looks for sockets it may be empty.
    secret: str = ""

    def socket(self, node: str) -> Path:
        """Where clients attach to the node that the cluster's runtime knows by this text. The name
        has 12 bytes: the path of a Unix socket may have 107."""
        name = hashlib.blake2b(f"{self.cluster}-{node}".encode(), digest_size=6).hexdigest()
        return self.sockets / name

    def log(self, name: str) -> Path:
        """Where the process of that name writes what goes wrong."""
        return self.logs / f"hoplite-{name}.log"

    def keep_directory(self, listen: Callable[[], str | None], log: str, *arguments: str) -> Daemon:
        """The cluster's directory, kept running by this process. `listen` gives the address that it
        had; None: it is new, and nobody has to tell it what there is."""

        def all_arguments() -> list[str]:
            address = listen()
            told = [f"--listen={address or any_port(self.address)}"]
            if address is None:
                told.append("--recovery-window=0ms")
            return [
                "directory",
                f"--cluster={self.cluster}",
                f"--secret-file={self.secret_file()}",
                *told,
                *arguments,
            ]

        return Daemon(all_arguments, self.log(log))

    def keep_node(
        self, node: str, directory: str, memory: str, name: str, log: str, *options: str
    ) -> Daemon:
        """A node at ``socket(node)``, kept running by this process. `directory`: HOST:PORT; `name`:
        unique in the cluster; `options`: others of ``hoplite node``."""
        arguments = [*self.node_arguments(node, directory, memory, name), *options]
        return Daemon(lambda: arguments, self.log(log))

    def node_arguments(self, node: str, directory: str | None, memory: str, name: str) -> list[str]:
        """Of the program, for such a node; its directory (None) may still have to be added."""
        socket = self.socket(node)
        socket.parent.mkdir(parents=True, exist_ok=True)
        return [
            "node",
            f"--cluster={self.cluster}",
            f"--secret-file={self.secret_file()}",
            *([] if directory is None else [f"--directory={directory}"]),
            f"--listen={any_port(self.address)}",
            f"--socket={socket}",
            f"--memory={memory}",
            f"--name={name}",
        ]

    def secret_file(self) -> Path:
        """Whole under its name at any time: processes of the same cluster read it meanwhile."""
        self.sockets.mkdir(parents=True, exist_ok=True)
        path = self.socket("secret")
        new = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(self.secret)
        new.rename(path)
        return path


def new_secret() -> str:
    """Of a cluster."""
    return secrets.token_hex(32)


def any_port(address: str) -> str:
    """HOST:PORT of a port that is free."""
    return f"[{address}]:0" if ":" in address else f"{address}:0"
