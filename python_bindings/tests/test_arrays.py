"""Arrays come back as they went, or are refused in words."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

import hoplite
import ml_dtypes
import numpy as np
import pytest
from hoplite import Client, _core, _dtypes

DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float16", "float32", "float64", "complex64", "complex128", ">f8", ">i4", "S5", "U3",
    "datetime64[us]", "timedelta64[s]",
]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_travels(here: Client, there: Client, dtype: str) -> None:
    array = np.arange(24).reshape(4, 6).astype(dtype)
    got = there.get(here.put(array), timeout=10)
    assert got.dtype == array.dtype
    np.testing.assert_array_equal(got, array)


@pytest.mark.parametrize("size", [1, 16384, 16385, 3_000_000])
def test_sizes_around_the_limit_of_the_directory(here: Client, there: Client, size: int) -> None:
    array = np.random.default_rng(size).random(size, dtype=np.float32)
    np.testing.assert_array_equal(there.get(here.put(array), timeout=30), array)


def test_bfloat16_travels(here: Client, there: Client) -> None:
    array = np.linspace(-3, 3, 7).astype(ml_dtypes.bfloat16)
    got = there.get(here.put(array), timeout=10)
    assert got.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(got, array)


@pytest.mark.parametrize("dtype", sorted(_dtypes.FOLDABLE))
def test_every_foldable_dtype_is_reduced(here: Client, there: Client, dtype: str) -> None:
    array = np.arange(5).astype(_dtypes.from_words(dtype))
    total = here.reduce([here.put(array), there.put(array)]).wait(timeout=10).target
    np.testing.assert_array_equal(there.get(total, timeout=10), array + array)


def test_a_dtype_more_of_the_core_is_one_of_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_core, "DTYPES", (*_core.DTYPES, "float8_e5m2"))
    spec = importlib.util.find_spec("hoplite._dtypes")
    assert spec is not None and spec.loader is not None
    again = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(again)
    assert again.reducible(ml_dtypes.float8_e5m2) == "float8_e5m2"
    assert again.noted(again.described(np.dtype(ml_dtypes.float8_e5m2))) == "float8_e5m2"
    assert again.from_words("float8_e5m2") == ml_dtypes.float8_e5m2
    assert _dtypes.noted("float8_e5m2") is None


def test_without_ml_dtypes_the_error_says_what_to_install(
    here: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = here.put(np.ones(3, ml_dtypes.bfloat16))
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)
    _dtypes.from_words.cache_clear()
    with pytest.raises(ImportError, match="bfloat16 need ml_dtypes: pip install"):
        here.get(name, timeout=10)
    total = here.get(here.reduce([name]).wait(timeout=10).target, out=bytearray(6))
    assert total == b"\x80\x3f" * 3


def test_structured_arrays_travel(here: Client, there: Client) -> None:
    array = np.array([(1, 2.5), (3, 4.5)], dtype=[("a", "<i4"), ("b", "<f8")])
    got = there.get(here.put(array), timeout=10)
    assert got.dtype == array.dtype
    np.testing.assert_array_equal(got, array)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (2, 3, 4)])
def test_shapes(here: Client, there: Client, shape: tuple[int, ...]) -> None:
    array = np.full(shape, 7, np.int32)
    got = there.get(here.put(array), timeout=10)
    assert got.shape == shape
    assert not got.flags.writeable
    np.testing.assert_array_equal(got, array)


def test_fortran_order_survives(here: Client, there: Client) -> None:
    array = np.asfortranarray(np.arange(12.0).reshape(3, 4))
    got = there.get(here.put(array), timeout=10)
    assert got.flags.f_contiguous and not got.flags.c_contiguous
    np.testing.assert_array_equal(got, array)


@pytest.mark.parametrize("view", [np.s_[::2], np.s_[:, 1], np.s_[::-1]])
def test_what_is_not_contiguous_is_packed(here: Client, there: Client, view: Any) -> None:
    array = np.arange(20.0).reshape(4, 5)[view]
    np.testing.assert_array_equal(there.get(here.put(array), timeout=10), array)


NESTED = np.dtype([("a", [("x", "<i4"), ("y", ">f8", (2, 3))]), (("title", "name"), "S4")])


def test_structured_arrays_of_structured_elements_travel(here: Client, there: Client) -> None:
    for kind in (NESTED, np.dtype({"names": ["a"], "formats": ["u1"], "itemsize": 8})):
        array = np.ones(5, kind)
        got = there.get(here.put(array), timeout=10)
        assert got.dtype == kind
        np.testing.assert_array_equal(got, array)


@pytest.mark.parametrize("dtype", [object, [("a", "i4"), ("b", "O")], np.dtypes.StringDType()])
def test_arrays_of_python_objects_travel(here: Client, there: Client, dtype: Any) -> None:
    array = np.zeros(3, dtype)
    got = there.get(here.put(array), timeout=10)
    assert got.dtype == array.dtype and (got == array).all()
    with pytest.raises(hoplite.InvalidArgumentError, match="can't be filled in place"):
        here.create(3, dtype)


def test_what_arrays_of_other_classes_know_is_kept(here: Client, there: Client) -> None:
    masked = np.ma.masked_array(np.arange(100_000), mask=np.arange(100_000) % 2 == 1)
    got = there.get(here.put(masked), timeout=10)
    assert got.count() == 50_000 and got.sum() == masked.sum()
    records = np.rec.array([(1, 3.0), (2, 4.0)], dtype=[("a", "i4"), ("b", "f8")])
    assert there.get(here.put(records), timeout=10).b[1] == 4.0


def test_dlpack(here: Client, there: Client) -> None:
    name = here.put(np.arange(100_000))
    got = there.get(name, timeout=10)
    taken = np.from_dlpack(got)
    assert np.shares_memory(taken, got) and not taken.flags.writeable
    taken = np.from_dlpack(there.get(name, writable=True))
    taken[0] = 7
    assert there.get(name)[0] == 0


def test_a_view_is_read_only_and_shared(here: Client) -> None:
    got = here.get(here.put(np.zeros(100_000)), timeout=10)
    with pytest.raises(ValueError, match="read-only"):
        got[0] = 1
    with pytest.raises(ValueError, match="WRITEABLE"):
        got.flags.writeable = True


def test_a_second_get_copies_nothing(here: Client) -> None:
    name = here.put(np.zeros(1_000_000))
    one, two = here.get(name, timeout=10), here.get(name, timeout=10)
    assert one.ctypes.data == two.ctypes.data


def test_get_into_an_array(here: Client, there: Client) -> None:
    array = np.random.default_rng(1).random((100, 1000))
    name = here.put(array)
    out = np.empty_like(array)
    assert there.get(name, out=out, timeout=10) is out
    np.testing.assert_array_equal(out, array)


def test_a_draft_is_filled_in_place(here: Client, there: Client) -> None:
    with here.create((1000, 300), np.float32) as draft:
        draft.array[:500] = 1
        draft.advance(500 * 300 * 4)
        draft.array[500:] = 2
    got = there.get(draft.id, timeout=10)
    assert got.dtype == np.float32 and got.shape == (1000, 300)
    assert (got[:500] == 1).all() and (got[500:] == 2).all()
    with pytest.raises(ValueError, match="read-only"):
        draft.array[0] = 3
    with pytest.raises(hoplite.InvalidArgumentError, match="sealed"):
        draft.seal()


def test_a_draft_whose_block_raises_is_nobodys_object(here: Client) -> None:
    name = hoplite.ObjectId.random()
    with pytest.raises(RuntimeError), here.create(100_000, id=name):
        raise RuntimeError
    with pytest.raises(hoplite.TimeoutError):
        here.get(name, timeout=0.2)
