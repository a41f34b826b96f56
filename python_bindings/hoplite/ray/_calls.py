"""put, get, wait, reduce and free: what a program does with Refs."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import ray
from ray import cloudpickle
from ray._private.worker import global_worker

from hoplite import _encoding, _metadata
from hoplite._client import Client
from hoplite._pickles import Beside
from hoplite.errors import (
    AlreadyExistsError,
    InvalidArgumentError,
    NotFoundError,
    ObjectDeletedError,
    UnavailableError,
)
from hoplite.ray import _job
from hoplite.ray._errors import maker_died, of_refs
from hoplite.ray._object_refs import Source, is_ours
from hoplite.ray._reduction import Reduction
from hoplite.ray._refs import Ref, new_ref, owned_ref, refusing_refs

# Seconds: what the directory is given to answer.
LEAST_WAIT = 0.02
# Before a node that is away is asked again.
PAUSE = 0.05

T = TypeVar("T")


def put(value: Any, ref: Ref | None = None, timeout: float | None = None) -> Ref:
    """Stores a copy of `value` on this host; when it returns, every Ray node can get it.

    Into `ref`, if one is given (``new_ref``). A task that Ray runs again finds what it put before,
    and keeps that. AlreadyExistsError: anybody else has put into it. ObjectDeletedError: nobody
    waits for it any more. TypeError: a Ref inside the value.
    """
    if ref is None:
        encoded = _encoded(value)
        return owned_ref(
            lambda client, id: client._put_encoded(encoded, id, timeout, owned=True), once=True
        )
    client, id = _job.client(), _ref(ref).id
    task = _task()
    encoded = _encoded(value, note=task)
    try:
        client._put_encoded(encoded, id, timeout, only_if_owned=True)
    except NotFoundError:
        raise ObjectDeletedError(_nobody_has(ref)) from None
    except AlreadyExistsError:
        if not task:
            raise AlreadyExistsError(f"{ref} exists already") from None
        if _put_by(client, ref) != task:
            raise AlreadyExistsError(
                f"{ref} exists already, and was not put by this task"
            ) from None
    return ref


def _task() -> str:
    """Ray's id of the task that this is; empty: it is the driver. (Ray warns if a driver asks.)"""
    if global_worker.mode == ray.SCRIPT_MODE:
        return ""
    return ray.get_runtime_context().get_task_id() or ""


def fail(ref: Ref, error: str | BaseException, timeout: float | None = None) -> None:
    """`ref` (``new_ref``) gets no value: whoever waits for it, or asks later, is told `error`
    instead, as ``Client.fail`` says; a reduction of it fails and names it.

    A task says so if it raises, or its readers wait for ever. AlreadyExistsError: it has a value.
    ObjectDeletedError: nobody waits for it any more.
    """
    try:
        _job.client().fail(ref.id, error, timeout, only_if_owned=True)
    except NotFoundError:
        raise ObjectDeletedError(_nobody_has(ref)) from None


def get(refs: Ref | Sequence[Ref], timeout: float | None = None) -> Any:
    """The value, or the values of a list of Refs; waits until they exist.

    Arrays and memoryviews are read-only views of this host's shared memory, not copied.
    TimeoutError, Ray's GetTimeoutError as well, names what was missing. ObjectDeletedError: it was
    freed, or the process that made the Ref has died, and says which if Ray knows.
    ObjectFailedError, or another error: who was to put it has put that instead (``fail``), or the
    reduction into it failed.
    """
    if isinstance(refs, Ref):
        with of_refs([refs]):
            return _job.client().get(refs.id, timeout, only_if_owned=True)
    checked = _checked(refs)
    with of_refs(checked):
        return _job.client().get_many([ref.id for ref in checked], timeout, only_if_owned=True)


def wait(
    refs: Sequence[Ref], num_returns: int = 1, timeout: float | None = None
) -> tuple[list[Ref], list[Ref]]:
    """`num_returns` of them that exist, as soon as so many do, or fewer when `timeout` has passed;
    and the others. Both in the order of `refs`. Brings none of them here. The directory is asked
    in any case: a `timeout` below 20 ms is taken for that. ObjectDeletedError: so many can't exist
    any more, because Refs were freed or their makers have died."""
    if len(set(_checked(refs))) < len(refs):
        raise InvalidArgumentError("wait: a Ref is there twice")
    client = _job.client()
    deadline = None if timeout is None else time.monotonic() + max(timeout, LEAST_WAIT)
    by_id = {ref.id: ref for ref in refs}
    while True:
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        try:
            ready, others = client.wait(list(by_id), num_returns, left, only_if_owned=True)
        except UnavailableError:
            # The node is being started again: until it is there none is known to exist.
            if not ray.is_initialized():
                raise
            if left == 0:
                return [], list(refs)
            time.sleep(PAUSE)
        else:
            return [by_id[id] for id in ready], [by_id[id] for id in others]


