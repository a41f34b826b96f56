"""The actors that keep Hoplite's processes: one for the directory, beside Ray's head, and one per
Ray node for its Hoplite node. Ray restarts them; they belong to the driver and end with the job.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ray

from hoplite.plugins import Host


@dataclass(frozen=True)
class Place:
    """Where the things of one job are on a host: names, sockets, logs. `session` is the folder of
    Ray's session there."""

    session: Path
    job: str

    @staticmethod
    def of_this_process() -> Place:
        """On this Ray node: each may have a ``--temp-dir`` of its own."""
        context = ray.get_runtime_context()
        session = Path(context.get_temp_dir()) / context.get_session_name()
        return Place(session, context.get_job_id())

    @property
    def cluster(self) -> str:
        """What keeps the clusters of several jobs apart."""
        return f"{self.session.name}-{self.job}"

    @property
    def directory_name(self) -> str:
        """Of the actor."""
        return f"hoplite-{self.job}-directory"

    def of_job(self, job: str) -> Place:
        """The same of another job of this session."""
        return Place(self.session, job)

    def node_name(self, node_id: str) -> str:
        """Of the actor."""
        return f"hoplite-{self.job}-node-{node_id}"

    def address_file(self, actor_id: str) -> Path:
        """Where a directory that is started again finds the address that it had. It belongs to one
        keeper, which Ray restarts under the same id: that of an earlier init has other nodes."""
        return self.session / "hoplite" / f"{self.job}-{actor_id}.directory"

    def host(self, address: str = "", secret: str = "") -> Host:
        """The sockets' paths are no longer than ``sockets/plasma_store``, Ray's own: Ray checks."""
        return Host(self.cluster, address, self.session / "hoplite", self.session / "logs", secret)

    def socket(self, node_id: str) -> Path:
        return self.host().socket(node_id)

    def log(self, name: str) -> str:
        """The name of that process's log."""
        return f"{self.job}-{name}"


class DirectoryKeeper:
    """Runs the directory, always at the address that it first got.

    Also the place where a worker on a Ray node without a keeper asks for one, and where the driver,
    who owns the keepers, hears of it.
    """

    def __init__(self, host: str, orphan_grace: float, secret: str) -> None:
        place = Place.of_this_process()
        self._wanted: set[str] = set()
        self._asked = asyncio.Event()
        self._address_file = place.address_file(ray.get_runtime_context().get_actor_id())
        self._address_file.parent.mkdir(parents=True, exist_ok=True)
        grace = f"--orphan-grace={round(orphan_grace * 1000)}ms"
        self._daemon = place.host(host, secret).keep_directory(
            self._had, place.log("directory"), grace
        )

    async def address(self) -> str:
        said = await asyncio.to_thread(self._daemon.ready)
        address = str(said["address"])
        self._address_file.write_text(address)
        return address

    async def want(self, node_id: str) -> None:
        """That Ray node is to get a keeper."""
        self._wanted.add(node_id)
        self._asked.set()

    async def wanted(self) -> list[str]:
        """Which Ray nodes are to get one; waits until one is asked for."""
        await self._asked.wait()
        self._asked.clear()
        wanted, self._wanted = sorted(self._wanted), set()
        return wanted

    def _had(self) -> str | None:
        """Nodes know that address: a directory there asks them what they hold."""
        return self._address_file.read_text() if self._address_file.exists() else None


class NodeKeeper:
    """Runs the Hoplite node of its Ray node, always at the same socket."""

    def __init__(
        self, node_id: str, host: str, directory: str, memory: str, secret: str, *options: str
    ) -> None:
        place = Place.of_this_process()
        short = node_id[:12]
        self._daemon = place.host(host, secret).keep_node(
            node_id, directory, memory, f"ray-{short}", place.log(f"node-{short}"), *options
        )

    def ready(self) -> None:
        """Returns when the node runs."""
        self._daemon.ready()

    def lend(self, count: int) -> list[Any]:
        """So many Refs that this process owns, for results of this node's workers (_lent.py)."""
        from hoplite.ray import _refs  # noqa: PLC0415 - it needs this module

        self._daemon.ready()
        return _refs.several(count)

    def bring(self, id: bytes) -> tuple[bytes, Any]:
        """An array for a node without room, in Ray's own way (_transparent.py)."""
        from hoplite.ray import _transparent  # noqa: PLC0415 - it needs this module

        _transparent.turn_off()
        return _transparent.bytes_for_ray(id)

    def tokens(self, count: int) -> tuple[None, ...]:
        """So many results that hold nothing (_tokens.py)."""
        return (None,) * count
