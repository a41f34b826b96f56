"""PyTorch's tensors, of the processor's memory, as bytes and back.

torch is imported by who puts tensors; here only when somebody gets one.
"""

from __future__ import annotations

import functools
import importlib
import math
import sys
import warnings
from typing import Any, Literal

from hoplite.errors import InvalidArgumentError

TESTED = "2.13.0"

# Those that NumPy has, too, and bfloat16: by the same names.
DTYPES = frozenset(
    ["bool", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"]
    + [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
)

Order = Literal["C", "F"]


def is_tensor(value: Any) -> bool:
    tensor = getattr(sys.modules.get("torch"), "Tensor", None)
    return tensor is not None and isinstance(value, tensor)


def take_apart(tensor: Any) -> tuple[str, tuple[int, ...], Order, memoryview]:
    """The dtype's name, the shape, the order and the bytes: the tensor's own where it is
    contiguous, else those of a copy. InvalidArgumentError names what can't be put."""
    torch = require_torch()
    name = str(tensor.dtype).removeprefix("torch.")
    if tensor.device.type != "cpu":
        raise InvalidArgumentError(f"a tensor on {tensor.device} can't be put: put its .cpu()")
    if tensor.layout is not torch.strided or tensor.is_quantized or name not in DTYPES:
        raise InvalidArgumentError(
            f"a tensor of dtype {tensor.dtype} and layout {tensor.layout} can't be put: only a "
            f"dense one of {', '.join(sorted(DTYPES))}"
        )
    plain = tensor.detach().resolve_conj().resolve_neg()
    order: Order = "C"
    if not plain.is_contiguous() and _turned(plain).is_contiguous():
        plain, order = _turned(plain), "F"
    shape = tuple(tensor.shape)
    if 0 in shape:
        return name, shape, order, memoryview(b"")
    flat = plain.contiguous().reshape(-1).view(torch.uint8)
    return name, shape, order, memoryview(flat.numpy())


def put_together(buffer: memoryview, name: str, shape: tuple[int, ...], order: Order) -> Any:
    """A tensor over these writable bytes, which it keeps. ValueError: they are not such a one."""
    torch = require_torch()
    if name not in DTYPES:
        raise ValueError(f"dtype {name!r} of a tensor")
    dtype = getattr(torch, name)
    if math.prod(shape) == 0:
        return torch.empty(shape, dtype=dtype)
    flat = torch.frombuffer(buffer, dtype=dtype)
    return flat.reshape(shape) if order == "C" else _turned(flat.reshape(shape[::-1]))


def room_of(tensor: Any) -> memoryview:
    """The bytes of a contiguous tensor, to be written. InvalidArgumentError: it has none."""
    torch = require_torch()
    if tensor.device.type != "cpu" or not tensor.is_contiguous():
        raise InvalidArgumentError("out: a contiguous tensor in the processor's memory is expected")
    if tensor.numel() == 0:
        return memoryview(bytearray())
    return memoryview(tensor.detach().reshape(-1).view(torch.uint8).numpy())


@functools.cache
def require_torch() -> Any:
    """ImportError that says what to install where torch is missing; one warning where it is another
    than the tested one."""
    try:
        torch = importlib.import_module("torch")
    except ImportError as missing:
        raise ImportError(
            f"the object is a tensor of PyTorch: pip install 'torch=={TESTED}'"
        ) from missing
    if torch.__version__.partition("+")[0] != TESTED:
        warnings.warn(
            f"hoplite was tested with torch {TESTED}; this is torch {torch.__version__}",
            RuntimeWarning,
            stacklevel=2,
        )
    return torch


def _turned(tensor: Any) -> Any:
    """With its dimensions in the opposite order; nothing is copied."""
    return tensor.permute(tuple(reversed(range(tensor.dim()))))
