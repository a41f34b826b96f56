"""Dicts and lists of arrays are reduced array by array, or the part is named that does not fit."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Any

import hoplite
import numpy as np
import pytest
from hoplite import Client, ObjectId, _encoding, _trees

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


def equal(one: Any, other: Any) -> bool:
    mine, others = leaves(one), leaves(other)
    assert [type(leaf) for leaf in mine] == [type(leaf) for leaf in others]
    return all(map(np.array_equal, mine, others))


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


def test_each_array_is_put_as_it_is() -> None:
    """No view is made of it first: of very many that would take longer than their copy."""
    arrays = [np.full(100, 1, dtype) for dtype in ("f4", "f2", "i8")]
    for value in ({"alike": arrays[:1]}, {"no tree": [object, *arrays]}):
        known = {id(piece) for piece in _encoding.encode(value).pieces}
        assert all(id(leaf) in known for leaf in leaves(value) if leaf is not object)


def test_trees_are_reduced_leaf_by_leaf(here: Client, there: Client) -> None:
    for value in (tree, lambda number: [np.full(100_000, number, F4), np.full(3, number, F4)]):
        ids = [here.put(value(1)), there.put(value(2)), here.put(value(3))]
        made = here.reduce(ids).wait(timeout=10)
        for client in (here, there):
            assert equal(client.get(made.target, timeout=10), value(6))
        assert made.used == ids


@pytest.mark.parametrize("dtype", ["bfloat16", "float64", "int8", "uint16"])
def test_every_size_of_elements(here: Client, there: Client, dtype: str) -> None:
    kind = pytest.importorskip("ml_dtypes").bfloat16 if dtype == "bfloat16" else dtype
    ids = [here.put(tree(1, kind)), there.put(tree(2, kind))]
    for op, wanted in (("sum", 3), ("max", 2)):
        target = here.reduce(ids, op=op).target
        assert equal(there.get(target, timeout=10), tree(wanted, kind))


def test_the_mean_of_trees(here: Client, there: Client) -> None:
    ids = [here.put(tree(1)), there.put(tree(4)), ObjectId.random()]
    target = here.reduce(ids, op="mean", num_objects=2).target
    assert equal(there.get(target, timeout=10), tree(2.5))


def test_late_sources_everyone_reads_and_coroutines(here: Client, there: Client) -> None:
    big = np.ones(300_000, F4)
    ids = [here.put({"a": big, "b": [1 * big]}), ObjectId.random()]
    plain, ring = here.reduce(ids), here.reduce(ids, everyone_reads=True)
    later = asyncio.run(here.areduce(ids))
    there.put({"a": 2 * big, "b": [1 * big]}, id=ids[1])
    for made in (plain, ring, later):
        assert made.wait(timeout=10).used == ids
        for client in (here, there):
            got = client.get(made.target, timeout=10)
            assert equal(got, {"a": 3 * big, "b": [2 * big]})


def test_modules_and_tensors(here: Client, there: Client) -> None:
    torch = pytest.importorskip("torch")
    models = [torch.nn.Sequential(torch.nn.Conv2d(3, 4, 5), torch.nn.Linear(7, 8)) for _ in "ab"]
    states = [model.state_dict() for model in models]
    ids = [here.put(states[0]), there.put(states[1])]
    total = there.get(here.reduce(ids).target, timeout=10)
    assert type(total) is type(states[0]) and total._metadata == states[0]._metadata
    for name, tensor in total.items():
        assert tensor.equal(states[0][name] + states[1][name])
    models[0].load_state_dict(total)
    parameters = [dict(model.named_parameters()) for model in models]
    ids = [here.put(parameters[0]), there.put(parameters[1])]
    made = there.get(here.reduce(ids).target, timeout=10)
    assert all(type(one) is torch.nn.Parameter and one.requires_grad for one in made.values())


def changed(**changes: Any) -> dict[str, Any]:
    return {**tree(1), **changes}


DIFFERENT: list[tuple[Any, str]] = [
    (changed(weight=np.ones((100, 8), F4)), r"\['weight'\] is array float32 \(100, 7\) in .*, but"),
    (changed(weight=np.ones((7, 100), F4).T), r"\['weight'\] .* \(100, 7\), Fortran order in"),
    (changed(layers=[]), r"\['layers'\]\[0\]|\[''\]"),
    (changed(layers=({}, ())), r"\['layers'\] is a list in .* but a tuple in"),
    (changed(more=np.ones(3, F4)), r"only source .* has \['more'\]"),
    (
        {**changed(), "layers": [tree(1)["layers"][0], (np.ones(1, F4), "text", 8, None)]},
        "7 in .*8",
    ),
    ({"layers": 1, **tree(1)}, r"\['weight'\] where .*\['layers'\]"),
    (np.ones(3, F4), "the whole value is a dict .* array float32"),
]


@pytest.mark.parametrize(("other", "says"), DIFFERENT)
@pytest.mark.parametrize("late", [False, True])
def test_the_leaf_that_differs_is_named(
    here: Client, there: Client, other: Any, says: str, late: bool
) -> None:
    ids = [here.put(tree(1)), ObjectId.random()]
    if not late:
        there.put(other, id=ids[1])
    made = here.reduce(ids)
    there.put(other, id=ids[1]) if late else None
    with pytest.raises(hoplite.InvalidArgumentError, match=says) as raised:
        made.wait(timeout=10)
    assert all(id.hex() in str(raised.value) for id in ids)
    assert "{" not in str(raised.value)
    with pytest.raises(hoplite.InvalidArgumentError, match=says):
        asyncio.run(waited(here.reduce(ids)))
    for get in (here.get, there.get, lambda id: asyncio.run(here.aget(id))):
        with pytest.raises(hoplite.InvalidArgumentError, match=says):
            get(made.target)


async def waited(made: hoplite.Reduction) -> None:
    await made


SHARED = np.ones(3, F4)
NO_TREES: list[tuple[Any, str]] = [
    (changed(step=np.ones(3, np.int64)), r"\['step'\] is of dtype int64, others of float32"),
    (changed(loss=np.float32(1)), r"\['loss'\] is of type float32"),
    (changed(when=np.zeros(3, "M8[s]")), r"\['when'\] is of dtype <M8\[s\]"),
    ([SHARED, SHARED], r"\[1\] is there twice"),
    ([1, 2], "it has no arrays"),
    ([np.ones(0)], "its arrays are empty"),
]


@pytest.mark.parametrize(("value", "says"), NO_TREES)
def test_what_is_no_tree_says_why(here: Client, value: Any, says: str) -> None:
    id = here.put(value)
    with pytest.raises(hoplite.InvalidArgumentError, match=rf"source {id} is no array.*{says}"):
        here.reduce([id])


def test_with_a_dtype_arrays_are_expected(here: Client) -> None:
    with pytest.raises(
        hoplite.InvalidArgumentError, match="of dicts and lists leave out the dtype"
    ):
        here.reduce([here.put(tree(1))], dtype="float32").wait(timeout=10)


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
