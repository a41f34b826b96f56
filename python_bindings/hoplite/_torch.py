"""PyTorch's tensors, of the processor's memory, as bytes and back.

torch is imported by who puts tensors; here only when somebody gets one.
"""

from __future__ import annotations

import functools
import importlib
import math
import sys
import warnings
from typing import Any

import numpy as np

from hoplite._dtypes import FOLDABLE
from hoplite._metadata import Mismatch

TESTED = "2.13.0"
# The next ones are taken to work until torch's next major version.
LEAST, BELOW = (2, 13), (3,)

# What NumPy does not know by itself: ml_dtypes has the same by the same names.
FLOAT8 = "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"
ALONE = frozenset(["complex32", *FLOAT8])
# Of plain tensors: those that are folded, or that NumPy has, too, by the same names; and those.
DTYPES = ALONE | FOLDABLE | {"bool", "complex64", "complex128"}

# "C", "F", or the dimensions, the one that varies least first.
Order = str | tuple[int, ...]

TENSOR = "torch"
PARAMETER = "parameter"


def is_tensor(value: Any) -> bool:
    tensor = getattr(sys.modules.get("torch"), "Tensor", None)
    return tensor is not None and isinstance(value, tensor)


def is_parameter(value: Any) -> bool:
    return is_tensor(value) and type(value) is require_torch().nn.Parameter


def is_plain(value: Any) -> bool:
    """Whether its elements, dtype, shape, order and requires_grad are all there is to know."""
    if not is_tensor(value):
        return False
    torch = require_torch()
    return (
        type(value) in (torch.Tensor, torch.nn.Parameter)
        and has_elements(value)
        and not value.__dict__
    )


def has_elements(tensor: Any) -> bool:
    """Whether they lie in the processor's memory as they are, each at a place of its own."""
    return (
        tensor.device.type == "cpu"
        and tensor.layout is require_torch().strided
        and str(tensor.dtype).removeprefix("torch.") in DTYPES
        and not (tensor.is_quantized or tensor.is_conj() or tensor.is_neg())
        # Not so what `expand` has made.
        and tensor.numel() * tensor.itemsize <= tensor.untyped_storage().nbytes()
    )


def dtype_of(tensor: Any) -> str:
    """In NumPy's words where it has some, for who has no torch. Equal ones are one object."""
    return _in_words(str(tensor.dtype).removeprefix("torch."))


def is_dtype(dtype: Any) -> bool:
    kind = getattr(sys.modules.get("torch"), "dtype", None)
    return kind is not None and isinstance(dtype, kind)


def words_of(dtype: Any) -> str | None:
    """The same of a dtype; None: its tensors are not plain."""
    name = str(dtype).removeprefix("torch.")
    return _in_words(name) if name in DTYPES else None


def itemsize_of(words: str) -> int:
    """In bytes, of the dtype of these words."""
    return int(getattr(require_torch(), name_of(words)).itemsize)


def _in_words(name: str) -> str:
    known = name in FOLDABLE or name in ALONE
    return sys.intern(name if known else np.dtype(name).str)


def name_of(words: Any) -> str:
    """What torch calls the dtype of these words. ValueError, TypeError: it has none."""
    name = words if words in DTYPES else np.dtype(words).name
    if name not in DTYPES:
        raise ValueError(f"dtype {words!r} of a tensor")
    return str(name)


def order_of(tensor: Any) -> Order:
    """C also of what is not dense: it is packed."""
    if tensor.is_contiguous() or tensor.numel() == 0:
        return "C"
    turned = tuple(reversed(range(tensor.dim())))
    if tensor.permute(turned).is_contiguous():
        return "F"
    strides = tensor.stride()
    axes = tuple(sorted(range(tensor.dim()), key=lambda axis: -strides[axis]))
    return axes if tensor.permute(axes).is_contiguous() else "C"


def memory_of(tensor: Any) -> memoryview:
    """The bytes of a plain one, in the order that it has: its own where it is dense, else those of
    a copy."""
    if tensor.numel() == 0:
        return memoryview(b"")
    plain = tensor.detach()
    lies = plain.permute(_axes(order_of(plain), plain.dim())).contiguous()
    return memoryview(lies.reshape(-1).view(require_torch().uint8).numpy())


