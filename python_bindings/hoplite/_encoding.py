"""How Python values lie in objects: what the metadata says, what the bytes are.

Three kinds. Bytes: no metadata, so that C++ programs and the command line read and write them.
Arrays: their elements, with dtype, shape and order in the metadata, so that a reduction folds them
as they are. Anything else: a pickle (protocol 5), whose large buffers lie behind it in the same
object and come back as views of it.

Decides nothing about where an object is. Must never read beyond the bytes, whatever the metadata
says: they may come from a stranger's program.
"""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from hoplite.errors import InvalidArgumentError

METADATA_LIMIT = 4096
# Where a buffer of a pickle begins: no vector instruction wants more.
ALIGNMENT = 64

# The dtypes that a reduction folds. bfloat16 is ml_dtypes'.
FOLDABLE = frozenset(
    [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
    + ["float16", "bfloat16", "float32", "float64"]
)


@dataclass(frozen=True)
class Encoded:
    """What is put: pieces that lie one after another, at these offsets of `size` bytes."""

    size: int
    pieces: list[tuple[int, memoryview]]
    metadata: bytes


# As pickle.dumps with protocol 5: buffers go to the callback.
Dumps = Callable[[Any, Callable[[pickle.PickleBuffer], Any] | None], bytes]


def plain_pickle(value: Any, buffer: Callable[[pickle.PickleBuffer], Any] | None) -> bytes:
    """What pickles where nobody wants another way: classes by the name of their module."""
    return pickle.dumps(value, protocol=5, buffer_callback=buffer)


def encode(value: Any, dumps: Dumps = plain_pickle, note: str = "") -> Encoded:
    """What to put for `value`. TypeError or InvalidArgumentError names what can't be put.

    `note` goes into the metadata, for a runtime's own use: `noted` reads it.
    """
    if isinstance(value, np.ndarray):
        return _encode_array(value, note)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _encode_bytes(memoryview(value), note)
    return _encode_pickle(value, dumps, note)


def decode(view: Any, metadata: bytes) -> Any:
    """The value that `view`, a read-only buffer, holds. Arrays and buffers are views of it."""
    if not metadata:
        return memoryview(view)
    try:
        described = json.loads(metadata)
        restore = _RESTORE[described["kind"]]
    except (ValueError, KeyError, TypeError):
        # Somebody else's metadata: their bytes are theirs to read.
        return memoryview(view)
    try:
        return restore(view, described)
    except (KeyError, TypeError, ValueError) as wrong:
        raise InvalidArgumentError(
            f"the object's metadata does not describe its {len(memoryview(view))} bytes: {wrong}"
        ) from wrong


def noted(metadata: bytes) -> str:
    """The note that was given to `encode`; empty if there was none."""
    try:
        note = json.loads(metadata).get("note", "") if metadata else ""
    except (ValueError, AttributeError):
        return ""
    return note if isinstance(note, str) else ""


def described_array(metadata: bytes) -> str | None:
    """In words what array this metadata describes, None if none: equal for those that a reduction
    can fold together."""
    try:
        described = json.loads(metadata)
        if described["kind"] != "array":
            return None
        shape = tuple(int(extent) for extent in described["shape"])
        order = "" if described["order"] == "C" or len(shape) < 2 else ", Fortran order"
        return f"{_to_dtype(described['dtype'])} {shape}{order}"
    except (ValueError, KeyError, TypeError):
        return None


def array_metadata(
    dtype: np.dtype[Any], shape: tuple[int, ...], order: str, note: str = ""
) -> bytes:
    """The metadata of an array of this kind; InvalidArgumentError for one that can't travel."""
    if dtype.hasobject:
        raise InvalidArgumentError(
            f"an array of dtype {dtype} holds Python objects, which have no bytes of their own: "
            "put a list of them instead"
        )
    if dtype.fields is not None or dtype.subdtype is not None:
        described: Any = np.lib.format.dtype_to_descr(dtype)
    else:
        # By name: the codes of numpy can't tell bfloat16 from two void bytes.
        described = dtype.name if dtype.isnative and dtype.name in FOLDABLE else dtype.str
    text = _metadata(
        {"kind": "array", "dtype": described, "shape": list(shape), "order": order}, note
    )
    if len(text) > METADATA_LIMIT:
        raise InvalidArgumentError(
            f"the dtype's description takes {len(text)} bytes of metadata; "
            f"at most {METADATA_LIMIT} are allowed"
        )
    return text


def bytes_of(array: np.ndarray[Any, Any], order: Literal["C", "F"] = "C") -> memoryview:
    """Of a contiguous array; some dtypes (bfloat16, datetime64) export no buffer themselves."""
    flat = array.reshape((array.size,), order=order).view(np.uint8)
    return memoryview(flat)  # type: ignore[arg-type]  # __buffer__ is known from 3.12 on


def dtype_name(dtype: np.dtype[Any]) -> str:
    """The name by which a reduction knows it; InvalidArgumentError for one that it can't fold."""
    if dtype.isnative and dtype.name in FOLDABLE:
        return dtype.name
    raise InvalidArgumentError(
        f"arrays of dtype {dtype} can't be reduced: {', '.join(sorted(FOLDABLE))} can"
    )


def described_dtype(metadata: bytes) -> np.dtype[Any] | None:
    """The dtype of the array that this metadata describes; None if it describes none."""
    try:
        described = json.loads(metadata)
        return _to_dtype(described["dtype"]) if described["kind"] == "array" else None
    except (ValueError, KeyError, TypeError):
        return None


def _metadata(described: dict[str, Any], note: str) -> bytes:
    if note:
        described["note"] = note
    return json.dumps(described, separators=(",", ":")).encode()


def _encode_bytes(view: memoryview, note: str) -> Encoded:
    if not view.contiguous:
        view = memoryview(view.tobytes())
    flat = view.cast("B") if view.nbytes else memoryview(b"")
    return Encoded(len(flat), [(0, flat)], _metadata({"kind": "bytes"}, note) if note else b"")


def _encode_array(array: np.ndarray[Any, Any], note: str) -> Encoded:
    fortran = array.flags.f_contiguous and not array.flags.c_contiguous
    order: Literal["C", "F"] = "F" if fortran else "C"
    metadata = array_metadata(array.dtype, array.shape, order, note)
    if array.size == 0:
        return Encoded(0, [(0, memoryview(b""))], metadata)
    packed = array if array.flags.forc else np.ascontiguousarray(array)
    return Encoded(packed.nbytes, [(0, bytes_of(packed, order))], metadata)


def _encode_pickle(value: Any, dumps: Dumps, note: str) -> Encoded:
    buffers: list[pickle.PickleBuffer] = []
    stream = dumps(value, buffers.append)
    pieces = [(0, memoryview(stream))]
    end = len(stream)
    for buffer in buffers:
        raw = buffer.raw()
        start = -(-end // ALIGNMENT) * ALIGNMENT
        pieces.append((start, raw))
        end = start + raw.nbytes
    places = [[start, raw.nbytes] for start, raw in pieces]
    metadata = _metadata({"kind": "pickle", "pieces": places}, note)
    if len(metadata) > METADATA_LIMIT:
        # Too many to list: then everything is inside the stream.
        stream = dumps(value, None)
        metadata = _metadata({"kind": "pickle", "pieces": [[0, len(stream)]]}, note)
        return Encoded(len(stream), [(0, memoryview(stream))], metadata)
    return Encoded(end, pieces, metadata)


def _to_dtype(described: Any) -> np.dtype[Any]:
    dtype: np.dtype[Any]
    if described == "bfloat16":
        import ml_dtypes  # noqa: PLC0415 - only who has such arrays needs it

        dtype = np.dtype(ml_dtypes.bfloat16)
    elif isinstance(described, list):
        dtype = np.lib.format.descr_to_dtype([tuple(field) for field in described])
    else:
        dtype = np.dtype(described)
    if dtype.hasobject:
        raise ValueError(f"dtype {described} holds Python objects")
    return dtype


def _restore_array(view: Any, described: dict[str, Any]) -> np.ndarray[Any, Any]:
    dtype = _to_dtype(described["dtype"])
    shape = tuple(int(extent) for extent in described["shape"])
    order: Literal["C", "F"] = "F" if described["order"] == "F" else "C"
    if any(extent < 0 for extent in shape):
        raise ValueError(f"shape {shape}")
    wanted = math.prod(shape) * dtype.itemsize
    if wanted != len(memoryview(view)):
        raise ValueError(f"shape {shape} of {dtype} takes {wanted} bytes")
    if wanted == 0:
        array: np.ndarray[Any, Any] = np.empty(shape, dtype)
        array.flags.writeable = False
        return array
    return np.ndarray(shape, dtype, buffer=memoryview(view), order=order)


def _restore_pickle(view: Any, described: dict[str, Any]) -> Any:
    whole = memoryview(view)
    pieces = []
    for start, size in described["pieces"]:
        if start < 0 or size < 0 or start + size > len(whole):
            raise ValueError(f"a piece of {size} bytes at {start}")
        pieces.append(whole[start : start + size])
    return pickle.loads(pieces[0], buffers=pieces[1:])


def _restore_bytes(view: Any, described: dict[str, Any]) -> memoryview:
    return memoryview(view)


_RESTORE: dict[str, Callable[[Any, dict[str, Any]], Any]] = {
    "array": _restore_array,
    "bytes": _restore_bytes,
    "pickle": _restore_pickle,
}
