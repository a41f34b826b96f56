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
from hoplite._arrays import Description

# With more nodes than that a value is no tree: who has them wants no look at each.
MOST_NODES = 16384
PLAIN = frozenset([int, float, complex, str, bytes, bool, type(None)])
CONTAINERS = frozenset([dict, OrderedDict, list, tuple])


class NoTree(Exception):
    """Says why."""


# From the value itself to a part of it: the path of the part's container, and the part's key there;
# of an attribute, its name. (No text: most paths are never shown.)
Path = tuple[Any, Any] | None


class Attribute(str):
    __slots__ = ()


@dataclass
class Tree:
    value: Any
    dtype: str
    arrays: dict[int, Description]  # by their id()


def tree_of(value: Any) -> Tree | None:
    """None: it is no tree whose arrays are all of one dtype that can be folded."""
    if type(value) not in CONTAINERS:
        return None
    try:
        return grown(value)
    except (NoTree, RecursionError):
        return None


def grown(value: Any) -> Tree:
    """NoTree names the part that does not fit."""
    copy = _Copy()
    made = copy.of(value, None)
    if copy.dtype is None:
        raise NoTree("it has no arrays")
    return Tree(made, copy.dtype, copy.arrays)


@dataclass
class _Copy:
    """One walk."""

    dtype: str | None = None
    nodes: int = 0
    arrays: dict[int, Description] = field(default_factory=dict)
    containers: set[int] = field(default_factory=set)
    alike: dict[bytes, bytes] = field(default_factory=dict)

    def of(self, value: Any, path: Path) -> Any:
        self.nodes += 1
        if self.nodes > MOST_NODES:
            raise NoTree(f"it has more than {MOST_NODES} parts")
        kind = type(value)
        if kind in PLAIN:
            return self._plain(value)
        if kind not in CONTAINERS:
            self._leaf(value, path)
            return value
        if not value and kind is tuple:
            return value  # there is only one of them
        if id(value) in self.containers:
            raise NoTree(f"{_where(path)} is there twice")
        self.containers.add(id(value))
        if isinstance(value, dict):
            return self._dict(value, path)
        return kind([self.of(one, (path, at)) for at, one in enumerate(value)])

    def _plain(self, value: Any) -> Any:
        if type(value) is str:
            return sys.intern(value)
        return self.alike.setdefault(value, value) if type(value) is bytes else value

    def _dict(self, value: Any, path: Path) -> Any:
        made = type(value)()
        for key, one in value.items():
            inside = path, key
            made[self._key(key, inside)] = self.of(one, inside)
        # Of an OrderedDict, as a module's state_dict() has them.
        for name, one in getattr(value, "__dict__", {}).items():
            setattr(made, name, self.of(one, (path, Attribute(name))))
        return made

    def _key(self, key: Any, path: Path) -> Any:
        if type(key) is tuple:
            return tuple([self._key(one, path) for one in key])
        if type(key) not in PLAIN:
            raise NoTree(f"the key of {_where(path)} is of type {type(key).__name__}")
        return self._plain(key)

    def _leaf(self, value: Any, path: Path) -> None:
        if id(value) in self.arrays:
            raise NoTree(f"{_where(path)} is there twice")
        description = _arrays.describe(value)
        if description is None:
            raise NoTree(f"{_where(path)} is of type {type(value).__name__}")
        dtype = description.elements.dtype
        if self.dtype is None and dtype in _dtypes.FOLDABLE:
            self.dtype = dtype
        elif dtype not in _dtypes.FOLDABLE:
            raise NoTree(f"{_where(path)} is of dtype {dtype}")
        elif self.dtype != dtype:
            raise NoTree(f"{_where(path)} is of dtype {dtype}, others of {self.dtype}")
        self.arrays[id(value)] = description


def difference(one: Any, other: Any, first: str, second: str) -> str | None:
    """In which leaf these two, which are called so, differ, as a sentence; None: in none."""
    mine, others = _named_leaves(one), _named_leaves(other)
    for (path, what), (other_path, other_what) in zip(mine, others, strict=False):
        if path != other_path:
            return f"{first} has {path} where {second} has {other_path}"
        if what != other_what:
            return f"{path} is {what} in {first}, but {other_what} in {second}"
    if len(mine) == len(others):
        return None
    name, longer = (first, mine) if len(mine) > len(others) else (second, others)
    return f"only {name} has {longer[min(len(mine), len(others))][0]}"


def _named_leaves(value: Any) -> list[tuple[str, str]]:
    try:
        grown(value)
    except NoTree as why:
        return [(_where(None), f"no tree of arrays of one dtype ({why})")]
    return [(_where(path), what) for path, what in _leaves(value, None)]


def _leaves(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """What lies where, in the order of a pickle."""
    if type(value) not in CONTAINERS:
        yield path, str(_arrays.describe(value) or f"{value!r:.100}")
        return
    yield path, f"a {type(value).__name__}"
    for key, one in value.items() if isinstance(value, dict) else enumerate(value):
        yield from _leaves(one, (path, key))
    for attribute, one in getattr(value, "__dict__", {}).items():
        yield from _leaves(one, (path, Attribute(attribute)))


def _where(path: Path) -> str:
    parts: list[str] = []
    while path is not None:
        path, part = path
        parts.append(f".{part}" if isinstance(part, Attribute) else f"[{part!r}]")
    return "".join(reversed(parts)) or "the whole value"
