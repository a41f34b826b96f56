"""Tokens: ObjectRefs of this process that hold nothing, for Ray to count who has them.

``ray.put`` takes one through Ray's object store: half a millisecond, and room there. What a call
of an actor will give is this process's as soon as the call is made, before anybody has begun it; so
one call of this host's keeper makes many, and nobody waits for it.
"""

from __future__ import annotations

import threading
from typing import Any

import ray
from ray._private.worker import global_worker

from hoplite.ray import _job

# How many one call makes.
BATCH = 32


def make() -> Any:
    """One that nobody else has."""
    with _spare.lock:
        if not _spare.tokens or _spare.worker is not global_worker.core_worker:
            _spare.tokens = _several()
            _spare.worker = global_worker.core_worker
        return _spare.tokens.pop()


def _several() -> list[Any]:
    keeper = _job.keeper_here() if _lives_on() else None
    if keeper is None:
        return [ray.put(None)]
    # Without retries: Ray drops what it could make again, while a task may still need it.
    made: list[Any] = keeper.tokens.options(
        num_returns=BATCH, enable_task_events=False, max_task_retries=0
    ).remote(BATCH)
    return made


def _lives_on() -> bool:
    """Whether this is the driver or an actor. Ray ends a worker of tasks when that is idle, unless
    it owns something: it must have no spare ones."""
    return (
        global_worker.mode == ray.SCRIPT_MODE
        or ray.get_runtime_context().get_actor_id() is not None
    )


class _Spare:
    """Made for that core worker of Ray's, and not used yet: after ray.shutdown they are none."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.tokens: list[Any] = []
        self.worker: Any = None


_spare = _Spare()
