"""The task that a reduction is: it waits for the first sources, asks the workers that have them for
objects, and folds those."""

from __future__ import annotations

import asyncio
import random
import time
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from distributed import Future, as_completed, get_worker, worker_client
from distributed.core import send_recv
from distributed.protocol.serialize import Serialized, deserialize
from distributed.utils import sync

from hoplite._core import ObjectId
from hoplite.dask import _share
from hoplite.dask._answers import objects_in
from hoplite.dask._share import SLOWEST, TIMEOUT, Share
from hoplite.errors import (
    InvalidArgumentError,
    ObjectDeletedError,
    ResourceExhaustedError,
    UnavailableError,
)

# When workers or nodes die in the middle of it; seconds after the first one, twice as many after
# each further one: a node is started again in less.
ATTEMPTS, AGAIN_IN = 4, 0.5
# Seconds before a worker is asked again that has too many readers.
PAUSE = 0.1


@dataclass(frozen=True)
class Work:
    """A reduction. (Dask looks into lists for futures, and not into this.)"""

    #: Of the result.
    key: str
    sources: list[Any]
    op: str
    #: How many of the sources.
    count: int


@dataclass(frozen=True)
class Source:
    """An array of a worker, as an object that this process owns."""

    key: Any
    header: dict[str, Any]
    id: ObjectId
    nbytes: int

    def __str__(self) -> str:
        stated = self.header["sub-header"]
        order = f", strides {stated['strides']}" if len(stated["shape"]) > 1 else ""
        return f"{self.key} is {np.dtype(stated['dtype'][1])} {stated['shape']}{order}"


def fold(work: Work) -> Any:
    """The array. Runs on a worker, whose threads go on meanwhile."""
    worker = get_worker()
    with worker_client() as client:
        for left in reversed(range(ATTEMPTS)):
            try:
                return sync(worker.loop, _fold, worker, _first(client, work), work)
            # Dask makes the sources again; a node that is away looks like one that is full.
            except (OSError, ObjectDeletedError, ResourceExhaustedError):
                if not left:
                    raise
                time.sleep(AGAIN_IN * 2 ** (ATTEMPTS - 1 - left))
    raise AssertionError("it has returned or raised")


def _first(client: Any, work: Work) -> list[Any]:
    """The keys that are finished first. The error of one that failed, if too few are left."""
    states = client.sync(client.scheduler.get_task_status, keys=work.sources)
    gone = [key for key, state in states.items() if state is None]
    if gone:
        raise InvalidArgumentError(f"hoplite.dask.reduce: the source {gone[0]} was released")
    futures = [Future(key, client) for key in work.sources]
    client._send_to_scheduler({"op": "client-desires-keys", "keys": work.sources})
    first, left = [], len(futures)
    for future in as_completed(futures):
        if future.status == "finished":
            first.append(future.key)
        else:
            left -= 1
        if left < work.count:
            future.result()
        if len(first) == work.count:
            break
    return first


async def _fold(worker: Any, keys: list[Any], work: Work) -> Any:
    share = _share.here()
    if share is None:
        raise UnavailableError("hoplite.dask.reduce: call hoplite.dask.init(client) first")
    values = await _values(share, worker, list(dict.fromkeys(keys)))
    copies: list[ObjectId] = []
    try:
        once = {key: _source(key, values[key]) for key in keys}
        _require_alike(list(once.values()))
        sources = []
        for at, key in enumerate(keys):
            source = once[key]
            if key in keys[:at]:  # futures of one key: a fold takes an object once
                source = replace(source, id=await _copied(share, source))
                copies.append(source.id)
            sources.append(source)
        return await _folded(share, sources, work)
    finally:
        share.drop(copies)
        _drop(share, values)


async def _copied(share: Share, source: Source) -> ObjectId:
    """Another object of the same bytes, which this process owns."""
    timeout = TIMEOUT + source.nbytes / SLOWEST
    view = await share.client.aget(source.id, timeout, only_if_owned=True)
    id = ObjectId.random()
    await share.own([id])
    try:
        return await share.client.aput(view, id, timeout, only_if_owned=True)
    except BaseException:
        share.drop([id])
        raise


