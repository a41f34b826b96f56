"""Actors whose results travel by the transports of hoplite.ray."""

from __future__ import annotations

import os
import time
from typing import Any

import hoplite.ray
import numpy as np
import pytest
from ray_cluster import ray, remote

torch = pytest.importorskip(
    "torch", reason="PyTorch is not installed (python_bindings/tests/requirements-torch.txt)"
)

BIG = 500_000


def define_worker() -> Any:
    """Inside a function, so that it travels by value: workers can't import this file."""
    of_torch = ray.method(tensor_transport="hoplite")
    of_numpy = ray.method(tensor_transport="hoplite_numpy")

    class Worker:
        def __init__(self) -> None:
            self.kept: Any = None

        @of_torch  # type: ignore[untyped-decorator]
        def make(self, value: float = 1.0, count: int = BIG, seconds: float = 0.0) -> Any:
            time.sleep(seconds)
            self.kept = torch.full((count,), float(value))
            return self.kept

        @of_torch  # type: ignore[untyped-decorator]
        def make_several(self, count: int, size: int = 3) -> Any:
            return {"tensors": [torch.full((size,), float(i)) for i in range(count)], "n": count}

        @of_torch  # type: ignore[untyped-decorator]
        def make_elsewhere(self) -> Any:
            return torch.empty(3, device="meta")

        @of_torch  # type: ignore[untyped-decorator]
        def fail(self, seconds: float = 0.0) -> Any:
            time.sleep(seconds)
            raise ValueError("no luck")

        @of_numpy  # type: ignore[untyped-decorator]
        def make_array(self, value: float = 1.0) -> Any:
            return {"array": np.full((BIG, 2), value, np.float32).T, "value": value}

        def change(self) -> None:
            self.kept += 1

        def first(self, value: Any) -> float:
            found = float(value[0])
            value += 1  # one's own
            return found

        def describe(self, value: Any) -> Any:
            array = value["array"]
            array[:] = 0  # one's own
            return array.dtype, array.shape, value["value"]

        def sums(self, value: Any) -> Any:
            return [float(one.sum()) for one in value["tensors"]], value["n"]

        def put(self, value: float, count: int = BIG) -> Any:
            return ray.put(torch.full((count,), value), _tensor_transport="hoplite")

        def first_of_nested(self, refs: Any) -> float:
            return float(ray.get(refs[0])[0])

        def reduce_its_own(self) -> Any:
            refs = [self.put(1.0), self.put(2.0)]
            return hoplite.ray.reduce(refs).get(timeout=20)[0], refs

        def pid(self) -> int:
            return os.getpid()

    return remote(enable_tensor_transport=True)(Worker)


Worker = define_worker()
