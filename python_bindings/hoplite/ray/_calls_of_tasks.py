"""What happens while a task or an actor is called, or a value is put, in transparent mode
(`_transparent`).

Between the pickle of an argument and the call, Ray holds no reference to the handles in the
argument: `hold` holds them for so long. The objects of a value that is put end with the ObjectRef
of the value, which is there only after the pickle: `end_with_value` notes them until then. A task
with ``num_returns="dynamic"`` gets a name that says so, since Ray does not count handles in its
results: its worker must see that.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import ray
from ray._private.worker import Worker, global_worker

from hoplite._core import ObjectId
from hoplite.ray import _errands
from hoplite.ray._owned import Owned
from hoplite.ray._refs import end_with

DYNAMIC = " (dynamic)"


def watch() -> None:
    """From now on, in this process. ImportError, AttributeError: this Ray calls in another way."""
    from ray.actor import ActorClass, ActorHandle  # noqa: PLC0415 - another Ray may lack it
    from ray.remote_function import RemoteFunction  # noqa: PLC0415 - likewise

    calls = []
    for kind, name in (
        (RemoteFunction, "_remote"),
        (ActorClass, "_remote"),
        (ActorHandle, "_actor_method_call"),
    ):
        calls.append((kind, name, getattr(kind, name)))
    for kind, name, call in calls:
        setattr(kind, name, _holding(call))
    Worker.put_object = _ending(Worker.put_object)


def hold(handle: Any) -> None:
    """Until the call that this thread is in has been made."""
    if _calling.held is not None:
        _calling.held.append(handle)


def end_with_value(owned: Owned, id: ObjectId) -> None:
    """`owned` ends when nobody has the ObjectRef any more that this thread is making."""
    _calling.put.append((owned, id))


def results_are_counted() -> bool:
    """Whether Ray counts handles in the results of the task that this thread runs."""
    return not str(global_worker.current_task_name).endswith(DYNAMIC)


class _Calling(threading.local):
    def __init__(self) -> None:
        self.held: list[Any] | None = None
        self.put: list[tuple[Owned, ObjectId]] = []


_calling = _Calling()


def _holding(call: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(call)
    def holding(first: Any, *arguments: Any, **named: Any) -> Any:
        if named.get("num_returns") == "dynamic":
            named["name"] = (named.get("name") or _name_of(first, arguments)) + DYNAMIC
        before, _calling.held = _calling.held, []
        try:
            return call(first, *arguments, **named)
        finally:
            _calling.held = before

    return holding


def _ending(put: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(put)
    def put_object(*arguments: Any, **named: Any) -> Any:
        before, _calling.put = _calling.put, []
        try:
            ref = put(*arguments, **named)
            while _calling.put:
                end_with(*_calling.put.pop(), ref)
            return ref
        finally:
            for owned, id in _calling.put:  # there is no value
                _errands.run(functools.partial(owned.end, id))
            _calling.put = before

    return put_object


def _name_of(called: Any, arguments: tuple[Any, ...]) -> str:
    if isinstance(called, ray.actor.ActorHandle):
        return str(arguments[0])
    return str(called._function_name)
