"""NumPy's dtypes in words that JSON can hold, and the bytes of arrays."""

from __future__ import annotations

import contextlib
import functools
import importlib
import sys
from typing import Any, Literal

import numpy as np

from hoplite import _core
from hoplite.errors import InvalidArgumentError

# The dtypes that a reduction folds. Those that NumPy does not have itself are ml_dtypes'.
FOLDABLE = frozenset(_core.DTYPES)
_OF_NUMPY = frozenset(name for name in FOLDABLE if hasattr(np, name))


def reducible(dtype: Any) -> str:
    """The name by which a reduction knows a dtype, of NumPy or torch; InvalidArgumentError for one
    that it can't fold."""
    # bfloat16 has a name, also where there is no ml_dtypes.
    named = str(dtype).removeprefix("torch.")
    if named in FOLDABLE:
        return named
    with contextlib.suppress(TypeError):  # no dtype at all
        kind = np.dtype(dtype)
        if kind.isnative and kind.name in FOLDABLE:
            return str(kind.name)
    raise InvalidArgumentError(
        f"arrays of dtype {dtype} can't be reduced: {', '.join(sorted(FOLDABLE))} can"
    )


def noted(words: Any) -> str | None:
    """What a put notes of elements that are `described` so; None if no reduction folds them."""
    return words if words in FOLDABLE else None


# Of these NumPy has one object each, and its arrays are buffers by themselves: words by id().
_PLAIN = {
    id(kind): sys.intern(kind.name)
    for kind in map(np.dtype, sorted(_OF_NUMPY))
    if kind is np.dtype(kind.str)
}


def described(dtype: np.dtype[Any]) -> Any:
    """What `from_words` makes this dtype of again: a text, or a tuple of fields. Equal texts are
    one object. None: there are no such words (Python objects, aligned fields, somebody's own
    dtype)."""
    if (plain := _PLAIN.get(id(dtype))) is not None:
        return plain
    # Equality, and with it the cache, does not see these.
    if dtype.hasobject or dtype.isalignedstruct or dtype.metadata:
        return None
    return _described(dtype)


@functools.lru_cache(maxsize=256)
def from_words(words: Any) -> np.dtype[Any]:
    """The dtype that `described` has put into words. ValueError or TypeError: there is none."""
    dtype = _from_fields(words) if isinstance(words, tuple) else _named(words)
    if dtype.hasobject:
        raise ValueError(f"dtype {words} holds Python objects")
    return dtype


def frozen(words: Any) -> Any:
    """Lists as tuples, all the way down: what JSON has read, as `from_words` takes it."""
    return tuple(map(frozen, words)) if isinstance(words, (list, tuple)) else words


def is_plain(dtype: np.dtype[Any]) -> bool:
    """Whether an array of it, in C order, is a buffer of its elements as it is."""
    return id(dtype) in _PLAIN


def bytes_of(array: np.ndarray[Any, Any], order: Literal["C", "F"] = "C") -> memoryview:
    """Of a contiguous array; some dtypes (bfloat16, datetime64) export no buffer themselves."""
    if array.nbytes == 0:
        return memoryview(bytearray())
    flat = array.reshape((array.size,), order=order).view(np.uint8)
    return memoryview(flat)  # type: ignore[arg-type]  # __buffer__ is known from 3.12 on


@functools.lru_cache(maxsize=256)
def _described(dtype: np.dtype[Any]) -> Any:
    if dtype.names is not None:
        fields = _fields_of(dtype)
        return fields if _stands_for(fields, dtype) else None
    foldable = dtype.isnative and dtype.name in FOLDABLE
    for words in (dtype.name,) if foldable else (dtype.str, dtype.name):
        if _stands_for(words, dtype):
            return sys.intern(words)
    return None


def _stands_for(words: Any, dtype: np.dtype[Any]) -> bool:
    try:
        again = from_words(words)
    except (ImportError, TypeError, ValueError):
        return False
    # Records are equal to their structures; 64 bits have two types, of which pickle keeps one.
    return again == dtype and (again.type is dtype.type or dtype.kind != "V")


def _fields_of(dtype: np.dtype[Any]) -> Any:
    """As NumPy describes a structure, but with our words for its elements. Gaps are void fields
    without a name."""
    fields: list[Any] = []
    end = 0
    assert dtype.names is not None and dtype.fields is not None
    for name in dtype.names:
        kind, offset, *title = dtype.fields[name]
        if offset < end:
            return None
        if offset > end:
            fields.append(("", f"|V{offset - end}"))
        element, shape = kind.subdtype or (kind, ())
        words = described(element)
        fields.append(((*title, name) if title else name, words, *([shape] if shape else [])))
        end = offset + kind.itemsize
    if dtype.itemsize > end:
        fields.append(("", f"|V{dtype.itemsize - end}"))
    return tuple(fields)


def _from_fields(fields: tuple[Any, ...]) -> np.dtype[Any]:
    names, titles, kinds, offsets = [], [], [], []
    end = 0
    for named, words, *shape in fields:
        kind = from_words(words)
        kind = np.dtype((kind, *shape)) if shape else kind
        if named != "":
            title, name = named if isinstance(named, tuple) else (None, named)
            names.append(name)
            titles.append(title)
            kinds.append(kind)
            offsets.append(end)
        end += kind.itemsize
    layout: Any = {"names": names, "formats": kinds, "offsets": offsets, "itemsize": end}
    if any(titles):
        layout["titles"] = titles
    dtype: np.dtype[Any] = np.dtype(layout)
    return dtype


def _named(words: Any) -> np.dtype[Any]:
    if not isinstance(words, str):
        raise ValueError(f"dtype {words!r}")
    if words in _OF_NUMPY or words not in FOLDABLE:
        try:
            return np.dtype(words)
        except TypeError:
            pass
    try:
        kinds = importlib.import_module("ml_dtypes")
    except ImportError as missing:
        raise ImportError(f"arrays of {words} need ml_dtypes: pip install ml_dtypes") from missing
    kind = getattr(kinds, words, None)
    if kind is None:
        raise ValueError(f"neither NumPy nor ml_dtypes knows the dtype {words!r}")
    dtype: np.dtype[Any] = np.dtype(kind)
    return dtype
