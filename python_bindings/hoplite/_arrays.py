"""Arrays and plain tensors as bytes and back: the elements lie as they are, so that a reduction
folds them; dtype, shape and order are said beside them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple

import numpy as np

from hoplite import _dtypes, _metadata, _torch
from hoplite._metadata import Mismatch
from hoplite._torch import Order
from hoplite.errors import InvalidArgumentError

# Up to this size a copy of an object costs less than a mapping of one's own, of which a process may
# have some ten thousand.
SMALL = 16384

MEMMAP = "memmap"

# What has bytes: an array in C order of a plain dtype has them as it is.
Memory = memoryview | np.ndarray[Any, Any]


class Elements(NamedTuple):
    """What lies there: an array's elements in C or F order, or in the order of a tensor's
    dimensions from the one that varies least."""

    dtype: Any  # in the words of `_dtypes.described`
    shape: tuple[int, ...]
    order: Order

    def __str__(self) -> str:
        by = f", order {self.order}" if self.order != "F" else ", Fortran order"
        return f"{self.dtype} {self.shape}{by if self.order != 'C' else ''}"


class Description(NamedTuple):
    """All there is to say of an array or a plain tensor beside its bytes."""

    elements: Elements
    kind: str = ""  # "": an array of NumPy
    grad: bool = False  # requires_grad

    def __str__(self) -> str:
        grad = " that requires grad" if self.grad else ""
        return f"{self.kind or 'array'} {self.elements}{grad}"


def describe(value: Any) -> Description | None:
    """None: it has more than elements, or elements that no words describe: pickle knows it."""
    mine = type(value)
    if mine is np.ndarray or mine is np.memmap:
        dtype = _dtypes.described(value.dtype)
        if dtype is None:
            return None
        kind = "" if mine is np.ndarray else MEMMAP
        return Description(Elements(dtype, value.shape, order_of(value)), kind)
    return describe_tensor(value) if _torch.is_plain(value) else None


def describe_tensor(value: Any) -> Description:
    """Of a tensor that has elements; what else it has is left out."""
    elements = Elements(_torch.dtype_of(value), tuple(value.shape), _torch.order_of(value))
    kind = _torch.PARAMETER if _torch.is_parameter(value) else _torch.TENSOR
    return Description(elements, kind, value.requires_grad)


def extents(shape: Any) -> tuple[int, ...]:
    """Of an array that a caller wants. TypeError, InvalidArgumentError: it is no shape."""
    try:
        wanted = tuple(map(operator.index, shape if isinstance(shape, Iterable) else [shape]))
    except TypeError:
        raise TypeError(f"create: shape: integers expected, not {shape!r:.100}") from None
    if any(extent < 0 for extent in wanted):
        raise InvalidArgumentError(f"create: shape {wanted} has a negative extent")
    return wanted


def empty(dtype: Any, shape: tuple[int, ...]) -> Description:
    """Of an array, or a tensor if the dtype is one of PyTorch, whose elements are still to come."""
    of_torch = _torch.is_dtype(dtype)
    words = _torch.words_of(dtype) if of_torch else _dtypes.described(np.dtype(dtype))
    if words is None:
        raise InvalidArgumentError(
            f"create: elements of dtype {dtype} can't be filled in place: put an array of them"
        )
    return Description(Elements(words, shape, "C"), _torch.TENSOR if of_torch else "")


def size_of(description: Description) -> int:
    """In bytes."""
    words = description.elements.dtype
    of_torch = description.kind == _torch.TENSOR
    itemsize = _torch.itemsize_of(words) if of_torch else _dtypes.from_words(words).itemsize
    return math.prod(description.elements.shape) * itemsize


def memory_of(value: Any) -> Memory:
    """The bytes of its elements, in the order that is described: its own, or those of a copy."""
    if type(value) is np.ndarray and value.flags.c_contiguous and _dtypes.is_plain(value.dtype):
        return value
    if not isinstance(value, np.ndarray):
        return _torch.memory_of(value)
    plain = np.asarray(value)
    plain = plain if plain.flags.forc else np.ascontiguousarray(plain)
    return _dtypes.bytes_of(plain, order_of(plain))


def put_together(description: Description, memory: memoryview) -> Any:
    """The value over these bytes. Mismatch: they are not its."""
    elements = description.elements
    if description.kind in (_torch.TENSOR, _torch.PARAMETER):
        name = _torch.name_of(elements.dtype)
        tensor = _torch.over(memory, name, elements.shape, elements.order)
        return _torch.finished(tensor, description.kind, description.grad)
    array = over(*elements, memory)
    return array.view(np.memmap) if description.kind == MEMMAP else array


def over(
    words: Any, shape: tuple[int, ...], order: Order, memory: memoryview
) -> np.ndarray[Any, Any]:
    """An array over these bytes, whatever they are of."""
    dtype = _dtypes.from_words(words)
    wanted = math.prod(shape) * dtype.itemsize
    if wanted != memory.nbytes:
        raise Mismatch(f"shape {shape} of {words} takes {wanted} bytes")
    if wanted == 0:
        array: np.ndarray[Any, Any] = np.empty(shape, dtype)
        array.flags.writeable = not memory.readonly
        return array
    if not isinstance(order, tuple):
        return np.ndarray(shape, dtype, buffer=memory, order="F" if order == "F" else "C")
    axes = [int(axis) for axis in order]
    return np.ndarray([shape[axis] for axis in axes], dtype, memory).transpose(np.argsort(axes))


def order_of(array: np.ndarray[Any, Any]) -> Literal["C", "F"]:
    return "F" if array.flags.fnc else "C"


def metadata_of(description: Description, beside: dict[str, Any]) -> bytes:
    """InvalidArgumentError: so long a description does not fit."""
    elements = description.elements
    return _metadata.write(
        {
            "kind": "array",
            "dtype": elements.dtype,
            "shape": list(elements.shape),
            "order": elements.order,
        },
        {"as": description.kind, "grad": description.grad, **beside},
    )


def described(stated: dict[str, Any]) -> Elements:
    """From metadata. KeyError, TypeError, ValueError: it is no array's."""
    shape = tuple(int(extent) for extent in stated["shape"])
    order = stated["order"]
    if any(extent < 0 for extent in shape):
        raise ValueError(f"shape {shape}")
    if order not in ("C", "F"):
        order = tuple(int(axis) for axis in order)
        if sorted(order) != list(range(len(shape))):
            raise ValueError(f"order {order} of {len(shape)} dimensions")
    return Elements(_dtypes.frozen(stated["dtype"]), shape, order)


def restorer(stated: dict[str, Any]) -> Callable[[Any], Any]:
    description = Description(described(stated), stated.get("as", ""), bool(stated.get("grad")))
    if description.kind in (_torch.TENSOR, _torch.PARAMETER):
        _torch.name_of(description.elements.dtype)
        return lambda view: put_together(description, memoryview(private(view)))
    _dtypes.from_words(description.elements.dtype)
    return lambda view: put_together(description, memoryview(view))


def private(view: Any) -> Any:
    """The bytes of a View of the extension, to be written to: nobody else sees that. What may be
    written to stays itself."""
    if not memoryview(view).readonly:
        return view
    return bytearray(view) if len(view) <= SMALL else view.map_private()
