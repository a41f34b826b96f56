"""PyTorch's tensors come back as they went, as nobody else's, or are refused in words."""

from __future__ import annotations

import re
import sys
import warnings
from typing import Any

import hoplite
import ml_dtypes
import numpy as np
import pytest
from hoplite import Client, LocalCluster, _encoding, _torch

torch = pytest.importorskip(
    "torch", reason="PyTorch is not installed (python_bindings/tests/requirements-torch.txt)"
)


@pytest.mark.parametrize("dtype", sorted(_torch.DTYPES))
def test_every_dtype_travels(here: Client, there: Client, dtype: str) -> None:
    tensor = torch.arange(12).reshape(3, 4).to(getattr(torch, dtype))
    got = there.get(here.put(tensor), timeout=10)
    assert got.dtype == tensor.dtype and got.shape == tensor.shape
    assert (got.to(torch.complex64) == tensor.to(torch.complex64)).all()


@pytest.mark.parametrize("dtype", sorted(_torch.DTYPES))
def test_every_dtype_is_filled_in_place(here: Client, there: Client, dtype: str) -> None:
    kind = getattr(torch, dtype)
    with here.create((3, 4), kind, metadata={"step": 7}) as draft:
        draft.tensor.copy_(torch.arange(12).reshape(3, 4).to(kind))
    got = there.get(draft.id, timeout=10)
    assert type(got) is torch.Tensor and got.dtype == kind and got.shape == (3, 4)
    assert (got.to(torch.complex64) == draft.tensor.to(torch.complex64)).all()
    assert there.info(draft.id).user_metadata == {"step": 7}


def test_a_draft_is_a_tensor_or_an_array(here: Client) -> None:
    with here.create(0, torch.float32) as draft:
        assert draft.tensor.shape == (0,)
        with pytest.raises(ValueError, match=r"the draft is a tensor of torch.float32: fill draft"):
            draft.array  # noqa: B018
    with here.create(3, np.float32) as draft:
        draft.array[:] = 1
        with pytest.raises(ValueError, match=r"the draft is an array of float32: fill draft.array"):
            draft.tensor  # noqa: B018
    with pytest.raises(ValueError, match=r"of dtype torch.quint8 can't be filled in place"):
        here.create(3, torch.quint8)


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
    turned = plain.transpose(0, 1)
    got = there.get(here.put(turned), timeout=10)
    assert got.stride() == turned.stride() and (got == turned).all()
    packed = plain[:, ::2]
    got = there.get(here.put(packed), timeout=10)
    assert got.is_contiguous() and (got == packed).all()
    wide = torch.zeros(1).expand(1 << 40)
    assert there.get(here.put(wide), timeout=10).shape == wide.shape


def test_channels_last_survives(here: Client) -> None:
    image = torch.rand(2, 3, 8, 8).to(memory_format=torch.channels_last)
    for got in (here.get(here.put(image)), here.get(here.put([image]))[0]):
        assert got.is_contiguous(memory_format=torch.channels_last) and (got == image).all()


def test_what_pickle_keeps_is_kept(here: Client) -> None:
    plain = torch.ones(3, requires_grad=True)
    weights, fixed = torch.nn.Parameter(torch.ones(3)), torch.nn.Parameter(torch.ones(3), False)
    marked = torch.nn.Parameter(torch.ones(3))
    marked.shard = 7
    for value in (plain, weights, fixed, marked, plain * 2):
        for got in (here.get(here.put(value), timeout=10), here.get(here.put([value]))[0]):
            assert type(got) is type(value) and (got == value).all()
            assert got.requires_grad == value.requires_grad and got.is_leaf
            assert getattr(got, "shard", None) == getattr(value, "shard", None)
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
    turned = torch.empty(400, 300).t()
    assert (there.get(id, out=turned) == tensor).all()
    with pytest.raises(hoplite.InvalidArgumentError, match=r"\(300, 401\), but .* \(300, 400\)"):
        there.get(id, out=torch.empty(300, 401))


def test_inside_other_values(here: Client, there: Client) -> None:
    value = {"weights": torch.rand(300, 400), "array": np.ones(1000), "step": 7}
    name = here.put(value)
    got = there.get(name, timeout=10)
    assert (got["weights"] == value["weights"]).all()
    got["weights"].zero_()
    assert not got["array"].flags.writeable
    assert (there.get(name)["weights"] == value["weights"]).all()
    assert there.get(name, writable=True)["array"].flags.writeable


def test_tensors_inside_other_values_are_views(here: Client) -> None:
    """Nothing of them is in the stream, and nothing is copied when they are got."""
    model = torch.nn.Sequential(torch.nn.Linear(100, 100), torch.nn.Linear(100, 100))
    model[1].weight = model[0].weight  # one parameter at two places
    for value in (model, model.state_dict(), [torch.rand(50, 50) for _ in range(100)]):
        stream = _encoding.encode(value).pieces[-2]
        assert stream.nbytes < 20_000
    name = here.put(model)
    got = here.get(name, timeout=10)
    assert got[1].weight is got[0].weight and type(got[0].weight) is torch.nn.Parameter
    assert (got(torch.ones(100)) == model(torch.ones(100))).all()
    assert here.info(name).size_bytes < 60_000


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.eye(3).to_sparse(),
        lambda: torch.eye(3).to_sparse_csr(),
        lambda: torch.empty(3, device="meta"),
        lambda: torch.zeros(3, dtype=torch.float8_e5m2),
        lambda: torch.zeros(1, dtype=torch.float8_e5m2).expand(3),
        lambda: torch.zeros(1, dtype=torch.float32).expand(3),
        lambda: torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8),
    ],
)
@pytest.mark.filterwarnings("ignore:.*(quantize|Sparse|TypedStorage).*:UserWarning")
def test_what_is_not_plain_travels_as_pickle_has_it(here: Client, make: Any) -> None:
    value = make()
    for got in (here.get(here.put(value), timeout=10), here.get(here.put([value]))[0]):
        assert type(got) is type(value) and got.dtype == value.dtype and got.shape == value.shape
        assert got.layout == value.layout and got.device == value.device
        assert str(got) == str(value)


def test_arrays_go_to_torch_by_dlpack(here: Client) -> None:
    id = here.put(np.arange(100_000))
    mine = here.get(id, timeout=10, writable=True)
    tensor = torch.from_dlpack(mine)
    tensor[0] = 7
    assert mine[0] == 7 and here.get(id)[0] == 0


@pytest.mark.parametrize("version", ["2.12.1", "2.9.0+cu126", "3.0.0"])
def test_an_older_torch_and_the_next_major_one_get_one_warning_that_names_both(
    monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.setattr(torch, "__version__", version)
    _torch.require_torch.cache_clear()
    with pytest.warns(
        RuntimeWarning, match=rf"{re.escape(_torch.TESTED)}.*{re.escape(version)}"
    ) as warned:
        _torch.require_torch()
        _torch.require_torch()
    assert len(warned) == 1
    _torch.require_torch.cache_clear()


@pytest.mark.parametrize("version", ["2.13.0+cpu", "2.13.1", "2.14.1+cu130", "2.20.0a0+git1"])
def test_a_later_torch_gets_no_warning(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setattr(torch, "__version__", version)
    _torch.require_torch.cache_clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _torch.require_torch()
    _torch.require_torch.cache_clear()
