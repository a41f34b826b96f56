"""The caller's memory that values go into: `get(id, out=...)`, `get_many(ids, out=[...])`.

The bytes arrive there directly if they lie in the object as they are to lie in `out`. Else they are
put together elsewhere, as for any `get`, and copied. What is no value for `out` is refused, before
it is fetched where the metadata says so.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np

from hoplite import _arrays, _core, _dtypes, _encoding, _torch
from hoplite._arrays import Elements
from hoplite.errors import InvalidArgumentError

# A loop stands still meanwhile: some 0.1 ms.
COPIED_AT_ONCE = 1 << 20


class Rooms:
    """Memory for several objects, in their order. InvalidArgumentError, TypeError: nothing can be
    written there; of several also: one is not contiguous, or has memory in common with another."""

    def __init__(self, rooms: list[Room]) -> None:
        self._rooms = rooms

    @staticmethod
    def one(out: Any) -> Rooms:
        return Rooms([Room(out, "out")])

    @staticmethod
    def many(outs: list[Any], count: int) -> Rooms:
        if len(outs) != count:
            raise InvalidArgumentError(f"out has {len(outs)} elements, but there are {count} ids")
        rooms = [Room(out, f"out[{place}]") for place, out in enumerate(outs)]
        for room in rooms:
            room.require_contiguous()
        _require_apart(rooms)
        return Rooms(rooms)

    def offer(self, place: int, metadata: bytes, size: int) -> memoryview:
        return self._rooms[place].offer(metadata, size)

    def settle(self) -> None:
        for room in self._rooms:
            room.settle()

    async def take(self, view: _core.View) -> None:
        """Copies one object that is there. Cancelled, it goes on until nothing is written."""
        if len(view) <= COPIED_AT_ONCE:
            return self._copy(view)
        copying = asyncio.get_running_loop().run_in_executor(None, self._copy, view)
        try:
            await asyncio.shield(copying)
        except asyncio.CancelledError:
            await asyncio.wait([copying])
            raise

    def _copy(self, view: _core.View) -> None:
        into = np.frombuffer(self.offer(0, view.metadata, len(view)), np.uint8)
        np.copyto(into, np.frombuffer(memoryview(view), np.uint8))  # without the GIL
        self.settle()


class Room:
    """What `out` is, by its `name`. InvalidArgumentError, TypeError: nothing can be written
    there."""

    def __init__(self, out: Any, name: str) -> None:
        self.name = name
        # No dtype: plain bytes. The memory is of opaque elements.
        self._dtype, self._memory = _bytes(out) if _is_bytes(out, name) else _opaque(out, name)
        if not self._memory.flags.writeable:
            raise InvalidArgumentError(f"{name}: this {type(out).__name__} is read-only")
        self._elsewhere: tuple[bytes, np.ndarray[Any, Any]] | None = None

    def require_contiguous(self) -> None:
        if not self._memory.flags.c_contiguous:
            raise InvalidArgumentError(
                f"{self.name} is strided: contiguous memory (C order) is expected, but its shape "
                f"{self._memory.shape} has strides of {self._memory.strides} bytes"
            )

    def places(self) -> range:
        """The addresses of its bytes; it is contiguous."""
        first = self._memory.__array_interface__["data"][0]
        return range(first, first + self._memory.nbytes)

    def offer(self, metadata: bytes, size: int) -> memoryview:
        """Where `size` bytes of an object with this metadata shall go. InvalidArgumentError: it is
        no value for `out`."""
        array = _encoding.elements(metadata)
        if array is not None:
            self._require(array)
        if array is not None or _encoding.is_bytes(metadata):
            self._require_size(size)
            if self._lies_as(array):
                self._elsewhere = None
                return _dtypes.bytes_of(self._memory, "F" if self._is_fortran(array) else "C")
        self._elsewhere = metadata, np.empty(size, np.uint8)
        return _dtypes.bytes_of(self._elsewhere[1])

    def settle(self) -> None:
        """The bytes are there: copies those that did not go directly."""
        if self._elsewhere is None:
            return
        metadata, taken = self._elsewhere
        array = _encoding.elements(metadata)
        if array is not None:
            self._copy(_lying(array, taken))
        elif _encoding.is_bytes(metadata):
            self._copy(taken.view(self._memory.dtype).reshape(self._memory.shape))
        else:
            self._copy(self._restored(metadata, taken))

    def _restored(self, metadata: bytes, taken: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        value = _encoding.decode(_dtypes.bytes_of(taken), metadata)
        if not isinstance(value, np.ndarray) and not _torch.is_tensor(value):
            raise InvalidArgumentError(
                f"{self.name}: the object is a {type(value).__name__}; only an array, a tensor or "
                "bytes go into memory of one's own"
            )
        dtype, opaque = _opaque(value, self.name)
        self._require(Elements(dtype, value.shape, "C"))
        self._require_size(opaque.nbytes)
        return opaque

    def _copy(self, opaque: np.ndarray[Any, Any]) -> None:
        if self._dtype is None:  # bytes have no shape: elements in C order
            opaque = np.frombuffer(opaque.tobytes(), self._memory.dtype)
        self._memory[...] = opaque

    def _require(self, array: Elements) -> None:
        mine = Elements(self._dtype, self._memory.shape, "C")
        if self._dtype is not None and (array.dtype, array.shape) != (mine.dtype, mine.shape):
            raise InvalidArgumentError(f"{self.name} is {mine}, but the object is {array}")

    def _require_size(self, size: int) -> None:
        if size != self._memory.nbytes:
            raise InvalidArgumentError(
                f"{self.name} has {self._memory.nbytes} bytes, but the object has {size} bytes"
            )

    def _lies_as(self, array: Elements | None) -> bool:
        if self._is_fortran(array):
            return self._dtype is not None and self._memory.flags.f_contiguous
        return self._memory.flags.c_contiguous and (array is None or array.order == "C")

    def _is_fortran(self, array: Elements | None) -> bool:
        return array is not None and array.order == "F"


def _require_apart(rooms: Iterable[Room]) -> None:
    taken = [(places.start, places.stop, room.name) for room in rooms if (places := room.places())]
    for (_, end, one), (begin, _, next) in pairwise(sorted(taken)):
        if begin < end:
            first, second = sorted((one, next), key=lambda name: (len(name), name))
            raise InvalidArgumentError(f"{second} has memory in common with {first}")


def _is_bytes(out: Any, name: str) -> bool:
    """Memory without dtype and shape."""
    if isinstance(out, np.ndarray) or _torch.is_tensor(out):
        return False
    try:
        view = memoryview(out)
    except TypeError:
        raise TypeError(
            f"{name} is of type {type(out).__name__}: an array, a tensor, or writable bytes are "
            "expected"
        ) from None
    return view.ndim == 1 and view.format in ("B", "b", "c")


def _bytes(out: Any) -> tuple[Any, np.ndarray[Any, Any]]:
    return None, np.frombuffer(out, "V1")


def _opaque(value: Any, name: str) -> tuple[Any, np.ndarray[Any, Any]]:
    """The dtype in words, and the same memory as elements without meaning."""
    if _torch.is_tensor(value):
        if not _torch.has_elements(value):
            raise InvalidArgumentError(
                f"{name}: a dense tensor in the processor's memory is expected, not "
                f"{value.layout} on {value.device} of {value.dtype}"
            )
        array = _torch.lying(value)
        return _torch.dtype_of(value), array.view(f"V{array.itemsize}")
    array = np.asarray(value)
    if array.dtype.hasobject:
        raise InvalidArgumentError(f"{name}: an array of dtype {array.dtype} holds Python objects")
    return _dtypes.described(array.dtype) or array.dtype, array.view(f"V{array.itemsize}")


def _lying(array: Elements, taken: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Elements without meaning as they lie in these bytes, which need no ml_dtypes."""
    itemsize = taken.nbytes // max(1, math.prod(array.shape))
    return _arrays.over(f"|V{itemsize}", array.shape, array.order, _dtypes.bytes_of(taken))
