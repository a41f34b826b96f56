"""Transparent mode: large arrays of a program that knows nothing of Hoplite travel as its objects.

When Ray pickles a value, each plain array of the `limit` or more is put as an object, and a handle
takes its place in the pickle: the object's id, and its token, the ObjectRef by which Ray counts it
(`_refs`). Ray counts that as part of the value, so the object lives as long as the value does. (A
value that is put has an ObjectRef itself, and needs no token.) Whoever unpickles the value gets a
view of the object; the view pins it, so nobody keeps a handle.

Decides whether an array goes by Hoplite or Ray's own way, and who owns its object:

- An argument, and what `ray.put` gets, belong to this process, as they do in Ray. They are deleted
  when it dies.
- A result belongs to the node's keeper, since Ray's results outlive their worker (`_lent`). They
  are deleted when the Ray node dies.
- While the cluster has one Ray node (`_nodes`), only arguments are objects: that is the faster way
  for them. For what is put and returned Ray's own is.

Each pickle puts objects of its own: an array may change between two pickles, as in Ray. Must never
take an array that Ray does not count: one in an exception, in a function, in a pickle that the
program makes itself. Must never fail where Ray would not: without room, or without a node, an array
goes Ray's own way.
"""

from __future__ import annotations

import contextlib
import logging
import re
import select
import sys
import threading
import time
from types import CodeType, FrameType
from typing import Any

import numpy as np
import ray
from ray import cloudpickle
from ray._private.worker import Worker, global_worker

from hoplite import _arrays, _core, _dtypes, _encoding, _metadata, _torch
from hoplite._client import Client, connect
from hoplite._core import ObjectId
from hoplite.errors import (
    HopliteError,
    InvalidArgumentError,
    ObjectDeletedError,
    ResourceExhaustedError,
    TimeoutError,
    UnavailableError,
)
from hoplite.ray import _calls_of_tasks, _errands, _job, _lent, _nodes
from hoplite.ray._refs import owned_ref

# The limit, in the environment of a job's processes.
VARIABLE = "HOPLITE_RAY_TRANSPARENT"
SIZE = re.compile(r"(\d+)\s*([KMGT]?)(i?B)?")

# Seconds for which a put waits for room, and for the directory; when the last one found no room. It
# has more for its bytes.
ROOM_WITHIN, FULL_WITHIN, COPIED_IN_A_SECOND = 1.0, 0.02, 1e9
# Seconds in which most arrays come; after which a get looks what it waits for; which a keeper has
# to bring an array.
SOON, LOOK_EVERY, BRINGS_WITHIN = 0.2, 1.0, 20.0
# Seconds within which a node that is away is back, and between two attempts.
IS_BACK_WITHIN, PAUSE = 30.0, 0.1

# The classes of plain tensors, in a process that may have no torch.
TENSORS = "Tensor", "Parameter"
# What calls tasks and actors.
CALLERS = "ray.remote_function", "ray.actor"

log = logging.getLogger("hoplite.ray")


def turn_on(limit: int | str) -> str:
    """From now on, until Ray is shut down, for arrays of so many bytes; what this Ray lacks for
    that, for the end of a sentence. Idempotent: the last limit counts."""
    size = bytes_of(limit)
    if _here.before is None:
        try:
            path, before = _path(), cloudpickle.CloudPickler.reducer_override
            _here.put = Worker.put_object.__code__
            _calls_of_tasks.watch()
        except (ImportError, AttributeError) as error:
            return f", in which arrays do not travel by themselves ({error})"
        _here.path, _here.before = path, before
        cloudpickle.CloudPickler.reducer_override = _reducer_override
    this = _job.Job.of_this_process()
    _here.job, _here.node_id = this.place.job, this.node_id
    _here.limit, _here.worker = size, global_worker.core_worker
    return ""


def runtime_env(transparent: int | str, runtime_env: Any = None) -> dict[str, Any]:
    """What ``ray.init(runtime_env=...)`` needs for transparent mode, with what `runtime_env` has
    already. ``hoplite.ray.init`` comes after it."""
    env = dict(runtime_env or {})
    env["env_vars"] = {**env.get("env_vars", {}), VARIABLE: str(bytes_of(transparent))}
    env["worker_process_setup_hook"] = _hook(env.get("worker_process_setup_hook"))
    return env


