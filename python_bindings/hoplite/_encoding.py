"""How Python values lie in objects: what the metadata says, what the bytes are.

Three kinds. Bytes: no metadata, so that C++ programs and the command line read and write them.
Arrays, and tensors of PyTorch: their elements, with dtype, shape and order in the metadata, so that
a reduction folds them as they are. Anything else: a pickle (protocol 5), whose large buffers lie
behind it in the same object and come back as views of it.

Decides nothing about where an object is. Must never read beyond the bytes, whatever the metadata
says: they may come from a stranger's program.
"""

from __future__ import annotations

import functools
import importlib
import json
import math
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from hoplite import _torch
from hoplite.errors import InvalidArgumentError

METADATA_LIMIT = 4096
# Up to this size a copy of an object costs less than a mapping of one's own, of which a process may
# have some ten thousand.
SMALL = 16384
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
    # Other subclasses (masked arrays, records) have more than elements: pickle knows it.
    if type(value) in (np.ndarray, np.memmap):
        return _encode_array(value, note)
    if _torch.is_tensor(value):
        return _encode_tensor(value, note)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _encode_bytes(memoryview(value), note)
    return _encode_pickle(value, dumps, note)


def private(view: Any) -> Any:
    """The bytes of a View of the extension, to be written to: nobody else sees that."""
    return bytearray(view) if len(view) <= SMALL else view.map_private()


def decode(view: Any, metadata: bytes) -> Any:
    """The value that `view`, a View or what `private` made of it, holds. Arrays and buffers are
    views of it; tensors of what `private` makes of it, since there are none that are read-only."""
    if not metadata:
        return memoryview(view)
    try:
        return _restorer(metadata)(view)
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
        return f"{described_dtype(metadata)} {shape}{order}"
    except (ValueError, KeyError, TypeError):
        return None


def array_metadata(
    dtype: np.dtype[Any], shape: tuple[int, ...], order: str, note: str = ""
) -> bytes:
    """The metadata of an array of this kind; InvalidArgumentError for one that can't travel."""
    text = _array_metadata(_described(dtype), shape, order, note)
    if len(text) > METADATA_LIMIT:
        raise InvalidArgumentError(
            f"the dtype's description takes {len(text)} bytes of metadata; "
            f"at most {METADATA_LIMIT} are allowed"
        )
    return text


def _described(dtype: np.dtype[Any]) -> Any:
    if dtype.hasobject:
        raise InvalidArgumentError(
            f"an array of dtype {dtype} holds Python objects, which have no bytes of their own: "
            "put a list of them instead"
        )
    if dtype.fields is not None:
        return np.lib.format.dtype_to_descr(dtype)
    # By name: the codes of numpy can't tell bfloat16 from two void bytes.
    return dtype.name if dtype.isnative and dtype.name in FOLDABLE else dtype.str


def bytes_of(array: np.ndarray[Any, Any], order: Literal["C", "F"] = "C") -> memoryview:
    """Of a contiguous array; some dtypes (bfloat16, datetime64) export no buffer themselves."""
    flat = array.reshape((array.size,), order=order).view(np.uint8)
    return memoryview(flat)  # type: ignore[arg-type]  # __buffer__ is known from 3.12 on


def dtype_name(dtype: Any) -> str:
    """The name by which a reduction knows a dtype, of NumPy or torch; InvalidArgumentError for one
    that it can't fold."""
    # bfloat16 has a name, also where there is no ml_dtypes.
    named = str(dtype).removeprefix("torch.")
    if named in FOLDABLE:
        return named
    kind = np.dtype(dtype)
    if kind.isnative and kind.name in FOLDABLE:
        return str(kind.name)
    raise InvalidArgumentError(
        f"arrays of dtype {dtype} can't be reduced: {', '.join(sorted(FOLDABLE))} can"
    )


def array_beginning(dtype: str) -> bytes:
    """How the metadata of every array of this foldable dtype begins."""
    return _json({"kind": "array", "dtype": dtype})[:-1].encode()


def described_dtype(metadata: bytes) -> Any:
    """The dtype of the array that this metadata describes, of those that can be folded the name;
    None if it describes none."""
    try:
        described = json.loads(metadata)
        if described["kind"] != "array":
            return None
        dtype = described["dtype"]
        return dtype if isinstance(dtype, str) and dtype in FOLDABLE else _to_dtype(dtype)
    except (ValueError, KeyError, TypeError):
        return None


def _array_metadata(
    dtype: Any, shape: tuple[int, ...], order: str, note: str, kind: str = ""
) -> bytes:
    # The first line is what sources of a reduction have in common; what may differ comes after it.
    line = _json({"kind": "array", "dtype": dtype, "shape": list(shape), "order": order})
    more = {key: value for key, value in (("as", kind), ("note", note)) if value}
    rest = f",{_json(more)[1:-1]}" if more else ""
    return f"{line[:-1]}\n{rest}}}".encode()


