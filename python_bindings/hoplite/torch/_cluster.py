"""The cluster of a group: that of ``$HOPLITE_SOCKET``, or one that its ranks start."""

from __future__ import annotations

import contextlib
import fcntl
import ipaddress
import json
import os
import shutil
import socket
import struct
import subprocess
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from multiprocessing import util
from typing import Any

from hoplite import Client, _client, _program
from hoplite._core import ObjectId
from hoplite.errors import HopliteError, InvalidArgumentError, UnavailableError
from hoplite.plugins import Host, HostNode, any_port, folder, new_secret, once_known, ready

RUNTIME = "torch"
# Of the kernel: asks for an interface's address.
SIOCGIFADDR = 0x8915
# Nobody's, but the way to it is that to most hosts.
ANYWHERE = "198.51.100.1"
# Of each host's node, unless HOPLITE_MEMORY says another.
MEMORY = "1GiB"
# A node that reads its directory's address before it runs. The directory comes first, and ends with
# the node: both go on for the other ranks if the process that started them dies.
LATER = 'read -r directory && exec "$0" "$@" --directory="$directory"'


@dataclass(frozen=True)
class Place:
    """A cluster that ranks have started: its name, its directory's HOST:PORT, and by what its
    processes recognize each other."""

    cluster: str
    directory: str
    secret: str


@dataclass(frozen=True)
class Joined:
    """A cluster of this process: the client keeps the node of this host."""

    place: Place
    node: HostNode
    client: Client

    @property
    def socket(self) -> str:
        return self.client._socket


# The last one. (Groups of an earlier one keep its node by clients of their own.)
_joined: list[Joined] = []


def socket_of(store: Any, rank: int) -> str:
    """Where this rank attaches to a node of the group's cluster. Rank 0 says by the `store` which
    cluster that is, and starts it if it has to. UnavailableError: no node starts, and why.
    InvalidArgumentError: this rank's node is of another cluster."""
    if rank != 0:
        return _hear(store)
    try:
        path, place = _own(store)
        with once_known(_client.connect(path)) as client:
            said = {"id": client.cluster_id, "place": None if place is None else astuple(place)}
    except Exception as error:
        store.set("cluster", json.dumps({"error": str(error)}))
        raise
    store.set("cluster", json.dumps(said))
    return path


def _own(store: Any) -> tuple[str, Place | None]:
    named = os.environ.get("HOPLITE_SOCKET")
    if named:
        return named, None
    if not (_joined and _answers(_joined[0].socket)):
        _start(_own_address(store))
    return _joined[0].socket, _joined[0].place


def _answers(path: str) -> bool:
    """Whether the node is there: the directory of a cluster ends with its first one."""
    try:
        with _client.connect(path) as client:
            return bool(client.cluster_id)
    except HopliteError:
        return False


def _hear(store: Any) -> str:
    said = json.loads(store.get("cluster"))
    if "error" in said:
        raise UnavailableError(f"rank 0 has no node: {said['error']}")
    named = os.environ.get("HOPLITE_SOCKET")
    if not named and said["place"] is None:
        raise InvalidArgumentError(
            "HOPLITE_SOCKET is set where rank 0 is, but not here: set it for all ranks, or for none"
        )
    path = named or _join(Place(*said["place"]))
    with once_known(_client.connect(path)) as client:
        if client.cluster_id != said["id"]:
            raise InvalidArgumentError(f"the node at {path} is of another cluster than rank 0's")
    return path


def _join(place: Place) -> str:
    """The socket of this host's node, which is started if there is none."""
    if not (_joined and _joined[0].place == place):
        address = _address_towards(place.directory.rpartition(":")[0].strip("[]"))
        host = _host(place.cluster, address, place.secret)
        _enter(place, HostNode(host, place.directory, _memory(), RUNTIME))
    elif not _answers(_joined[0].socket):
        _enter(place, _joined[0].node)
    return _joined[0].socket


