"""ObjectRefs whose tensors travel by a transport of this package (`_transport`), as sources of a
reduction."""

from __future__ import annotations

import contextlib
import threading
from typing import Any, TypeAlias

import ray

from hoplite import errors
from hoplite._core import ObjectId
from hoplite.errors import NotFoundError, ObjectDeletedError
from hoplite.ray import _errands, _job
from hoplite.ray._refs import Ref

# What a reduction takes: a Ref, or such an ObjectRef.
Source: TypeAlias = Any

# Seconds between two looks whether the reduction has ended.
LOOK_EVERY = 0.5


def is_ours(value: Any) -> bool:
    """Whether it is such an ObjectRef."""
    transport = getattr(value, "tensor_transport", None)
    return isinstance(value, ray.ObjectRef) and str(transport and transport()).startswith("HOPLITE")


def id_of(source: Source) -> ObjectId:
    """Its object's; of an ObjectRef the one that its tensors are, or will be."""
    if isinstance(source, Ref):
        return source.id
    return id_of_tensors(source.hex())


def id_of_tensors(ray_id: str) -> ObjectId:
    """Of the ObjectRef of this hex id."""
    return ObjectId.from_name(f"ray/{ray_id}")


class Awaited:
    """Such ObjectRefs, whose tasks may still run, until `end`.

    Owns their ids: whoever waits for an id that nobody owns is told that its object was deleted.
    Where a task has ended without tensors, its error goes in the object's place.
    """

    def __init__(self, refs: list[Any]) -> None:
        self._refs = {id_of(ref): ref for ref in refs}
        self._ended = threading.Event()
        # One of its own: the client of this process may make these objects, and own them.
        self._client = _job.Job.of_this_process().attach()
        with contextlib.suppress(ObjectDeletedError):
            self._client.own(self._refs)
        threading.Thread(target=self._watch, name="hoplite-refs", daemon=True).start()

    def end(self) -> None:
        self._ended.set()
        self._client.close()

    def _watch(self) -> None:
        """Its own thread: until all tasks have ended, or the reduction has."""
        running = dict(self._refs)
        # Ray has shut down (SystemExit, too), or the reduction has just ended.
        with contextlib.suppress(Exception, SystemExit):
            while running and not self._ended.is_set():
                refs = list(running.values())
                done, _ = ray.wait(
                    refs, num_returns=len(refs), timeout=LOOK_EVERY, fetch_local=False
                )
                for ref in done:
                    self._require_tensors(id_of(ref), running.pop(id_of(ref)))
        _errands.outlast_shutdown()  # this thread may have the last ObjectRefs

    def _require_tensors(self, id: ObjectId, ref: Any) -> None:
        """Of a task that has ended: they are put before Ray says that it has."""
        with contextlib.suppress(NotFoundError):
            if self._client.info(id).version:
                return
        try:
            ray.get(ref)
        except Exception as raised:
            why = errors.in_words(getattr(raised, "cause", raised))[1]
        else:
            why = "its value has no tensors"
        self._client.fail(id, f"{ref}: {why}")
