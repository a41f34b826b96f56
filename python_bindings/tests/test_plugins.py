"""The plug-in of docs/plugins.md: what `hoplite.plugins` offers is enough for one."""

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from pool import Pool


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(2) as pool:
        yield pool


def at(array: np.ndarray[Any, Any]) -> tuple[int, bool, float]:
    return os.getpid(), array.flags.writeable, float(array.sum())


def test_arrays_go_there_and_back_as_views(pool: Pool) -> None:
    array = np.arange(100_000.0)
    made = pool.submit(np.square, array).result()
    assert np.array_equal(made, array**2)
    assert not made.flags.writeable
    process, writable, total = pool.submit(at, array).result()
    assert process != os.getpid()
    assert (writable, total) == (False, array.sum())


def test_small_values_and_errors_pass_as_they_do_without(pool: Pool) -> None:
    assert pool.submit(max, 1, 2).result() == 2
    with pytest.raises(ZeroDivisionError):
        pool.submit(divmod, 1, 0).result()


def test_nothing_is_left(pool: Pool) -> None:
    pool.submit(np.square, np.arange(100_000.0)).result()
    pool.submit(max, 1, 2).result()
    assert pool._client.status().objects == []
