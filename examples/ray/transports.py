"""How big values travel between the tasks and actors of a program: as Ray's own objects, or by
Hoplite.

A handle stands for a value: `put` makes one, and each call of a task or an actor gives one. A task
gets its arguments by `open` and `get`, and returns `result`. This file is all that a program
changes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import hoplite.ray
import numpy as np
import numpy.typing as npt
import ray

Array = npt.NDArray[np.float32]

# Seconds until a sum, or an answer, is given up: more workers have failed than a program bears.
PATIENCE = 300.0

# What Ray says of what an actor that has failed would have made, or had made; and Hoplite, when the
# node of the actor's host is away.
LOST = (
    hoplite.UnavailableError,
    ray.exceptions.RayActorError,
    ray.exceptions.ActorUnschedulableError,
    ray.exceptions.ObjectLostError,
)


class Transport(Protocol):
    """Used by the driver and, where it says so, by actors."""

    def start(self) -> None:
        """After ``ray.init``."""

    def put(self, value: Any) -> Any:
        """A handle."""

    def get(self, handles: Sequence[Any]) -> list[Any]:
        """The values of several handles. An error that a task has raised is raised here."""

    def wait(self, handles: list[Any], count: int) -> tuple[list[Any], list[Any]]:
        """`count` of them that exist, and the others."""

    def sum(self, handles: Sequence[Any]) -> Any:
        """The sum of arrays; of dicts of arrays name by name."""

    def added(self, handles: Sequence[Any]) -> Any:
        """A handle of the sum of arrays, which is made where they are, not here."""

    def call(self, method: Any, handle: Any) -> Any:
        """Calls that method of an actor with `handle`; gives a handle of its result at once, which
        the method gets as `into`."""

    def open(self, handle: Any) -> Any:
        """In a task: the value of a handle that it was given as an argument."""

    def result(self, value: Any, into: Any = None) -> Any:
        """In a task: what it returns."""

    def filling(self, into: Any) -> contextlib.AbstractContextManager[None]:
        """In a method that got `into`: an error that is raised meanwhile is raised where the result
        is waited for, too."""

    def first_sum(self, handles: list[Any], count: int) -> tuple[Array, list[Any], list[Any]]:
        """The sum of the first `count` results, which those are, and which not. What a worker that
        has failed would have made never comes, and is waited for no longer than the others."""


class RayTransport:
    """Plain Ray: each array goes from who has it to who wants it."""

    def start(self) -> None:
        pass

    def put(self, value: Any) -> Any:
        return ray.put(value)

    def get(self, handles: Sequence[Any]) -> list[Any]:
        return _fetched(handles)

    def wait(self, handles: list[Any], count: int) -> tuple[list[Any], list[Any]]:
        ready, others = ray.wait(handles, num_returns=count, timeout=PATIENCE)
        return ready, others

    def sum(self, handles: Sequence[Any]) -> Any:
        return total(_fetched(handles))

    def added(self, handles: Sequence[Any]) -> Any:
        adding = ray.remote(_added).options(num_cpus=0, scheduling_strategy="SPREAD")
        return adding.remote(*handles)

    def call(self, method: Any, handle: Any) -> Any:
        return method.remote(handle, None)

    def open(self, handle: Any) -> Any:
        return handle  # Ray has fetched it before the call

    def result(self, value: Any, into: Any = None) -> Any:
        return value

    def filling(self, into: Any) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext()  # the result is the call's, and so is its error

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
        return total(arrays), list(came), [handle for handle in handles if handle not in came]


class HopliteTransport:
    """Handles of hoplite.ray: arrays are broadcast by whoever has them, and summed on the way."""

    def start(self) -> None:
        hoplite.ray.init(memory="512MiB")

    def put(self, value: Any) -> Any:
        return hoplite.ray.put(value)

    def get(self, handles: Sequence[Any]) -> list[Any]:
        values: list[Any] = hoplite.ray.get(_fetched(handles), PATIENCE)
        return values

    def wait(self, handles: list[Any], count: int) -> tuple[list[Any], list[Any]]:
        return hoplite.ray.wait(handles, count, PATIENCE)

    def sum(self, handles: Sequence[Any]) -> Any:
        return hoplite.ray.reduce(_fetched(handles)).get(PATIENCE)

    def added(self, handles: Sequence[Any]) -> Any:
        return hoplite.ray.reduce(_fetched(handles)).ref

    def call(self, method: Any, handle: Any) -> Any:
        result = hoplite.ray.new_ref()
        method.remote(handle, result)
        return result

    def open(self, handle: Any) -> Any:
        return hoplite.ray.get(handle, PATIENCE)

    def result(self, value: Any, into: Any = None) -> Any:
        ref = hoplite.ray.put(value, into)
        return ref if into is None else None

    @contextlib.contextmanager
    def filling(self, into: Any) -> Iterator[None]:
        try:
            yield
        except hoplite.UnavailableError:
            raise  # the node of this host is away, and comes back: so does the worker's next result
        except Exception as error:
            hoplite.ray.fail(into, error)  # else its readers would wait for it
            raise

    def first_sum(self, handles: list[Any], count: int) -> tuple[Array, list[Any], list[Any]]:
        reduction = hoplite.ray.reduce(handles, num_objects=count, dtype=np.float32)
        try:
            total = reduction.get(PATIENCE)
        except hoplite.PeerLostError:  # a host died with the sum: those of others will do
            return self.first_sum(handles, count)
        for error in reduction.failed.values():
            raise error  # although the others sufficed
        return total, reduction.used, reduction.unused


def total(values: list[Any]) -> Any:
    """The sum of arrays; of dicts of arrays name by name."""
    if isinstance(values[0], dict):
        return {name: total([value[name] for value in values]) for name in values[0]}
    result = values[0].copy()
    for value in values[1:]:
        result += value
    return result


def _added(*arrays: Any) -> Any:
    return total(list(arrays))


def _fetched(handles: Sequence[Any]) -> list[Any]:
    """These, but for what Ray has: its value. A call's value by Hoplite is a Ref."""
    called = [handle for handle in handles if isinstance(handle, ray.ObjectRef)]
    values = dict(zip(called, ray.get(called, timeout=PATIENCE), strict=True))
    return [values[one] if isinstance(one, ray.ObjectRef) else one for one in handles]


TRANSPORTS: dict[str, type[Transport]] = {"ray": RayTransport, "hoplite": HopliteTransport}
