"""Pickles: any other value. Its arrays and tensors lie beside the stream and come back as views.

In the object, from its beginning: the arrays, each at a multiple of ALIGNMENT with zeros between;
the stream; the table, which says for the stream and for each array where it lies and how many bytes
it has. Without arrays there is the stream alone.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import pickle
import struct
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from hoplite import _arrays, _metadata, _torch, _trees
from hoplite._arrays import Description, Elements
from hoplite._metadata import Mismatch

# Where an array begins: no vector instruction wants more.
ALIGNMENT = 64
# Of the table: where a piece begins; twice its bytes, and 1 if it has to be writable (a tensor's).
ENTRY = struct.Struct("<QQ")


# Stands in the stream for an array. (What pickle says of a buffer that can't be written to is not
# to be in the stream.)
MARK = pickle.PickleBuffer(bytearray())


class Piece(NamedTuple):
    memory: _arrays.Memory
    writable: bool = False


class Beside:
    """What a pickler has to inherit first: arrays, tensors and buffers do not go into its stream,
    but, in the order of the stream, into `pieces`."""

    def __init__(self, file: io.BytesIO, known: dict[int, Description] | None = None) -> None:
        super().__init__(file, protocol=5, buffer_callback=self._take)  # type: ignore[call-arg]
        self.pieces: list[Piece] = []
        self._known = known or {}  # arrays by their id()

    def reducer_override(self, value: Any) -> Any:
        found = _reduced(value, self._known.get(id(value)) or _arrays.describe(value))
        if found is None:
            return self.otherwise(value)
        make, piece, more = found
        self.pieces.append(piece)
        return make, (MARK, *more)

    def otherwise(self, value: Any) -> Any:
        return NotImplemented

    def _take(self, buffer: pickle.PickleBuffer) -> None:
        if buffer is not MARK:  # of which the piece is there
            self.pieces.append(Piece(buffer.raw()))


class Pickler(Beside, pickle.Pickler):
    """Where nobody wants another way: classes by the name of their module."""


def encode(
    value: Any, pickler: Callable[[io.BytesIO], Any], beside: dict[str, Any]
) -> tuple[list[_arrays.Memory], bytes]:
    """What lies one after another in the object, and its metadata."""
    tree = _trees.tree_of(value)
    file = io.BytesIO()
    writer = Pickler(file, tree.arrays) if tree else pickler(file)
    writer.dump(tree.value if tree else value)
    stream, pieces = file.getbuffer(), writer.pieces
    if not pieces:
        return [stream], _metadata.write({"kind": "pickle"}, beside)
    parts, places, end = _laid_out(pieces)
    table = _table([(end, 2 * stream.nbytes), *places])
    common: dict[str, Any] = {"kind": "pickle"}
    if tree and end:
        both = hashlib.blake2b(stream, digest_size=16)
        both.update(table)
        common |= {"dtype": tree.dtype, "folded": end, "structure": both.hexdigest()}
    metadata = _metadata.write(common, {"pieces": len(pieces), **beside})
    return [*parts, stream, memoryview(table)], metadata


def restorer(stated: dict[str, Any]) -> Callable[[Any], Any]:
    count = stated.get("pieces", 0)
    if not isinstance(count, int) or count < 0:
        raise ValueError(f"{count} pieces")

    def restore(view: Any) -> Any:
        whole = memoryview(view)
        if count == 0:
            return pickle.loads(whole)
        (stream, _), *places = _read_table(whole, count + 1)
        wanted = any(writable for _, writable in places)
        private = memoryview(_arrays.private(view)) if wanted else whole
        pieces = [(private if writable else whole)[place] for place, writable in places]
        return pickle.loads(whole[stream], buffers=pieces)

    return restore


def _laid_out(pieces: Iterable[Piece]) -> tuple[list[_arrays.Memory], list[tuple[int, int]], int]:
    """With the gaps; the entries of the table; and where it ends, at a multiple of ALIGNMENT."""
    parts: list[_arrays.Memory] = []
    places, end = [], 0
    for piece in pieces:
        size = piece.memory.nbytes
        places.append((end, 2 * size + piece.writable))
        gap = -size % ALIGNMENT
        parts.append(piece.memory)
        if gap:
            parts.append(memoryview(bytes(gap)))
        end += size + gap
    return parts, places, end


def _table(places: list[tuple[int, int]]) -> bytes:
    return struct.pack(f"<{2 * len(places)}Q", *itertools.chain.from_iterable(places))


def _read_table(whole: memoryview, count: int) -> list[tuple[slice, bool]]:
    begin = whole.nbytes - count * ENTRY.size
    if begin < 0:
        raise Mismatch(f"{count} pieces")
    found = []
    for start, size in ENTRY.iter_unpack(whole[begin:]):
        end = start + size // 2
        if end > begin:
            raise Mismatch(f"a piece of {size // 2} bytes at {start}")
        found.append((slice(start, end), bool(size % 2)))
    return found


def _reduced(
    value: Any, description: Description | None
) -> tuple[Callable[..., Any], Piece, tuple[Any, ...]] | None:
    """What makes it again of the bytes of the piece and of more; None: pickle knows it."""
    if description is not None:
        elements, kind, grad = description
        more = (kind, grad) if grad else (kind,) if kind else ()
        piece = Piece(_arrays.memory_of(value), writable=not isinstance(value, np.ndarray))
        return _elements, piece, (*elements, *more)
    if isinstance(value, np.ndarray) and _pickles_as_array(value):
        lies = value.dtype, value.shape, _arrays.order_of(value)
        return _other_array, Piece(_arrays.memory_of(value)), (*lies, type(value))
    if _torch.is_storage(value):
        memory, dtype = _torch.storage_bytes(value)
        return _torch.storage, Piece(memory, writable=True), (dtype,)
    return None


def _pickles_as_array(value: np.ndarray[Any, Any]) -> bool:
    """Whether its class adds nothing that a pickle keeps, and its elements are bytes."""
    kind = type(value)
    return not value.dtype.hasobject and all(
        getattr(kind, name) is getattr(np.ndarray, name)
        for name in ("__reduce__", "__reduce_ex__", "__setstate__")
    )


def _elements(
    memory: Any, dtype: Any, shape: Any, order: Any, kind: str = "", grad: bool = False
) -> Any:
    if not kind:
        return _arrays.over(dtype, shape, order, memory)
    return _arrays.put_together(Description(Elements(dtype, shape, order), kind, grad), memory)


def _other_array(memory: Any, dtype: Any, shape: Any, order: Any, kind: Any) -> Any:
    if memory.nbytes == 0:
        return np.ndarray.__new__(kind, shape, dtype)
    return np.ndarray.__new__(kind, shape, dtype, buffer=memory, order=order)
