"""A value as the parts of a channel's version, and back.

Each array and tensor in the value is a part, however deep it lies there: one that did not change is
not sent again, and programs in C++ find it by its name. The pickle's stream, which puts them
together, lies beside them; a version without one is a dict of its parts.

Must never believe what is said of a part: it may come from a stranger's program.
"""

from __future__ import annotations

import io
import json
import pickle
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hoplite import _arrays, _core, _dtypes, _pickles, _torch
from hoplite._arrays import Description, Elements
from hoplite.errors import InvalidArgumentError

# Name, dtype, shape, metadata, memory.
Part = tuple[str, str, tuple[int, ...], bytes, Any]
# What is said of one that lies in a snapshot: name, dtype, shape, metadata.
PartSaid = tuple[str, str, list[int], bytes]


class _Pickler(_pickles.Pickler):
    """Knows of which value each piece is; None: of a buffer."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file)
        self.values: list[Any] = []

    def reducer_override(self, value: Any) -> Any:
        found = super().reducer_override(value)
        self._note(value)
        return found

    def _take(self, buffer: pickle.PickleBuffer) -> None:
        super()._take(buffer)
        self._note(None)

    def _note(self, value: Any) -> None:
        if len(self.pieces) > len(self.values):
            self.values.append(value)


def parts_of(value: Any) -> tuple[list[Part], bytes]:
    """And the stream. What its pickling raises comes out of here."""
    file = io.BytesIO()
    pickler = _Pickler(file)
    plain = type(value) in (bytes, bytearray, memoryview)
    pickler.dump(pickle.PickleBuffer(value) if plain else value)
    leaves = _named(value)
    found = [leaves.get(_key(of)) or leaves.get(_storage(of)) for of in pickler.values]
    taken = {name for leaf in found if leaf for name in leaf.names}
    free = set(taken)
    parts: list[Part] = []
    for index, (piece, of, leaf) in enumerate(
        zip(pickler.pieces, pickler.values, found, strict=True)
    ):
        names = [name for name in leaf.names if name in free] if leaf else []
        free.difference_update(names)
        if not names:
            names = [_unnamed(index, taken)]
            taken.update(names)
        parts.append(_part(names, piece, _described(leaf.value if leaf else of)))
    return parts, file.getvalue()


def value_of(snapshot: _core.ChannelSnapshot) -> Any:
    """Arrays and buffers are read-only views of shared memory, tensors private ones."""
    wholes = [(memoryview(view), view) for view in snapshot.objects]
    privates: dict[int, memoryview] = {}

    def memory(part: int, writable: bool, index: int | None, place: slice) -> memoryview:
        if index is None:
            own = memoryview(snapshot.own_part(part))
            return own if writable else own.toreadonly()
        whole, view = wholes[index]
        if writable and index not in privates:
            privates[index] = memoryview(_arrays.private(view))
        return (privates[index] if writable else whole)[place]

    lying = [
        (said, memory(part, bool(_stated(said).get("writable")), at, slice(begin, begin + size)))
        for part, (said, at, begin, size) in enumerate(snapshot.parts)
    ]
    if snapshot.metadata:
        return pickle.loads(snapshot.metadata, buffers=[view for _, view in lying])
    return {said[0]: part_of(said, view) for said, view in lying}


def part_of(said: PartSaid, memory: Any) -> Any:
    """The array or tensor over these bytes; of a part that is none, the bytes."""
    name, words, shape, _ = said
    stated = _stated(said)
    try:
        dtype, extents = words or _dtypes.frozen(stated.get("dtype", "")), tuple(shape)
        if not dtype:
            return memory
        if not words:
            extents = tuple(int(extent) for extent in stated["shape"])
        elements = Elements(dtype, extents, _order(stated, len(extents)))
        described = Description(elements, stated.get("as", ""), bool(stated.get("grad")))
        return _arrays.put_together(described, memoryview(memory))
    except (KeyError, TypeError, ValueError) as wrong:
        raise InvalidArgumentError(
            f"part {name!r} is said to be {words} {tuple(shape)}: {wrong}"
        ) from wrong


def names_of(said: PartSaid) -> list[str]:
    """All by which it is known: an array that lies at two places is one part."""
    also = _stated(said).get("also", [])
    listed = also if isinstance(also, list) else []
    return [said[0], *(name for name in listed if isinstance(name, str))]


def copy_to(value: Any, target: Mapping[Any, Any], where: str) -> None:
    """InvalidArgumentError names the first entry that does not fit; those before it are copied."""
    if not isinstance(value, Mapping):
        raise InvalidArgumentError(f"{where} holds a {type(value).__name__}, no dict")
    for key in [*value, *target]:
        if key not in value or key not in target:
            raise InvalidArgumentError(
                f"only {'the target' if key in target else where} has {key!r}"
            )
    for key, given in value.items():
        _settle(target, key, _copied(given, target[key], repr(key)))


def _copied(given: Any, into: Any, where: str) -> Any:
    """What is to stand in the place of `into`: that itself, if it can be filled."""
    if isinstance(given, Mapping) and isinstance(into, Mapping):
        copy_to(given, into, where)
        return into
    for kind in (list, tuple):
        if isinstance(given, kind) and isinstance(into, kind):
            return _copied_each(given, into, where)
    if not _has_parts(given) and not _has_parts(into):
        return given
    mine, theirs = _shown(into), _shown(given)
    if mine != theirs:
        raise InvalidArgumentError(f"{where}: the target is {mine}, but the version has {theirs}")
    if isinstance(into, np.generic):
        return given[()]
    try:
        _fill(into, given)
    except (RuntimeError, TypeError, ValueError) as wrong:
        raise InvalidArgumentError(f"{where}: the target can't be written to: {wrong}") from wrong
    return into


def _copied_each(given: Any, into: Any, where: str) -> Any:
    if len(given) != len(into):
        raise InvalidArgumentError(
            f"{where}: the target has {len(into)} entries, but the version has {len(given)}"
        )
    made = [
        _copied(one, other, f"{where}[{at}]")
        for at, (one, other) in enumerate(zip(given, into, strict=True))
    ]
    if isinstance(into, list):
        for at, one in enumerate(made):
            _settle(into, at, one)
        return into
    if all(one is other for one, other in zip(made, into, strict=True)):
        return into
    return type(into)(*made) if hasattr(into, "_fields") else type(into)(made)


def _settle(target: Any, key: Any, made: Any) -> None:
    if made is target[key]:
        return
    try:
        target[key] = made
    except TypeError as wrong:
        raise InvalidArgumentError(f"{key!r}: the target can't take it: {wrong}") from wrong


def _fill(into: Any, given: Any) -> None:
    if not _torch.is_tensor(into):
        into[...] = given.detach() if _torch.is_tensor(given) else given
        return
    torch = _torch.require_torch()
    with torch.no_grad():
        into.copy_(given if _torch.is_tensor(given) else torch.from_numpy(given.copy()))


def _has_parts(value: Any) -> bool:
    """Whether it is an array or tensor, or can hold some."""
    if isinstance(value, np.generic):
        return False
    return isinstance(value, (Mapping, list, tuple)) or hasattr(value, "shape")


def _shown(value: Any) -> str:
    """Of an array and a tensor alike."""
    dtype, shape = getattr(value, "dtype", None), getattr(value, "shape", None)
    if dtype is None or shape is None:
        return f"a {type(value).__name__}"
    return f"{str(dtype).removeprefix('torch.')} {tuple(shape)}"


@dataclass
class _Leaf:
    """An array or tensor in nested dicts, lists and tuples."""

    value: Any
    #: For each path to it the keys, with dots between.
    names: list[str] = field(default_factory=list)


def _named(value: Any) -> dict[Any, _Leaf]:
    """By what `_key` says of them."""
    leaves: dict[Any, _Leaf] = {}
    for one, path in _leaves(value, (), set()):
        key = _key(one)
        if key is None:
            continue
        leaf = leaves.setdefault(key, _Leaf(one))
        name = ".".join(path)
        # (Two tensors that are not plain may lie in one storage, by other shapes.)
        alike = (one.dtype, one.shape) == (leaf.value.dtype, leaf.value.shape)
        if name and alike and name not in leaf.names:
            leaf.names.append(name)
    return leaves


def _leaves(
    value: Any, path: tuple[str, ...], inside: set[int]
) -> Iterator[tuple[Any, tuple[str, ...]]]:
    if isinstance(value, Mapping):
        entries: Iterable[tuple[Any, Any]] = value.items()
    elif isinstance(value, (list, tuple)):
        entries = enumerate(value)
    else:
        if isinstance(value, np.ndarray) or _torch.is_tensor(value):
            yield value, path
        return
    if id(value) in inside:  # it holds itself
        return
    inside.add(id(value))
    for key, one in entries:
        yield from _leaves(one, (*path, str(key)), inside)
    inside.discard(id(value))


def _key(value: Any) -> Any:
    """Equal for a leaf and the value that pickle makes a piece of for it. None: it has no piece of
    its own."""
    if (
        value is None
        or _torch.is_storage(value)
        or (_torch.is_tensor(value) and not _torch.is_plain(value))
    ):
        return _storage(value)
    return id(value)


def _storage(value: Any) -> Any:
    """Of a tensor that is not plain pickle makes another tensor, or a storage, of the same memory.
    None: it is no tensor, or one that is only a part of its memory."""
    if _torch.is_storage(value) or (_torch.is_tensor(value) and _torch.fills_storage(value)):
        return "storage", _torch.storage_of(value)
    return None


def _described(value: Any) -> Description | None:
    """Of an array or tensor its elements, whatever its class adds to them; None: it is none."""
    if isinstance(value, np.ndarray):
        plain = value.view(np.ndarray)
        if plain.dtype.type is np.record:
            plain = plain.view(np.dtype((np.void, plain.dtype)))
        return _arrays.describe(value) or _arrays.describe(plain)
    return _arrays.describe_tensor(value) if _torch.is_tensor(value) else None


def _unnamed(index: int, taken: set[str]) -> str:
    """Of what lies in nothing that has keys."""
    name = f"#{index}"
    while name in taken:
        name += "'"
    return name


def _part(names: list[str], piece: _pickles.Piece, described: Description | None) -> Part:
    stated: dict[str, Any] = {"writable": True} if piece.writable else {}
    if len(names) > 1:
        stated["also"] = names[1:]
    dtype, shape = "", tuple([piece.memory.nbytes])
    if described is not None:
        words, extents, order = described.elements
        if isinstance(words, str):
            dtype, shape = words, tuple(extents)
        else:  # a structure
            stated["dtype"], stated["shape"] = words, list(extents)
        if order != "C":
            stated["order"] = order
        if described.kind:
            stated["as"] = described.kind
        if described.grad:
            stated["grad"] = True
    metadata = json.dumps(stated, separators=(",", ":")).encode() if stated else b""
    return names[0], dtype, shape, metadata, piece.memory


def _stated(said: PartSaid) -> dict[str, Any]:
    """What its publisher says besides; nothing, if that was no program in Python."""
    try:
        stated = json.loads(said[3]) if said[3] else {}
    except ValueError:
        return {}
    return stated if isinstance(stated, dict) else {}


def _order(stated: dict[str, Any], dimensions: int) -> _torch.Order:
    order = stated.get("order", "C")
    if order in ("C", "F"):
        return str(order)
    axes = tuple(int(axis) for axis in order)
    if sorted(axes) != list(range(dimensions)):
        raise ValueError(f"order {axes} of {dimensions} dimensions")
    return axes