def _metadata(described: dict[str, Any], note: str) -> bytes:
    if note:
        described["note"] = note
    return _json(described).encode()


def _json(described: dict[str, Any]) -> str:
    return json.dumps(described, separators=(",", ":"))


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


def _encode_tensor(tensor: Any, note: str) -> Encoded:
    name, shape, order, flat = _torch.take_apart(tensor)
    # As the array of NumPy that has these elements, for who has no torch.
    dtype = name if name in FOLDABLE else np.dtype(name).str
    metadata = _array_metadata(dtype, shape, order, note, kind="torch")
    return Encoded(flat.nbytes, [(0, flat)], metadata)


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
        dtype = np.dtype(_ml_dtypes().bfloat16)
    elif isinstance(described, list):
        dtype = np.lib.format.descr_to_dtype(_fields(described))
    else:
        dtype = np.dtype(described)
    if dtype.hasobject:
        raise ValueError(f"dtype {described} holds Python objects")
    return dtype


def _fields(described: list[Any]) -> list[Any]:
    """Of a structured dtype: NumPy wants tuples where JSON has lists."""
    fields = []
    for name, kind, *shape in described:
        fields.append(
            (
                tuple(name) if isinstance(name, list) else name,
                _fields(kind) if isinstance(kind, list) else kind,
                *(tuple(extents) for extents in shape),
            )
        )
    return fields


def _ml_dtypes() -> Any:
    try:
        return importlib.import_module("ml_dtypes")
    except ImportError as missing:
        raise ImportError("arrays of bfloat16 need ml_dtypes: pip install ml_dtypes") from missing


# What makes a value of the View, or of what `private` made of it.
Restorer = Callable[[Any], Any]


@functools.lru_cache(maxsize=256)
def _restorer(metadata: bytes) -> Restorer:
    """Of what this metadata describes: read once, since many objects are alike, and a small one is
    got in less time than that takes."""
    try:
        described = json.loads(metadata)
        kind = _RESTORERS[described["kind"]]
    except (ValueError, KeyError, TypeError):
        # Somebody else's metadata: their bytes are theirs to read.
        return memoryview
    return kind(described)


def _array_restorer(described: dict[str, Any]) -> Restorer:
    shape = tuple(int(extent) for extent in described["shape"])
    order: Literal["C", "F"] = "F" if described["order"] == "F" else "C"
    if any(extent < 0 for extent in shape):
        raise ValueError(f"shape {shape}")
    if described.get("as") == "torch":
        return _tensor_restorer(described["dtype"], shape, order)
    dtype = _to_dtype(described["dtype"])
    wanted = math.prod(shape) * dtype.itemsize

    def restore(view: Any) -> np.ndarray[Any, Any]:
        _require_size(view, wanted, shape, dtype)
        if wanted == 0:
            array: np.ndarray[Any, Any] = np.empty(shape, dtype)
            array.flags.writeable = False
            return array
        return np.ndarray(shape, dtype, buffer=memoryview(view), order=order)

    return restore


def _tensor_restorer(described: str, shape: tuple[int, ...], order: Literal["C", "F"]) -> Restorer:
    name = described if described == "bfloat16" else np.dtype(described).name
    wanted = math.prod(shape) * (2 if name == "bfloat16" else np.dtype(name).itemsize)

    def restore(view: Any) -> Any:
        _require_size(view, wanted, shape, name)
        buffer = memoryview(view)
        return _torch.put_together(
            memoryview(private(view)) if buffer.readonly else buffer, name, shape, order
        )

    return restore


def _require_size(view: Any, wanted: int, shape: tuple[int, ...], dtype: Any) -> None:
    if wanted != len(view):
        raise ValueError(f"shape {shape} of {dtype} takes {wanted} bytes")


def _pickle_restorer(described: dict[str, Any]) -> Restorer:
    places = described["pieces"]

    def restore(view: Any) -> Any:
        whole = memoryview(view)
        pieces = []
        for start, size in places:
            if start < 0 or size < 0 or start + size > len(whole):
                raise ValueError(f"a piece of {size} bytes at {start}")
            pieces.append(whole[start : start + size])
        return pickle.loads(pieces[0], buffers=pieces[1:])

    return restore


def _bytes_restorer(described: dict[str, Any]) -> Restorer:
    return memoryview


_RESTORERS: dict[str, Callable[[dict[str, Any]], Restorer]] = {
    "array": _array_restorer,
    "bytes": _bytes_restorer,
    "pickle": _pickle_restorer,
}