def over(memory: memoryview, name: str, shape: tuple[int, ...], order: Order) -> Any:
    """A tensor over these writable bytes, which it keeps. Mismatch: they are not such a one."""
    torch = require_torch()
    dtype = getattr(torch, name)
    wanted = math.prod(shape) * dtype.itemsize
    if wanted != memory.nbytes:
        raise Mismatch(f"shape {shape} of {name} takes {wanted} bytes")
    if wanted == 0:
        return torch.empty(shape, dtype=dtype)
    flat = torch.frombuffer(memory, dtype=dtype)
    if order == "C":
        return flat.reshape(shape)
    axes = _axes(order, len(shape))
    lies = flat.reshape([shape[axis] for axis in axes])
    return lies.permute([axes.index(axis) for axis in range(len(axes))])


def finished(tensor: Any, kind: str, grad: bool) -> Any:
    if kind == PARAMETER:
        return require_torch().nn.Parameter(tensor, requires_grad=grad)
    return tensor.requires_grad_() if grad else tensor


def is_storage(value: Any) -> bool:
    """Of a tensor that is not plain: its bytes, which torch's own pickling hands on."""
    torch = sys.modules.get("torch")
    if torch is None or type(value) not in (torch.UntypedStorage, torch.storage.TypedStorage):
        return False
    return bool(_untyped(value).device.type == "cpu")


def storage_of(value: Any) -> int:
    """What two tensors and storages have in common that lie in the same memory."""
    return int((value.untyped_storage() if is_tensor(value) else _untyped(value))._cdata)


def fills_storage(tensor: Any) -> bool:
    """Whether its elements, one after another, are all that its storage holds."""
    if not has_elements(tensor) or tensor.storage_offset():
        return False
    lies = tensor.detach().permute(_axes(order_of(tensor), tensor.dim()))
    filled = tensor.numel() * tensor.itemsize == tensor.untyped_storage().nbytes()
    return bool(lies.is_contiguous() and filled)


def storage_bytes(storage: Any) -> tuple[memoryview, str]:
    """And the name of its dtype, of those that torch gives storages."""
    untyped = _untyped(storage)
    dtype = "uint8" if untyped is storage else str(storage.dtype).removeprefix("torch.")
    if untyped.nbytes() == 0:
        return memoryview(b""), dtype
    torch = require_torch()
    return memoryview(torch.empty(0, dtype=torch.uint8).set_(untyped).numpy()), dtype


def storage(memory: Any, dtype: str) -> Any:
    """A storage over these writable bytes: one with a dtype, as torch.load makes them, too."""
    torch = require_torch()
    if memoryview(memory).nbytes == 0:
        untyped = torch.UntypedStorage(0)
    else:
        untyped = torch.frombuffer(memory, dtype=torch.uint8).untyped_storage()
    kind = torch.storage.TypedStorage
    return kind(wrap_storage=untyped, dtype=getattr(torch, dtype), _internal=True)


def _untyped(storage: Any) -> Any:
    return getattr(storage, "_untyped_storage", storage)


def lying(tensor: Any) -> np.ndarray[Any, Any]:
    """The memory of one that `has_elements`, as an array of whatever has their size."""
    torch = require_torch()
    like = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64, 16: torch.complex128}
    array: np.ndarray[Any, Any] = tensor.detach().view(like[tensor.itemsize]).numpy()
    return array


@functools.cache
def require_torch() -> Any:
    """ImportError that says what to install where torch is missing; one warning where it is older
    than what was tested, or of the next major version."""
    try:
        torch = importlib.import_module("torch")
    except ImportError as missing:
        raise ImportError(
            f"the object is a tensor of PyTorch: pip install 'torch=={TESTED}'"
        ) from missing
    if not LEAST <= _version(torch) < BELOW:
        warnings.warn(
            f"hoplite was tested with torch {TESTED} and works with later ones below "
            f"{BELOW[0]}.0; this is torch {torch.__version__}",
            RuntimeWarning,
            stacklevel=2,
        )
    return torch


def _axes(order: Order, count: int) -> tuple[int, ...]:
    if isinstance(order, tuple):
        return order
    return tuple(range(count)) if order == "C" else tuple(reversed(range(count)))


def _version(torch: Any) -> tuple[int, ...]:
    major, minor = torch.__version__.split(".")[:2]
    return int(major), int(minor)