def reduce(
    refs: Iterable[Source],
    op: str = "sum",
    num_objects: int | None = None,
    dtype: Any = None,
    ref: Ref | None = None,
    *,
    everyone_reads: bool = False,
) -> Reduction:
    """Makes one array of several, folded element by element on the hosts that hold them.

    `op`: sum, prod, min, max; of integers also and, or, xor; of floats also mean, divided by how
    many are in it. `num_objects`: how many, those that come first; None: all. None of them need
    exist yet. Into `ref`, if one is given (``new_ref``), for which others may wait already. Returns
    at once; anybody who has ``.ref`` may get it meanwhile. Dicts and lists of arrays are folded
    leaf by leaf. `refs` may have ObjectRefs of ``tensor_transport="hoplite"``, too, also while
    their tasks run: one tensor counts as itself, several as their list. `everyone_reads`: every
    host that has one of them gets the result, too (an allreduce, as in ``Client.reduce``): faster
    for all if they read it, and a copy in vain for those that don't.

    InvalidArgumentError, here or of the Reduction: arrays of different dtype or shape; it names
    both. ObjectDeletedError: too few of them can still come. ObjectFailedError: the task of one has
    raised, or its value has no tensors. AlreadyExistsError: `ref` has an object.
    """
    sources = [_source(one) for one in _listed(refs)]
    if ref is not None and _ref(ref) in sources:
        raise InvalidArgumentError(f"reduce: the target {ref} is among the sources")
    target = new_ref() if ref is None else ref
    return Reduction(_job.owned(), target, sources, op, num_objects, dtype, everyone_reads)


def free(refs: Ref | Iterable[Ref]) -> None:
    """Deletes the objects now, although there are Refs to them: who gets one is told `deleted`."""
    client = _job.client()
    client.delete([ref.id for ref in _checked([refs] if isinstance(refs, Ref) else refs)])


def _nobody_has(ref: Ref) -> str:
    if maker_died(ref):
        return f"{ref} was deleted: the process that made it has died"
    return f"{ref} was freed, its maker has died, or nobody else has it any more"


def _ref(ref: Any) -> Ref:
    """TypeError: it is something else."""
    if not isinstance(ref, Ref):
        raise TypeError(f"a Ref of hoplite.ray is expected, not {ref!r}{_hint(ref)}")
    return ref


def _checked(refs: Iterable[Ref]) -> list[Ref]:
    """TypeError: one is something else, an ObjectRef perhaps."""
    return [_ref(ref) for ref in _listed(refs)]


def _listed(refs: Iterable[T]) -> list[T]:
    """TypeError: there are not several."""
    if isinstance(refs, Ref):
        raise TypeError(f"a list of Refs is expected, not one: {refs!r}")
    if not isinstance(refs, Iterable):
        raise TypeError(f"Refs of hoplite.ray are expected, not {refs!r}{_hint(refs)}")
    return list(refs)


def _source(ref: Any) -> Source:
    """TypeError: it is something else."""
    return ref if is_ours(ref) else _ref(ref)


def _hint(value: Any) -> str:
    if is_ours(value):
        return ": ray.get and ray.wait take it"
    if isinstance(value, ray.ObjectRef):
        return ": ray.get gives the Ref that a task returned"
    return ": its .ref is one, and .get() its array" if isinstance(value, Reduction) else ""


class _Pickler(Beside, cloudpickle.CloudPickler):  # type: ignore[misc]
    """As Ray does, so that classes of ``__main__`` travel, too."""

    def otherwise(self, value: Any) -> Any:
        return cloudpickle.CloudPickler.reducer_override(self, value)


def _encoded(value: Any, note: str = "") -> _encoding.Encoded:
    with refusing_refs():
        return _encoding.encode(value, {"note": note}, _Pickler)


def _put_by(client: Client, ref: Ref) -> str:
    """The task that put it; empty if that is not known."""
    try:
        return _metadata.noted(client.info(ref.id).metadata)
    except (NotFoundError, ObjectDeletedError):
        return ""
