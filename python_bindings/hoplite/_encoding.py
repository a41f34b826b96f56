"""What is put for a Python value, and the value that is got again.

What `pickle` would give back is what comes back; all else is a faster way to it. Three kinds.
Bytes: no metadata, so that C++ programs and the command line read and write them; they come back as
a memoryview. Arrays, and plain tensors of PyTorch (`_arrays`): their elements, so that a reduction
folds them as they are. Anything else (`_pickles`).

Decides nothing about where an object is. Must never read beyond the bytes, whatever the metadata
says: they may come from a stranger's program.
"""

from __future__ import annotations

import functools
import io
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hoplite import _arrays, _core, _dtypes, _metadata, _pickles
from hoplite._metadata import Fold, Mismatch
from hoplite.errors import InvalidArgumentError


@dataclass(frozen=True)
class Encoded:
    """What is put: pieces that lie one after another."""

    pieces: list[_arrays.Memory]
    metadata: bytes
    dtype: str | None = None  # of an array that a reduction can fold


def encode(
    value: Any,
    beside: dict[str, Any] | None = None,
    pickler: Callable[[io.BytesIO], Any] = _pickles.Pickler,
) -> Encoded:
    """What to put for `value`. What its pickling raises comes out of here.

    `beside` goes into the metadata, too: a runtime's "note", which `_metadata.noted` reads, or what
    `_metadata.beside` makes of a user's own. `pickler` inherits from `_pickles.Beside`.
    """
    beside = beside or {}
    if type(value) in (bytes, bytearray, memoryview):
        return _encode_bytes(memoryview(value), beside)
    description = _arrays.describe(value)
    if description is not None:
        metadata = _arrays.metadata_of(description, beside)
        noted = _dtypes.noted(description.elements.dtype)
        return Encoded([_arrays.memory_of(value)], metadata, noted)
    return Encoded(*_pickles.encode(value, pickler, beside))


def decode(view: Any, metadata: bytes, writable: bool = False) -> Any:
    """The value that `view`, a View of the extension or any buffer, holds: its arrays and buffers
    are views of it. Those of a View are read-only, but for `writable` and tensors, for which its
    pages are copied when somebody writes there."""
    try:
        restore = _restorer(metadata)
        return restore(_arrays.private(view) if writable else view)
    except Mismatch as wrong:
        raise InvalidArgumentError(
            f"the object's metadata does not describe its {len(memoryview(view))} bytes: {wrong}"
        ) from wrong


def value_of(view: _core.View, writable: bool = False) -> Any:
    """`decode`, with a note that names the object on what it raises."""
    try:
        return decode(view, view.metadata, writable)
    except Exception as error:
        if sys.version_info >= (3, 11):
            error.add_note(f"The value of object {view.id} could not be restored.")
        raise


@functools.lru_cache(maxsize=256)
def elements(metadata: bytes) -> _arrays.Elements | None:
    """What array or tensor this metadata describes; None if it describes none."""
    stated = _metadata.read(metadata)
    try:
        return _arrays.described(stated) if stated.get("kind") == "array" else None
    except (KeyError, TypeError, ValueError):
        return None


def is_bytes(metadata: bytes) -> bool:
    """Whether the value is the bytes themselves."""
    return _metadata.read(metadata).get("kind") not in ("array", "pickle")


def fold(metadata: bytes) -> Fold | None:
    """What a reduction folds of such an object; None if it can't. InvalidArgumentError: an array
    of a dtype that can't be folded."""
    stated = _metadata.read(metadata)
    array = elements(metadata)
    if array is not None:
        words = array.dtype
        name = words if words in _dtypes.FOLDABLE else _dtypes.from_words(words)
        return Fold("array", _dtypes.reducible(name))
    dtype, nbytes = stated.get("dtype"), stated.get("folded")
    if stated.get("kind") == "pickle" and dtype in _dtypes.FOLDABLE and isinstance(nbytes, int):
        return Fold("pickle", dtype, nbytes)
    return None


def in_words(metadata: bytes) -> str | None:
    """What a reduction needs to know of a source, in words: equal for those that it can fold
    together. None: it can't."""
    array = elements(metadata)
    if array is not None:
        return str(array)
    stated = _metadata.read(metadata)
    if stated.get("kind") == "pickle" and "structure" in stated:
        return f"a tree of {stated.get('dtype')} arrays, structure {stated['structure']}"
    return None


def _encode_bytes(view: memoryview, beside: dict[str, Any]) -> Encoded:
    if not view.c_contiguous:
        view = memoryview(view.tobytes())
    flat = view.cast("B") if view.nbytes else memoryview(b"")
    said = any(beside.values())
    return Encoded([flat], _metadata.write({"kind": "bytes"}, beside) if said else b"")


# What makes a value of the View, or of what `private` made of it.
Restorer = Callable[[Any], Any]


@functools.lru_cache(maxsize=256)
def _restorer(metadata: bytes) -> Restorer:
    """Of what this metadata describes: read once, since many objects are alike, and a small one is
    got in less time than that takes."""
    stated = _metadata.read(metadata)
    kinds = {"array": _arrays.restorer, "pickle": _pickles.restorer}
    kind = kinds.get(str(stated.get("kind")))
    if kind is None:
        return memoryview  # somebody else's metadata: their bytes are theirs to read
    try:
        return kind(stated)
    except (KeyError, TypeError, ValueError) as wrong:
        raise Mismatch(repr(wrong) if isinstance(wrong, KeyError) else str(wrong)) from wrong
