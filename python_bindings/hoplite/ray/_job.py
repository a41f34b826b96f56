"""The Ray job that this process works for: its keepers, made by the driver, and this process's
connection to the Hoplite node of its host.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from dataclasses import dataclass
from typing import Any

import ray
from ray._private.worker import global_worker
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from hoplite._client import Client, connect
from hoplite.errors import HopliteError, NotFoundError, UnavailableError
from hoplite.plugins import new_secret
from hoplite.ray import _errands
from hoplite.ray._keepers import DirectoryKeeper, NodeKeeper, Place
from hoplite.ray._owned import Owned

HEAD = "node:__internal_head__"
# How long the processes of the cluster may take to start.
START_TIMEOUT = 60.0
# How often a worker looks whether the keeper that it asked for is there.
LOOK_EVERY = 0.2


def start(memory: str, orphan_grace: float, options: tuple[str, ...]) -> None:
    """The keepers of this driver's job, unless it has some; `options` are those of each node.
    UnavailableError names the host where none starts."""
    job = Job.of_this_process()
    if not job.has_keepers():
        _Keepers(job, memory, orphan_grace, options).start()


def client() -> Client:
    """This process's client, of the node of its host, for channels, registers, coroutines and
    futures; attaches at the first call. What it puts Ray does not count; don't close it.

    UnavailableError: no Ray, or ``hoplite.ray.init`` was not called in this job.
    """
    return owned().client


def owned() -> Owned:
    """That client, and what it owns for this process. The same errors."""
    if not ray.is_initialized():
        raise UnavailableError("hoplite.ray: Ray is not running in this process, or was shut down")
    # Ray makes another one for each job; asking what the job is takes longer than a local get.
    here = (global_worker.core_worker, os.getpid())
    with _here.lock:
        if _here.owned is None or _here.worker != here:
            _here.owned = Owned(Job.of_this_process().attach(), _goes_on)
            _here.worker = here
        return _here.owned


def _goes_on(owned: Owned) -> bool:
    return ray.is_initialized() and _here.owned is owned


def keeper_here() -> Any:
    """The actor that keeps the Hoplite node of this host; None if Ray knows none."""
    return keeper_of(Job.of_this_process().node_id)


def keeper_of(node_id: str) -> Any:
    """The same of that Ray node."""
    return _find_actor(Job.of_this_process().place.node_name(node_id))


@dataclass(frozen=True)
class Job:
    """A Ray job as this process sees it."""

    place: Place
    node_id: str

    @staticmethod
    def of_this_process() -> Job:
        return Job(Place.of_this_process(), ray.get_runtime_context().get_node_id())

    def has_keepers(self) -> bool:
        return _find_actor(self.place.directory_name) is not None

    def attach(self) -> Client:
        """A client of this host's node, which is started if there is none."""
        socket = self.place.socket(self.node_id)
        try:
            return connect(socket)
        except HopliteError:
            self._wait_for_node()
            return connect(socket)

    def _wait_for_node(self) -> None:
        deadline = time.monotonic() + START_TIMEOUT
        name = self.place.node_name(self.node_id)
        while (keeper := _find_actor(name)) is None:
            directory = _find_actor(self.place.directory_name)
            if directory is None:
                raise UnavailableError("hoplite.ray: call hoplite.ray.init() in the driver first")
            if time.monotonic() > deadline:
                raise UnavailableError(f"hoplite.ray: no keeper was started on {self.node_id}")
            # Said again and again: a keeper of the directory that was restarted has forgotten it.
            directory.want.remote(self.node_id)
            time.sleep(LOOK_EVERY)
        _answer(keeper.ready.remote())


class _Keepers:
    """The keepers of a job. The driver holds it, and with it the actors' handles: Ray ends an actor
    that nobody holds."""

    def __init__(
        self, job: Job, memory: str, orphan_grace: float, options: tuple[str, ...]
    ) -> None:
        self._job = job
        self._memory = memory
        self._options = options
        self._orphan_grace = orphan_grace
        self._secret = new_secret()
        self._nodes: dict[str, Any] = {}
        self._directory: Any = None
        self._address = ""

    def start(self) -> None:
        """Returns when all of them run; ends all if one can't."""
        try:
            self._start_all()
        except BaseException:
            for keeper in [self._directory, *self._nodes.values()]:
                if keeper is not None:
                    ray.kill(keeper)
            raise
        _here.keepers = self
        _errands.start()
        self._listen()

    def _start_all(self) -> None:
        alive = {node["NodeID"]: node for node in ray.nodes() if node["Alive"]}
        head = next((one for one in alive.values() if HEAD in one["Resources"]), None)
        if head is None:
            raise NotFoundError("hoplite.ray.init: Ray names no head node")
        self._directory = _actor(DirectoryKeeper, self._job.place.directory_name, head).remote(
            head["NodeManagerAddress"], self._orphan_grace, self._secret
        )
        self._address = _answer_of(head, self._directory.address.remote())
        readies = {key: self._add(node).ready.remote() for key, node in alive.items()}
        for key, ready in readies.items():
            _answer_of(alive[key], ready)

    def _add(self, node: dict[str, Any]) -> Any:
        node_id = node["NodeID"]
        if node_id not in self._nodes:
            keeper = _actor(NodeKeeper, self._job.place.node_name(node_id), node)
            place = (node["NodeManagerAddress"], self._address)
            self._nodes[node_id] = keeper.remote(
                node_id, *place, self._memory, self._secret, *self._options
            )
        return self._nodes[node_id]

    def _listen(self) -> None:
        """Waits, without a thread, for the next Ray nodes that want a keeper."""
        me = weakref.ref(self)

        def told(future: Any) -> None:
            keepers = me()
            if keepers is not None:
                _errands.run(lambda: keepers._serve(future))

        self._directory.wanted.remote().future().add_done_callback(told)

    def _serve(self, future: Any) -> None:
        failed = future.exception() is not None
        if failed:
            time.sleep(1.0)
        if not ray.is_initialized() or Job.of_this_process() != self._job:
            return
        if not failed:
            wanted = set(future.result())
            for node in ray.nodes():
                if node["Alive"] and node["NodeID"] in wanted:
                    self._add(node)
        self._listen()


def _answer(called: Any) -> Any:
    """What keepers say; their own errors, without Ray's frames around them."""
    try:
        return ray.get(called, timeout=START_TIMEOUT)
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None


def _answer_of(node: dict[str, Any], called: Any) -> Any:
    """The same; UnavailableError names the host where no keeper can live."""
    try:
        return _answer(called)
    except ray.exceptions.RayError as error:
        why = str(error).strip().splitlines()[-1]
        raise UnavailableError(
            f"hoplite.ray.init: no keeper starts on host {node['NodeManagerHostname']} "
            f"({node['NodeManagerAddress']}). Is the package hoplite installed there? {why}"
        ) from error


def _find_actor(name: str) -> Any:
    try:
        return ray.get_actor(name)
    except ValueError:
        return None


def _actor(keeper: type, name: str, node: dict[str, Any]) -> Any:
    return ray.remote(keeper).options(
        name=name,
        num_cpus=0,
        max_restarts=-1,
        max_task_retries=-1,
        scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False),
    )


class _ThisProcess:
    """What it has; `keepers` only in the driver."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.worker: tuple[Any, int] | None = None  # of Ray, that the client is for
        self.owned: Owned | None = None
        self.keepers: _Keepers | None = None


_here = _ThisProcess()
