"""Ref: the handle of an object, counted by Ray.

Beside the object's id it has a token, an ObjectRef of Ray's that only its maker owns. Ray counts
who has the token, in the whole cluster; when it says nobody has, the maker's client, which owns the
id in Hoplite, disowns it. If the maker dies first, Hoplite notices.
"""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import ray
from ray._private.worker import global_worker

from hoplite._client import Client
from hoplite._core import ObjectId
from hoplite.ray import _errands, _job, _tokens
from hoplite.ray._owned import Owned


class Ref:
    """The handle of an object that exists, or will. Hand it to tasks and actors as an argument,
    also inside lists and other objects; equal to the Refs of the same object."""

    __slots__ = ("__weakref__", "_token", "id")

    def __init__(self, id: ObjectId, token: Any) -> None:
        #: Its name in Hoplite.
        self.id = id
        self._token = token

    def hex(self) -> str:
        """The id, as the command line shows it."""
        return self.id.hex()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ref) and self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        return f"Ref({self.hex()})"

    def __reduce__(self) -> tuple[Callable[[bytes, Any], Ref], tuple[bytes, Any]]:
        if getattr(_pickling, "values", False):
            raise TypeError(
                f"{self!r} lies inside a value that is put: Ray can't count it there; "
                "hand it over as an argument, or put it with ray.put"
            )
        return _restore, (bytes(self.id), self._token)


def new_ref() -> Ref:
    """The Ref of an object that does not exist yet: somebody will ``put(value, ref)``.

    This process owns it, so make it where somebody lives on: not in the task that fills it.
    """
    return owned_ref(lambda client, id: client.own(id))


def owned_ref(own: Callable[[Client, ObjectId], object], *, once: bool = False) -> Ref:
    """The Ref of a new id that this process's client owns: `own` sees to that, and may wait. Only
    when it has returned anybody may have the Ref. `once`: `own` has put the object, too."""
    _errands.start()
    owned, id = _job.owned(), ObjectId.random()
    with owned.beginning(id, once):
        own(owned.client, id)
        return _counted(owned, id)


def several(count: int) -> list[Ref]:
    """Refs of new ids that this process's client owns, each of which others put once."""
    _errands.start()
    owned, ids = _job.owned(), [ObjectId.random() for _ in range(count)]
    with contextlib.ExitStack() as beginning:
        for id in ids:
            beginning.enter_context(owned.beginning(id, once=True))
        owned.client.own(ids)
        return [_counted(owned, id) for id in ids]


def _counted(owned: Owned, id: ObjectId) -> Ref:
    """Its Ref; when nobody has that any more, `owned` ends."""
    token = _tokens.make()
    end_with(owned, id, token)
    return Ref(id, token)


def end_with(owned: Owned, id: ObjectId, counted: Any) -> None:
    """When nobody has this ObjectRef of this process any more, `owned` ends."""
    register = getattr(global_worker.core_worker, "add_object_out_of_scope_callback", None)
    if register is None:
        _warn_once()
    else:
        # Ray's thread must not wait.
        register(counted, lambda _: _errands.run(lambda: owned.end(id)))


@contextlib.contextmanager
def refusing_refs() -> Iterator[None]:
    """Meanwhile this thread pickles no Ref."""
    _pickling.values = True
    try:
        yield
    finally:
        _pickling.values = False


def _restore(id: bytes, token: Any) -> Ref:
    return Ref(ObjectId.from_bytes(id), token)


def _warn_once() -> None:
    if not _warned:
        _warned.append(True)
        warnings.warn(
            f"this Ray ({ray.__version__}) does not say when an object is out of scope: objects "
            "stay until hoplite.ray.free(refs), or the end of the process that made them",
            RuntimeWarning,
            stacklevel=4,
        )


_pickling = threading.local()
_warned: list[bool] = []