def _hook(then: Any) -> Any:
    """What each worker does first. It travels by value: where this package is missing, workers
    start, and the keeper says so."""

    def hoplite_ray_transparent() -> None:
        import importlib.util  # noqa: PLC0415 - all that it needs travels with it
        import os  # noqa: PLC0415

        if importlib.util.find_spec("hoplite") is not None:
            module = importlib.import_module("hoplite.ray._transparent")
            module.turn_on(os.environ["HOPLITE_RAY_TRANSPARENT"])
        if isinstance(then, str):
            from ray._common.utils import load_class  # noqa: PLC0415

            load_class(then)()
        elif then is not None:
            then()

    return hoplite_ray_transparent


def limit_of_job() -> int | None:
    """Of the job that this driver has started; None: it has no transparent mode."""
    env = ray.get_runtime_context().runtime_env
    limit = env.get("env_vars", {}).get(VARIABLE)
    return bytes_of(limit) if limit and env.get("worker_process_setup_hook") else None


def bytes_of(size: int | str) -> int:
    """Of a number, or a text such as "1MiB". InvalidArgumentError: it is neither."""
    found = SIZE.fullmatch(str(size).strip())
    if found is None or int(found[1]) == 0:
        raise InvalidArgumentError(
            f"transparent={size!r}: a number of bytes is expected, or a text such as '1MiB'"
        )
    return int(found[1]) << (10 * " KMGT".index(found[2] or " "))


def turn_off() -> None:
    """In this process. Idempotent."""
    _here.limit = sys.maxsize


def restore(job: str, node_id: str, id: bytes, token: Any) -> Any:
    """The array of that handle, when its bytes are here. `token` is counted while this runs."""
    client, name = _client_of(job), ObjectId.from_bytes(id)
    away_until = time.monotonic() + IS_BACK_WITHIN
    while True:
        try:
            return _value(client, name, node_id)
        except UnavailableError:  # the node is being started again
            if time.monotonic() > away_until:
                raise
            time.sleep(PAUSE)
        except ObjectDeletedError as why:
            raise ObjectDeletedError(
                f"an array that was to travel by Hoplite is gone: {why}. The process that put it, "
                "or the Ray node of the task that returned it, has died"
            ) from None


def _value(client: Client, id: ObjectId, node_id: str) -> Any:
    """Where this node has no room for it, by Ray from the node that has it."""
    try:
        return client.get(id, SOON, only_if_owned=True)
    except TimeoutError:
        request = client._core.get_later(id, only_if_owned=True)
    try:
        arrivals, poll = _core.Arrivals(), select.poll()
        poll.register(arrivals.descriptor, select.POLLIN)
        request.tell(arrivals, 0)
        while not poll.poll(1000 * LOOK_EVERY):
            if "no memory is free" in client.why(id) and (keeper := _job.keeper_of(node_id)):
                with contextlib.suppress(ray.exceptions.GetTimeoutError):
                    called = keeper.bring.remote(bytes(id))
                    return _restored(*ray.get(called, timeout=BRINGS_WITHIN))
        return _encoding.value_of(request.wait())
    finally:
        request.cancel()


def bytes_for_ray(id: bytes) -> tuple[bytes, Any]:
    """What `restore` makes the array of where the node has no room for it. Runs in the keeper of a
    node that has it, where transparent mode is off."""
    view = _job.client()._core.get(ObjectId.from_bytes(id), only_if_owned=True)
    return view.metadata, np.frombuffer(memoryview(view), np.uint8)


def _restored(metadata: bytes, elements: Any) -> Any:
    if _metadata.read(metadata).get("as"):  # a tensor, which may be written to
        elements = elements.copy()
    return _encoding.decode(_dtypes.bytes_of(elements), metadata)


class _Here:
    """What this process does."""

    def __init__(self) -> None:
        self.limit = sys.maxsize
        self.before: Any = None  # what the pickler did
        self.path: tuple[CodeType, ...] = ()
        self.put: CodeType | None = None  # of Ray's own function
        self.had_room = True
        self.said = False
        self.job = self.node_id = ""
        self.worker: Any = None  # of Ray, for which it is on
        self.others: dict[str, Client] = {}
        self.lock = threading.Lock()


_here = _Here()


def _reducer_override(pickler: Any, value: Any) -> Any:
    kind = type(value)
    if kind is np.ndarray:
        large = value.nbytes >= _here.limit
    elif kind.__name__ in TENSORS and _torch.is_tensor(value):
        large = _is_large_tensor(value)
    else:
        return _here.before(pickler, value)
    return (large and _handle(value, sys._getframe().f_back)) or NotImplemented


