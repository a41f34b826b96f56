"""Trees: dicts, lists and tuples of arrays, which a reduction folds leaf by leaf.

Decides what is one, and makes of it a value whose pickle depends on nothing but structure, names,
shapes, dtypes and orders: two trees of one structure have one stream. (Pickle writes a string that
it has met before as a number; whether two equal strings are one object is chance.)
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from hoplite import _arrays, _dtypes

# With more nodes than that a value is no tree: who has them wants no look at each.
MOST_NODES = 16384
PLAIN = (int, float, complex, str, bytes, bool, type(None))
CONTAINERS = (dict, OrderedDict, list, tuple)


class NoTree(Exception):
    """Says why."""


@dataclass
class Tree:
    value: Any
    dtype: str


def tree_of(value: Any) -> Tree | None:
    """None: it is no tree whose arrays are all of one dtype that can be folded."""
    if type(value) not in CONTAINERS:
        return None
    try:
        return grown(value)
    except NoTree:
        return None


def grown(value: Any) -> Tree:
    """NoTree names the part that does not fit."""
    copy = _Copy()
    made = copy.of(value, "")
    if copy.dtype is None:
        raise NoTree("it has no arrays")
    return Tree(made, copy.dtype)


@dataclass
class _Copy:
    """One walk."""

    dtype: str | None = None
    nodes: int = 0
    met: set[int] = field(default_factory=set)
    alike: dict[bytes, bytes] = field(default_factory=dict)

    def of(self, value: Any, path: str) -> Any:
        self.nodes += 1
        if self.nodes > MOST_NODES:
            raise NoTree(f"it has more than {MOST_NODES} parts")
        kind = type(value)
        if kind in PLAIN:
            return self._plain(value)
        if kind is tuple and not value:
            return value  # there is only one of them
        if id(value) in self.met:
            raise NoTree(f"{_where(path)} is there twice")
        self.met.add(id(value))
        if kind is list or kind is tuple:
            return kind(self.of(one, f"{path}[{at}]") for at, one in enumerate(value))
        if kind is dict or kind is OrderedDict:
            return self._dict(value, path)
        self._leaf(value, path)
        return value

    def _plain(self, value: Any) -> Any:
        if type(value) is str:
            return sys.intern(value)
        return self.alike.setdefault(value, value) if type(value) is bytes else value

    def _dict(self, value: Any, path: str) -> Any:
        made = type(value)()
        for key, one in value.items():
            inside = f"{path}[{key!r}]"
            made[self._key(key, inside)] = self.of(one, inside)
        # Of an OrderedDict, as a module's state_dict() has them.
        for name, one in getattr(value, "__dict__", {}).items():
            setattr(made, name, self.of(one, f"{path}.{name}"))
        return made

    def _key(self, key: Any, path: str) -> Any:
        if type(key) is tuple:
            return tuple(self._key(one, path) for one in key)
        if type(key) not in PLAIN:
            raise NoTree(f"the key of {_where(path)} is of type {type(key).__name__}")
        return self._plain(key)

    def _leaf(self, value: Any, path: str) -> None:
        description = _arrays.describe(value)
        if description is None:
            raise NoTree(f"{_where(path)} is of type {type(value).__name__}")
        dtype = description.elements.dtype
        if dtype not in _dtypes.FOLDABLE:
            raise NoTree(f"{_where(path)} is of dtype {dtype}")
        if self.dtype not in (None, dtype):
            raise NoTree(f"{_where(path)} is of dtype {dtype}, others of {self.dtype}")
        self.dtype = dtype


def difference(one: Any, other: Any) -> str | None:
    """Where and in what two values are not alike, as "at ['w'] …: float32 (3,), and float32 (4,)";
    None if they are, or are no trees."""
    try:
        grown(one)
        grown(other)
    except NoTree as why:
        return str(why)
    mine, others = list(_leaves(one, "")), list(_leaves(other, ""))
    for (path, what), (other_path, other_what) in zip(mine, others, strict=False):
        if path != other_path:
            return f"{_where(path)} is where the other has {_where(other_path)}"
        if what != other_what:
            return f"{_where(path)} is {what}, of the other {other_what}"
    if len(mine) != len(others):
        longer = max(mine, others, key=len)
        return f"only one has {_where(longer[min(len(mine), len(others))][0])}"
    return None


def _leaves(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """What lies where, in the order of a pickle."""
    if type(value) not in CONTAINERS:
        yield path, str(_arrays.describe(value) or repr(value))
        return
    yield path, f"a {type(value).__name__}"
    for key, one in value.items() if isinstance(value, dict) else enumerate(value):
        yield from _leaves(one, f"{path}[{key!r}]")


def _where(path: str) -> str:
    return path or "the value itself"
