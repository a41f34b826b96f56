"""PyTorch's tensors come back as they went, as nobody else's, or are refused in words."""

from __future__ import annotations

import sys
from typing import Any

import hoplite
import ml_dtypes
import numpy as np
import pytest
from hoplite import Client, LocalCluster, _torch

torch = pytest.importorskip(
    "torch", reason="PyTorch is not installed (python_bindings/tests/requirements-torch.txt)"
)


@pytest.mark.parametrize("dtype", sorted(_torch.DTYPES))
def test_every_dtype_travels(here: Client, there: Client, dtype: str) -> None:
    tensor = torch.arange(12).reshape(3, 4).to(getattr(torch, dtype))
    got = there.get(here.put(tensor), timeout=10)
    assert got.dtype == tensor.dtype and got.shape == tensor.shape
    assert (got.to(torch.complex64) == tensor.to(torch.complex64)).all()


SHAPES: list[tuple[int, ...]] = [(), (0,), (3, 0, 2), (1,), (2, 3, 4), (500, 700)]


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes(here: Client, there: Client, shape: tuple[int, ...]) -> None:
    tensor = torch.full(shape, 7.0)
    got = there.get(here.put(tensor), timeout=10)
    assert got.shape == tensor.shape and (got == 7).all()


def test_orders(here: Client, there: Client) -> None:
    plain = torch.arange(24).reshape(2, 3, 4)
    fortran = plain.permute(2, 1, 0)
    got = there.get(here.put(fortran), timeout=10)
    assert got.stride() == fortran.stride() and (got == fortran).all()
    for packed in (plain[:, ::2], plain.transpose(0, 1), plain[:, :1].expand(2, 5, 4)):
        got = there.get(here.put(packed), timeout=10)
        assert got.is_contiguous() and (got == packed).all()


def test_what_autograd_knows_stays(here: Client) -> None:
    weights = torch.nn.Parameter(torch.ones(3))
    got = here.get(here.put(weights), timeout=10)
    assert type(got) is torch.Tensor and not got.requires_grad and (got == 1).all()
    odd = torch.ones(3, dtype=torch.complex64) * 1j
    assert (here.get(here.put(odd.conj()), timeout=10) == -odd).all()


@pytest.mark.parametrize("size", [10, 1_000_000])
def test_to_write_to_a_got_tensor_changes_nobody_elses(
    here: Client, there: Client, size: int
) -> None:
    id = here.put(torch.zeros(size))
    first, second = there.get(id, timeout=10), there.get(id, timeout=10)
    first.add_(1)
    assert (first == 1).all() and (second == 0).all()
    assert (there.get(id, timeout=10) == 0).all() and (here.get(id, timeout=10) == 0).all()
    here.delete(id)
    assert (first == 1).all() and (second == 0).all()


def test_a_tensor_outlives_its_cluster() -> None:
    with LocalCluster(nodes=1, memory="16MiB") as alone, alone.connect(0) as client:
        tensor = client.get(client.put(torch.arange(100_000)), timeout=10)
    assert tensor.sum() == sum(range(100_000))


def test_without_torch_the_error_says_what_to_install(
    here: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = here.put(torch.arange(6.0).reshape(2, 3))
    monkeypatch.setitem(sys.modules, "torch", None)
    _torch.require_torch.cache_clear()
    with pytest.raises(ImportError, match=rf"PyTorch: pip install 'torch=={_torch.TESTED}'"):
        here.get(id, timeout=10)
    out = np.empty((2, 3), np.float32)
    assert here.get(id, out=out)[1, 2] == 5  # its elements are there


def test_reduce(here: Client, there: Client) -> None:
    tensor, array = torch.ones(100_000, dtype=torch.bfloat16), np.ones(100_000, ml_dtypes.bfloat16)
    target = here.reduce([here.put(tensor), there.put(array)], dtype=torch.bfloat16).target
    total = there.get(target, timeout=10)
    assert isinstance(total, torch.Tensor) and total.dtype == torch.bfloat16
    assert (total == 2).all()
    total = here.get(here.reduce([there.put(array), here.put(tensor)]).target, timeout=10)
    assert total.dtype == ml_dtypes.bfloat16 and (total == 2).all()


def test_get_into_a_tensor(here: Client, there: Client) -> None:
    tensor = torch.rand(300, 400)
    id = here.put(tensor)
    out = torch.empty(300, 400)
    assert there.get(id, out=out, timeout=10) is out
    assert (out == tensor).all()
    with pytest.raises(hoplite.InvalidArgumentError, match="contiguous"):
        there.get(id, out=torch.empty(400, 300).t())
    with pytest.raises(hoplite.InvalidArgumentError, match="480000 bytes"):
        there.get(id, out=torch.empty(300, 401))


def test_inside_other_values(here: Client, there: Client) -> None:
    value = {"weights": torch.rand(300, 400), "step": 7}
    got = there.get(here.put(value), timeout=10)
    assert (got["weights"] == value["weights"]).all()
    got["weights"].zero_()


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: torch.eye(3).to_sparse(), "sparse"),
        (lambda: torch.empty(3, device="meta"), "meta"),
        (lambda: torch.zeros(3, dtype=torch.float8_e5m2), "float8_e5m2"),
        (lambda: torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8), "qint8"),
    ],
)
def test_what_can_not_travel_is_named(here: Client, make: Any, says: str) -> None:
    with pytest.raises(hoplite.InvalidArgumentError, match=says):
        here.put(make())


def test_arrays_go_to_torch_by_dlpack(here: Client) -> None:
    id = here.put(np.arange(100_000))
    mine = here.get(id, timeout=10, writable=True)
    tensor = torch.from_dlpack(mine)
    tensor[0] = 7
    assert mine[0] == 7 and here.get(id)[0] == 0


def test_another_torch_gets_one_warning_that_names_both(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_torch, "TESTED", "1.2.3")
    _torch.require_torch.cache_clear()
    with pytest.warns(
        RuntimeWarning, match=rf"1\.2\.3.*{torch.__version__.split('+')[0]}"
    ) as warned:
        _torch.require_torch()
        _torch.require_torch()
    assert len(warned) == 1
    _torch.require_torch.cache_clear()