def _is_large_tensor(value: Any) -> bool:
    return value.numel() * value.itemsize >= _here.limit and _torch.is_plain(value)


def _handle(value: Any, frame: FrameType | None) -> Any:
    """What stands for the array in the pickle that this frame makes; None: it goes Ray's way."""
    make = _who(frame)
    if make is None or not _lies_plain(value) or _here.worker is not global_worker.core_worker:
        return None
    if make is not _put_argument and not _nodes.several():
        return None
    within = (ROOM_WITHIN if _here.had_room else FULL_WITHIN) + value.nbytes / COPIED_IN_A_SECOND
    try:
        id, token = make(_encoding.encode(value), within)
    except (HopliteError, ray.exceptions.RayError) as why:
        _here.had_room = not isinstance(why, ResourceExhaustedError)
        return _say_once(why)
    _here.had_room = True
    return restore, (_here.job, _here.node_id, bytes(id), token)


def _lies_plain(value: Any) -> bool:
    """Whether its elements lie without gaps, so that it comes back as Ray would bring it."""
    if isinstance(value, np.ndarray):
        if not value.flags.forc or value.dtype.names is not None:
            return False
    elif not _torch.fills_storage(value):
        return False
    return _arrays.describe(value) is not None


def _path() -> tuple[CodeType, ...]:
    """What makes the pickles that Ray counts, from the pickler upwards."""
    from ray._private.serialization import (  # noqa: PLC0415 - another Ray may lack it
        SerializationContext,
    )

    made: tuple[CodeType, ...] = tuple(
        function.__code__
        for function in (
            cloudpickle.CloudPickler.dump,
            cloudpickle.dumps,
            SerializationContext._serialize_to_pickle5,
            SerializationContext._serialize_to_msgpack,
            SerializationContext.serialize,
        )
    )
    return made


def _who(frame: FrameType | None) -> Any:
    """How an object of the pickle of this frame is put; None: Ray would not count it there."""
    for code in _here.path:
        if frame is None or frame.f_code is not code:
            return None
        frame = frame.f_back
    module = "" if frame is None else frame.f_globals.get("__name__", "")
    if module in CALLERS:
        return _put_argument
    if frame is not None and frame.f_code is _here.put:
        return _put_value
    # Ray's executor calls from C++: from its main loop, a thread of its own, or one of Python's.
    executes = (
        frame is None
        or frame.f_code is Worker.main_loop.__code__
        or module.startswith(("asyncio.", "concurrent.futures.", "threading"))
    )
    if not executes or global_worker.mode != ray.WORKER_MODE:
        return None
    return _put_lent if _calls_of_tasks.results_are_counted() else None


def _put_argument(encoded: _encoding.Encoded, within: float) -> tuple[ObjectId, Any]:
    """It belongs to this process, and ends with its token."""
    ref = owned_ref(
        lambda client, id: client._put_encoded(encoded, id, within, owned=True), once=True
    )
    _calls_of_tasks.hold(ref)
    return ref.id, ref._token


def _put_value(encoded: _encoding.Encoded, within: float) -> tuple[ObjectId, Any]:
    """It belongs to this process, and ends with the value that holds it: it needs no token."""
    _errands.start()
    owned, id = _job.owned(), ObjectId.random()
    with owned.beginning(id, once=True):
        owned.client._put_encoded(encoded, id, within, owned=True)
    _calls_of_tasks.end_with_value(owned, id)
    return id, None


def _put_lent(encoded: _encoding.Encoded, within: float) -> tuple[ObjectId, Any]:
    """It belongs to this node's keeper, and ends with its token."""
    client = _job.client()
    ref = _lent.fill(lambda id: client._put_encoded(encoded, id, within, only_if_owned=True))
    return ref.id, ref._token


def _say_once(why: Exception) -> None:
    if not _here.said:
        _here.said = True
        log.warning("arrays of this process go Ray's own way for now: %s", why)


def _client_of(job: str) -> Client:
    """Of that job's node on this host: actors may serve several jobs."""
    if job == _here.job and _here.worker is global_worker.core_worker:
        return _job.client()
    this = _job.Job.of_this_process()
    if job == this.place.job:
        return _job.client()
    with _here.lock:
        client = _here.others.get(job)
        if client is None:
            client = connect(this.place.of_job(job).socket(this.node_id))
            _here.others[job] = client
        return client
