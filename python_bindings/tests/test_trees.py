"""Dicts and lists of arrays lie so that their bytes depend on their structure alone."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
import pytest
from hoplite import Client, _encoding, _trees

F4 = np.float32


def tree(number: float, dtype: Any = F4) -> dict[str, Any]:
    """Of any number, the same structure; its strings are nobody else's."""
    key = "".join(["wei", "ght"])
    return {
        key: np.full((100, 7), number, dtype),
        "layers": [
            {key: np.full(3, number, dtype), "float32": np.full((2, 3), number, dtype).T},
            (np.full(1, 2 * number, dtype), "".join(["te", "xt"]), 7, None, b"bytes" * 2),
        ],
        "": OrderedDict(a=np.full((), number, dtype)),
    }


def leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [leaf for one in value.values() for leaf in leaves(one)]
    if isinstance(value, list | tuple):
        return [leaf for one in value for leaf in leaves(one)]
    return [value]


def test_what_lies_behind_the_arrays_is_the_same_of_one_structure() -> None:
    one, other = tree(1), tree(2)
    for leaf in leaves(other):
        if isinstance(leaf, np.ndarray):
            leaf.flags.writeable = False
    first, second = _encoding.encode(one), _encoding.encode(other)
    assert first.metadata == second.metadata and b"structure" in first.metadata
    assert first.pieces[-2:] == second.pieces[-2:]
    fold = _encoding.fold(first.metadata)
    assert fold is not None and fold.dtype == "float32" and fold.nbytes % 64 == 0
    assert sum(piece.nbytes for piece in first.pieces[:-2]) == fold.nbytes


def test_what_holds_itself_or_is_deep_is_put_as_pickle_does(here: Client) -> None:
    round_: list[Any] = [np.ones(3)]
    round_.append(round_)
    got = here.get(here.put(round_), timeout=10)
    assert got[1] is got
    deep: Any = np.ones(3)
    for _ in range(250):
        deep = [deep]
    got = here.get(here.put(deep), timeout=10)
    for _ in range(250):
        got = got[0]
    assert (got == 1).all()
    with pytest.raises(_trees.NoTree, match="more than 16384 parts"):
        _trees.grown([0] * 20_000)
