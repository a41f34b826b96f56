"""How big arrays travel between the actors of a workload: by Ray's own objects, or by Hoplite.

A handle is what an actor's method is given and what a call of it returns. This file is all that a
workload changes.
"""

from __future__ import annotations

import contextlib
from typing import Any, Protocol

import hoplite.ray
import numpy as np
import numpy.typing as npt
import ray

Array = npt.NDArray[np.float32]

# Seconds until a sum, or an answer, is given up: more workers have failed than a program bears.
PATIENCE = 300.0

# What Ray says of what an actor that has failed would have made, or had made.
LOST = (
    ray.exceptions.RayActorError,
    ray.exceptions.ActorUnschedulableError,
    ray.exceptions.ObjectLostError,
)


class Transport(Protocol):
    """Used by the driver and, where it says so, by actors."""

    def start(self) -> None:
        """After ``ray.init``."""

    def put(self, value: Array) -> Any:
        """A handle."""

    def call(self, method: Any, handle: Any) -> Any:
        """Calls that method of an actor with `handle`; gives a handle of its result at once."""

    def open(self, handle: Any) -> Array:
        """In an actor's method: what the handle that it was given stands for."""

    def result(self, value: Array, into: Any) -> Any:
        """In an actor's method: what it returns."""

    def first_sum(self, handles: list[Any], count: int) -> tuple[Array, list[Any], list[Any]]:
        """The sum of the first `count` results, which those are, and which not. What a worker that
        has failed would have made never comes, and is waited for no longer than the others."""


class RayTransport:
    """Plain Ray: each array goes from who has it to who wants it."""

    def start(self) -> None:
        pass

    def put(self, value: Array) -> Any:
        return ray.put(value)

    def call(self, method: Any, handle: Any) -> Any:
        return method.remote(handle, None)

    def open(self, handle: Any) -> Array:
        array: Array = handle  # Ray has fetched it before the call
        return array

    def result(self, value: Array, into: Any) -> Any:
        return value

    def first_sum(self, handles: list[Any], count: int) -> tuple[Array, list[Any], list[Any]]:
        came: dict[Any, Array] = {}
        waiting = list(handles)
        while len(came) < count:
            missing = count - len(came)
            ready, waiting = ray.wait(waiting, num_returns=missing, timeout=PATIENCE)
            if len(ready) < missing:
                raise TimeoutError(f"{missing} more results were expected")
            for handle in ready:
                with contextlib.suppress(*LOST):
                    came[handle] = ray.get(handle)
        arrays = list(came.values())
        total = arrays[0].copy()
        for array in arrays[1:]:
            total += array
        return total, list(came), [handle for handle in handles if handle not in came]


class HopliteTransport:
    """Handles of hoplite.ray: arrays are broadcast by whoever has them, and summed on the way."""

    def start(self) -> None:
        hoplite.ray.init(memory="512MiB")

    def put(self, value: Array) -> Any:
        return hoplite.ray.put(value)

    def call(self, method: Any, handle: Any) -> Any:
        result = hoplite.ray.new_ref()
        method.remote(handle, result)
        return result

    def open(self, handle: Any) -> Array:
        array: Array = hoplite.ray.get(handle)
        return array

    def result(self, value: Array, into: Any) -> Any:
        hoplite.ray.put(value, into)

    def first_sum(self, handles: list[Any], count: int) -> tuple[Array, list[Any], list[Any]]:
        reduction = hoplite.ray.reduce(handles, num_objects=count, dtype=np.float32)
        return reduction.get(PATIENCE), reduction.used, reduction.unused


TRANSPORTS: dict[str, type[Transport]] = {"ray": RayTransport, "hoplite": HopliteTransport}
