"""broadcast and reduce: one value to all workers, and the values of many to one."""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import Iterable
from typing import Any

import distributed
from distributed import Future

from hoplite.dask import _cluster, _fold
from hoplite.errors import InvalidArgumentError

# Replicas that one copy may become at a time: all.
ALL = 1 << 20
# Seconds between two looks whether the scheduler knows a task.
PAUSE = 0.05


def broadcast(
    client: Any, futures: Future | Iterable[Future], workers: Iterable[str] | None = None
) -> Any:
    """Copies the values to all workers, or to those `workers`; returns when they have them.

    All workers ask at once, and pass on to each other what they have so far: large arrays are there
    after about size / bandwidth, however many workers there are. Dask's active memory manager drops
    copies that no task waits for; a node keeps its own while there is room. An asynchronous client
    awaits what this returns.

    The error of a future that failed is raised.
    """
    wanted = [futures] if isinstance(futures, Future) else list(futures)
    return client.sync(_broadcast, client, wanted, workers)


async def _broadcast(client: Any, futures: list[Future], workers: Iterable[str] | None) -> None:
    await distributed.wait(futures)
    for future in futures:
        if future.status != "finished":
            await future
    await client.replicate(futures, workers=workers, branching_factor=ALL)


def reduce(
    client: Any,
    futures: Iterable[Future],
    op: str = "sum",
    num_objects: int | None = None,
    workers: Iterable[str] | None = None,
) -> Future:
    """One array of many, folded element by element where they are; a Future of it, at once.

    `op`: sum, prod, min, max; of integers also and, or, xor; of floats also mean, divided by how
    many are in it. `num_objects`: how many of the futures, those that are finished first; None:
    all. Their values are NumPy arrays of one dtype, shape and order. `workers`: which of them may
    have the result.

    The Future fails with the error of a source, if too few others are left, and with
    InvalidArgumentError that names two sources that differ. InvalidArgumentError, here:
    `num_objects` is not between 1 and the number of futures.
    """
    sources = list(futures)
    count = len(sources) if num_objects is None else num_objects
    if not 1 <= count <= len(sources):
        raise InvalidArgumentError(
            f"hoplite.dask.reduce: num_objects is {count}, of {len(sources)} futures"
        )
    key = f"hoplite-reduce-{uuid.uuid4().hex}"
    work = _fold.Work(key, [source.key for source in sources], op, count)
    result = client.submit(_fold.fold, work, key=key, workers=workers)
    # As dependencies of the task they would be brought to its worker: the scheduler keeps them for
    # it instead, and this client until the scheduler does.
    client.loop.add_callback(_until_kept, client, result, sources)
    return result


async def _until_kept(client: Any, result: Future, sources: list[Future]) -> None:
    keys = [source.key for source in sources]
    with contextlib.suppress(OSError):  # the scheduler, or this client, has ended
        while result.status not in ("cancelled", "lost"):
            if await client._run_on_scheduler(_cluster.keep_for, result.key, keys):
                break
            await asyncio.sleep(PAUSE)
    sources.clear()
