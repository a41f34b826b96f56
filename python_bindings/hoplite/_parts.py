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
from collections.abc import Iterator, Mapping
from typing import Any

from hoplite import _arrays, _core, _pickles, _torch
from hoplite._arrays import Description, Elements
from hoplite.errors import InvalidArgumentError

# Name, dtype, shape, metadata, memory.
Part = tuple[str, str, tuple[int, ...], bytes, Any]


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
    names = dict(_named(value, ()))
    taken: set[str] = set()
    parts: list[Part] = []
    for index, (piece, of) in enumerate(zip(pickler.pieces, pickler.values, strict=True)):
        name = ".".join(names.get(id(of), ())) or f"#{index}"
        name = f"#{index}" if name in taken else name
        taken.add(name)
        parts.append(_part(name, piece, None if of is None else _arrays.describe(of)))
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


def part_of(said: _core.PartSaid, memory: Any) -> Any:
    """The array or tensor over these bytes; of a part that is none, the bytes."""
    name, dtype, shape, _ = said
    stated = _stated(said)
    if not dtype:
        return memory
    try:
        elements = Elements(dtype, tuple(shape), _order(stated, len(shape)))
        described = Description(elements, stated.get("as", ""), bool(stated.get("grad")))
        return _arrays.put_together(described, memoryview(memory))
    except (KeyError, TypeError, ValueError) as wrong:
        raise InvalidArgumentError(
            f"part {name!r} is said to be {dtype} {tuple(shape)}: {wrong}"
        ) from wrong


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
        _copy(given, target[key], key)


def _copy(given: Any, into: Any, key: Any) -> None:
    if isinstance(into, Mapping):
        return copy_to(given, into, repr(key))
    mine, theirs = _shown(into), _shown(given)
    if mine != theirs:
        raise InvalidArgumentError(f"{key!r}: the target is {mine}, but the version has {theirs}")
    if not _torch.is_tensor(into):
        into[...] = given
        return None
    torch = _torch.require_torch()
    with torch.no_grad():
        into.copy_(given if _torch.is_tensor(given) else torch.from_numpy(given.copy()))
    return None


def _shown(value: Any) -> str:
    """Of an array and a tensor alike."""
    dtype, shape = getattr(value, "dtype", None), getattr(value, "shape", None)
    if dtype is None or shape is None:
        return f"a {type(value).__name__}"
    return f"{str(dtype).removeprefix('torch.')} {tuple(shape)}"


def _named(value: Any, path: tuple[str, ...]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The keys to each leaf of nested dicts, by its id()."""
    if not isinstance(value, Mapping):
        yield id(value), path
        return
    for key, one in value.items():
        yield from _named(one, (*path, str(key)))


def _part(name: str, piece: _pickles.Piece, described: Description | None) -> Part:
    stated: dict[str, Any] = {"writable": True} if piece.writable else {}
    dtype, shape = "", tuple([piece.memory.nbytes])
    if described is not None and isinstance(described.elements.dtype, str):
        dtype, shape = described.elements.dtype, tuple(described.elements.shape)
        if described.elements.order != "C":
            stated["order"] = described.elements.order
        if described.kind:
            stated["as"] = described.kind
        if described.grad:
            stated["grad"] = True
    metadata = json.dumps(stated, separators=(",", ":")).encode() if stated else b""
    return name, dtype, shape, metadata, piece.memory


def _stated(said: _core.PartSaid) -> dict[str, Any]:
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
