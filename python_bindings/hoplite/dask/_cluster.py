"""What of Hoplite runs in a Dask cluster: a directory beside the scheduler, a node on each host."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dask.utils import parse_bytes
from distributed.comm.addressing import get_address_host
from distributed.diagnostics.plugin import SchedulerPlugin, WorkerPlugin

from hoplite import _spill
from hoplite._core import ObjectId
from hoplite.dask import _share
from hoplite.dask._share import Share
from hoplite.dask._version import warn_if_other
from hoplite.errors import HopliteError, InvalidArgumentError
from hoplite.plugins import Daemon, Host, HostNode, folder, new_secret

# States of a task that needs its sources no more.
ENDED = frozenset(["memory", "erred", "forgotten"])
DIRECTORY, NODE = "hoplite-directory", "hoplite-node"
# What a lost node's workers owned stays for so long: Dask makes it again, if it is needed.
GRACE = "5s"


def init(
    client: Any,
    memory: int | str = "1GiB",
    *,
    spill: str | os.PathLike[str] | None = None,
    spill_limit: int | str = 0,
) -> Any:
    """Starts Hoplite for the cluster of that ``distributed.Client``: from now on its workers send
    each other large arrays as objects.

    `memory`: what the store of each host has, a number of bytes or a text such as "4GiB". Workers
    that come later use the node of their host, or start one. All of it ends with the cluster. A
    second call changes nothing. An asynchronous client awaits what this returns. `spill`, a folder
    that each host has on a disk: put objects lie there when memory is wanted, up to `spill_limit`
    for each node ("100GiB").

    InvalidArgumentError: workers do not listen at hoplite://, or there is no such `memory` or
    `spill`.
    UnavailableError: a directory or a node does not start, and why.
    """
    warn_if_other()
    return client.sync(_init, client, str(memory), _spill.options(spill, spill_limit))


async def _init(client: Any, memory: str, options: tuple[str, ...]) -> None:
    others = await client.run_on_scheduler(_listen_elsewhere)
    if others:
        raise InvalidArgumentError(
            f"hoplite.dask.init: the worker {others[0]} does not listen at hoplite://: start it "
            "with --protocol hoplite, or the cluster with protocol='hoplite://'"
        )
    await client.register_plugin(DirectoryPlugin())
    cluster, address, secret = await client.run_on_scheduler(_directory)
    try:
        await client.register_plugin(NodePlugin(cluster, address, memory, secret, options))
    except BaseException:
        await client.unregister_worker_plugin(NODE)
        await client.run_on_scheduler(_stop_directory)
        raise


def _listen_elsewhere(dask_scheduler: Any) -> list[str]:
    return [one for one in dask_scheduler.workers if not one.startswith("hoplite://")]


def _directory(dask_scheduler: Any) -> tuple[str, str, str]:
    plugin = dask_scheduler.plugins[DIRECTORY]
    return plugin.cluster, plugin.address, plugin.secret


def _stop_directory(dask_scheduler: Any) -> None:
    dask_scheduler.plugins[DIRECTORY].stop()
    dask_scheduler.remove_plugin(name=DIRECTORY)


def keep_for(key: str, sources: list[Any], dask_scheduler: Any) -> bool:
    """Keeps the values of the keys `sources` until the task `key` has ended, or nobody wants it.
    False: that task is not known, or not yet."""
    task = dask_scheduler.tasks.get(key)
    plugin = dask_scheduler.plugins.get(DIRECTORY)
    if task is None:
        return False
    if plugin is not None and task.state not in ENDED:
        plugin.keep_for(key, sources)
    return True


class DirectoryPlugin(SchedulerPlugin):
    """Runs the directory as long as its scheduler runs. Keeps the sources of reductions."""

    name = DIRECTORY
    idempotent = True

    def __init__(self) -> None:
        self.cluster = f"dask-{ObjectId.random().hex()[:16]}"
        self.address = ""
        self.secret = new_secret()
        self._daemon: Daemon | None = None
        self._logs: Path | None = None
        self._scheduler: Any = None
        self._sources: dict[str, list[Any]] = {}  # by the key of a reduction

    def keep_for(self, key: str, sources: list[Any]) -> None:
        """As if a client wanted them."""
        self._sources[key] = sources
        self._scheduler.client_desires_keys(keys=sources, client=f"{key}-sources")

    def transition(self, key: Any, start: str, finish: str, *_: Any, **__: Any) -> None:
        """Dask's: a task's state has changed."""
        if finish in ENDED and self._sources.pop(key, None) is not None:
            self._scheduler.loop.add_callback(self._release, f"{key}-sources")

    def _release(self, holder: str) -> None:
        keys = [task.key for task in self._scheduler.clients[holder].wants_what]
        self._scheduler.client_releases_keys(keys=keys, client=holder)
        del self._scheduler.clients[holder]

    async def start(self, scheduler: Any) -> None:
        """When it returns nodes find it. UnavailableError: it does not start, and why."""
        self._scheduler = scheduler
        self._logs = Path(tempfile.mkdtemp(prefix="hoplite-dask-"))
        host = Host(
            self.cluster,
            get_address_host(scheduler.address),
            folder("dask"),
            self._logs,
            self.secret,
        )
        self._daemon = host.keep_directory(
            lambda: self.address or None, "directory", f"--orphan-grace={GRACE}"
        )
        try:
            said = await asyncio.to_thread(self._daemon.ready)
        except HopliteError:
            self.stop()
            raise
        self.address = str(said["address"])

    async def close(self) -> None:
        self.stop()

    def stop(self) -> None:
        """Idempotent."""
        if self._daemon is not None and self._logs is not None:
            self._daemon.stop()
            shutil.rmtree(self._logs, ignore_errors=True)


@dataclass
class NodePlugin(WorkerPlugin):
    """Attaches the workers of a process to the node of their host, which is started if there is
    none."""

    cluster: str
    directory: str
    memory: str
    secret: str
    options: tuple[str, ...] = ()

    name = NODE
    idempotent = True

    async def setup(self, worker: Any) -> None:
        """UnavailableError: the node does not start, and why. Without it the worker's arrays travel
        by TCP."""
        share = _share.here()
        if share is None:
            address = get_address_host(worker.address)
            host = Host(
                self.cluster, address, folder("dask"), Path(worker.local_directory), self.secret
            )
            node = HostNode(host, self.directory, self.memory, "dask", self.options)
            client = await asyncio.to_thread(node.attach)
            share = _share.here()  # since: of another worker on this loop
            if share is None:
                share = Share(client, parse_bytes(self.memory), lambda: _start_again(node))
                _share.enter(share)
            else:
                client.close()
        share.workers += 1

    async def teardown(self, worker: Any) -> None:
        share = _share.here()
        if share is not None:
            share.workers -= 1
            if share.workers == 0:
                _share.leave()
                await asyncio.to_thread(share.client.close)


def _start_again(node: HostNode) -> None:
    """Soon: nobody waits for it."""

    def start() -> None:
        try:
            node.start()
        except HopliteError as error:
            logging.getLogger("hoplite.dask").warning("%s", error)

    threading.Thread(target=start, name="hoplite-node", daemon=True).start()