def _enter(place: Place, node: HostNode) -> None:
    with _named(place.directory, node.host.address):
        joined = Joined(place, node, node.attach())
    for before in _joined:
        before.client.close()
    _joined[:] = [joined]


def _start(address: str) -> None:
    """A new cluster: its directory, and this host's node."""
    cluster = f"torch-{ObjectId.random().hex()[:16]}"
    secret = new_secret()
    host = _host(cluster, address, secret)
    log = host.log("node")
    waiting = HostNode(host, "", _memory(), RUNTIME).arguments(None)
    with log.open("ab") as errors:
        node = subprocess.Popen(
            ["sh", "-c", LATER, _program.path(), *waiting, "--json"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            **_program.OWN_GROUP,
        )
        assert node.stdin is not None
        with node.stdin:  # closed without an address it ends, and the directory with it
            directory = _program.start(
                "directory",
                f"--cluster={cluster}",
                f"--secret-file={host.secret_file()}",
                f"--listen={any_port(address)}",
                "--recovery-window=0ms",
                f"--exit-with-parent={node.pid}",
                stderr=errors,
                with_parent=False,
            )
            place = Place(cluster, ready(directory, log)["address"], secret)
            node.stdin.write(place.directory.encode() + b"\n")
        ready(node, log)
    _enter(place, HostNode(host, place.directory, _memory(), RUNTIME))


def _host(cluster: str, address: str, secret: str) -> Host:
    """Its node's log goes with this process, unless that is killed."""
    sockets = folder(RUNTIME)
    host = Host(cluster, address, sockets, sockets / cluster, secret)
    host.logs.mkdir(exist_ok=True)
    util.Finalize(None, shutil.rmtree, (host.logs, True), exitpriority=0)
    return host


def _memory() -> str:
    return os.environ.get("HOPLITE_MEMORY", MEMORY)


def _own_address(store: Any) -> str:
    """At which other hosts reach this one: that of HOPLITE_INTERFACE, or that from which it reaches
    the host of torch's store. Where this host is meant by a name that only it resolves so
    (127.0.1.1 of Debian) it is that from which it reaches others."""
    while hasattr(store, "underlying_store"):
        store = store.underlying_store
    there = getattr(store, "host", None) or os.environ.get("MASTER_ADDR") or socket.gethostname()
    address = _address_towards(there)
    if not _is_loopback(address) or _is_loopback(there) or there == "localhost":
        return address
    with contextlib.suppress(UnavailableError):
        return _address_towards(ANYWHERE)
    return address


def _address_towards(host: str) -> str:
    """UnavailableError: nothing is known of that host. InvalidArgumentError: there is no interface
    of the name that HOPLITE_INTERFACE has."""
    named = os.environ.get("HOPLITE_INTERFACE")
    if named:
        return _address_of(named)
    try:
        kind, _, _, _, place = socket.getaddrinfo(host, 9, type=socket.SOCK_DGRAM)[0]
        with socket.socket(kind, socket.SOCK_DGRAM) as probe:
            probe.connect(place)  # sends nothing
            return str(probe.getsockname()[0])
    except OSError as error:
        raise UnavailableError(f"no way to the host {host}: {error}") from error


def _address_of(interface: str) -> str:
    """Its IPv4 address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        try:
            said = fcntl.ioctl(asked, SIOCGIFADDR, struct.pack("256s", interface.encode()[:15]))
        except OSError as error:
            raise InvalidArgumentError(
                f"HOPLITE_INTERFACE={interface}: no interface of this host with an IPv4 address: "
                f"{error.strerror}"
            ) from error
    return socket.inet_ntoa(said[20:24])


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@contextlib.contextmanager
def _named(directory: str, address: str) -> Iterator[None]:
    """An UnavailableError says which addresses were used, and how others are chosen."""
    try:
        yield
    except UnavailableError as error:
        raise UnavailableError(
            f"rank 0's directory is at {directory}, this host's node at {address} "
            f"(HOPLITE_INTERFACE chooses another interface): {error}"
        ) from error
