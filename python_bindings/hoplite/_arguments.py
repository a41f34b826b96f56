"""Arguments of a wrong type: our own words for them, which name the argument.

A call is made as it is. Only if it raises TypeError its arguments are looked at; if there is
nothing wrong with them, the error is somebody else's and stays as it is.
"""

from __future__ import annotations

import functools
import inspect
import numbers
import os
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec, TypeVar, cast

from hoplite._core import ObjectId

P = ParamSpec("P")
R = TypeVar("R")


def _is_integer(value: Any) -> bool:
    return isinstance(value, numbers.Integral)


def _are_ids(value: Any) -> bool:
    # Of an iterator nothing is left to be looked at.
    if isinstance(value, (str, bytes, ObjectId)) or not hasattr(value, "__iter__"):
        return False
    return isinstance(value, Iterator) or all(isinstance(one, ObjectId) for one in value)


def _is_flag(value: Any) -> bool:
    return isinstance(value, bool)


# By the names that they have everywhere. `ids` comes last: some calls take one id, too.
EXPECTED: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "socket": ("a path", lambda value: isinstance(value, (str, os.PathLike))),
    "id": ("an ObjectId", lambda value: isinstance(value, ObjectId)),
    "target": ("an ObjectId", lambda value: isinstance(value, ObjectId)),
    "timeout": ("seconds, a number,", lambda value: isinstance(value, numbers.Real)),
    "op": ("a text", lambda value: isinstance(value, str)),
    "num_returns": ("an integer", _is_integer),
    "num_objects": ("an integer", _is_integer),
    "nbytes": ("an integer", _is_integer),
    "name": ("a text", lambda value: isinstance(value, str)),
    "expected": ("an integer", _is_integer),
    "after": ("an integer", _is_integer),
    "writer": ("True or False", _is_flag),
    "only_later": ("True or False", _is_flag),
    "keep": ("an integer", _is_integer),
    "take_over": ("True or False", _is_flag),
    "version": ("an integer", _is_integer),
    "at_least": ("an integer", _is_integer),
    "only_if_owned": ("True or False", _is_flag),
    "owned": ("True or False", _is_flag),
    "grace": ("seconds, a number,", lambda value: value is None or isinstance(value, numbers.Real)),
    "metadata": ("a dict", lambda value: isinstance(value, dict)),
    "everyone_reads": ("True or False", _is_flag),
    "wait": ("True or False", _is_flag),
    "ids": ("a list of ObjectIds", _are_ids),
}


def named(call: Callable[P, R]) -> Callable[P, R]:
    """`call`, with TypeErrors that say which argument is wrong."""
    signature = inspect.signature(call)

    def explained(error: TypeError, args: Any, kwargs: Any) -> TypeError:
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError:
            return error
        owning = given.pop("owning", {})
        if unknown := [name for name in owning if name not in EXPECTED]:
            return TypeError(f"{call.__name__}: unexpected keyword argument {unknown[0]!r}")
        given |= owning
        defaults = signature.parameters
        for name, (expected, fits) in EXPECTED.items():
            if name not in given or fits(given[name]):
                continue
            if given[name] is None and name in defaults and defaults[name].default is None:
                continue
            shown = _shown(given[name], name)
            return TypeError(f"{call.__name__}: {name}: {expected} expected, not {shown}")
        return error

    if inspect.iscoroutinefunction(call):

        @functools.wraps(call)
        async def awaited(*args: P.args, **kwargs: P.kwargs) -> Any:
            try:
                return await call(*args, **kwargs)
            except TypeError as error:
                if (clearer := explained(error, args, kwargs)) is error:
                    raise
                raise clearer from None

        return cast("Callable[P, R]", awaited)

    @functools.wraps(call)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return call(*args, **kwargs)
        except TypeError as error:
            if (clearer := explained(error, args, kwargs)) is error:
                raise
            raise clearer from None

    return called


def _shown(value: Any, name: str) -> str:
    is_id = name in ("id", "target", "ids")
    hint = " (ObjectId.from_name makes an id of a text)" if is_id and isinstance(value, str) else ""
    if name == "ids" and isinstance(value, (list, tuple)):
        wrong = next((one for one in value if not isinstance(one, ObjectId)), value)
        return f"one with {_shown(wrong, name)} in it" if wrong is not value else repr(value)
    return f"the {type(value).__name__} {value!r:.100}{hint}"