async def _folded(share: Share, sources: list[Source], work: Work) -> Any:
    header, nbytes = sources[0].header, sources[0].nbytes
    stated = {**header["sub-header"], "writeable": [True]}
    target = ObjectId.random()
    await share.own([target])
    try:
        await share.client.areduce(
            [source.id for source in sources],
            work.op,
            dtype=np.dtype(stated["dtype"][1]),
            target=target,
            only_if_owned=True,
        )
        timeout = TIMEOUT + len(sources) * nbytes / SLOWEST
        view = await share.client.aget(target, timeout, writable=True, only_if_owned=True)
    except BaseException:
        share.drop([target])
        raise
    return deserialize({**header, "sub-header": stated}, [share.keep(work.key, target, view)])


async def _values(share: Share, worker: Any, keys: list[Any]) -> dict[Any, Serialized]:
    """What they are, with objects in the place of their bytes, which this process owns. OSError:
    a worker has gone; then it owns none."""
    holders = await worker.scheduler.who_has(keys=keys)
    of_worker = defaultdict(list)
    for key in keys:
        if not holders.get(key):
            raise UnavailableError(f"hoplite.dask.reduce: no worker has {key} any more")
        of_worker[random.choice(holders[key])].append(key)
    asked = (_ask(share, worker, *one) for one in of_worker.items())
    answers = await asyncio.gather(*asked, return_exceptions=True)
    values: dict[Any, Serialized] = {}
    for answer in answers:
        if isinstance(answer, dict):
            values.update(answer)
    for answer in answers:
        if isinstance(answer, BaseException):
            _drop(share, values)
            raise answer
    return values


async def _ask(share: Share, worker: Any, address: str, keys: list[Any]) -> dict[Any, Serialized]:
    """As Dask gets data from a worker; but only the ids come."""
    comm = await worker.rpc.connect(address)
    before = comm.least, comm.brings
    comm.least, comm.brings = 1, False
    data: dict[Any, Serialized] = {}
    try:
        while not data:
            answer = await send_recv(comm, op="get_data", keys=keys, who=worker.address)
            if answer["status"] == "busy":
                await asyncio.sleep(PAUSE)
                continue
            data = answer["data"]
            await comm.write("OK")
            plain = [key for key, value in data.items() if not isinstance(value, Serialized)]
            if plain:  # this worker's node is away
                data = {key: value for key, value in data.items() if key not in plain}
                raise _not_put(plain[0])
            gone = [key for key in keys if key not in data]
            if gone:
                raise UnavailableError(f"hoplite.dask.reduce: {address} has no {gone[0]} any more")
    except BaseException:
        _drop(share, data)
        raise
    finally:
        comm.least, comm.brings = before
        worker.rpc.reuse(address, comm)
    return data


def _drop(share: Share, values: dict[Any, Serialized]) -> None:
    share.drop(id for value in values.values() for _, id, _ in objects_in(value))


def _source(key: Any, value: Serialized) -> Source:
    header, objects = value.header, objects_in(value)
    stated = header.get("sub-header", {})
    if header.get("type") != "numpy.ndarray" or stated.get("pickle") or stated["dtype"][0]:
        raise InvalidArgumentError(f"hoplite.dask.reduce: {key} is no NumPy array of numbers")
    if 0 in stated["shape"]:
        raise InvalidArgumentError(f"hoplite.dask.reduce: {key} has no elements")
    if not objects:
        raise _not_put(key)
    _, id, nbytes = objects[0]
    return Source(key, header, id, nbytes)


def _not_put(key: Any) -> ResourceExhaustedError:
    return ResourceExhaustedError(
        f"hoplite.dask.reduce: {key} could not be put: its host's node has no room, or is away"
    )


def _require_alike(sources: list[Source]) -> None:
    """InvalidArgumentError names two that can't be folded together."""
    for source in sources[1:]:
        if _layout(source) != _layout(sources[0]):
            raise InvalidArgumentError(f"hoplite.dask.reduce: {sources[0]}, {source}")


def _layout(source: Source) -> tuple[Any, ...]:
    stated = source.header["sub-header"]
    return tuple(stated.get(name) for name in ("dtype", "shape", "strides", "broadcast_to"))
