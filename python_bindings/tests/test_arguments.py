"""Arguments of a wrong type, or that make no sense, are named in our words."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import hoplite
import numpy as np
import pytest
from hoplite import Client, ObjectId

X = ObjectId.from_name("x")
Call = Callable[[Any], Any]

WRONG: list[tuple[Call, str]] = [
    (lambda c: c.get("weights"), r"get: id: an ObjectId .* the str 'weights' \(ObjectId.from_name"),
    (lambda c: c.get(None), "get: id: .* NoneType"),
    (lambda c: c.get(X, timeout="5"), "get: timeout: seconds, .* the str '5'$"),
    (lambda c: c.put(1, metadata=[1]), "metadata: a dict expected, not .*1"),
    (lambda c: c.fail(X, None), "fail: error: a text or an exception expected, not None"),
    (lambda c: c.get(X, only_if_owned="yes"), "get: only_if_owned: True or False"),
    (lambda c: asyncio.run(c.aget("weights")), "aget: id: .*'weights'"),
    (lambda c: c.put(1, id="weights"), "put: id: .*'weights'"),
    (lambda c: c.put(1, owned=7), "put: owned: True or False .* the int 7"),
    (lambda c: asyncio.run(c.aput(1, id=b"w")), "aput: id: .* bytes"),
    (lambda c: c.create(3, id="weights"), "create: id: .*'weights'"),
    (lambda c: c.create("three"), "create: shape: integers expected"),
    (lambda c: c.create((2, 3.5)), "create: shape: integers expected"),
    (lambda c: c.get_many("weights"), "get_many: ids: a list of ObjectIds .* the str 'weights'"),
    (lambda c: c.get_many(X), "get_many: ids: a list of ObjectIds expected"),
    (lambda c: c.get_many([X, "w"]), "get_many: ids: .* one with the str 'w'"),
    (lambda c: c.wait(X), "wait: ids: a list of ObjectIds expected"),
    (lambda c: c.wait([X, 7]), "wait: ids: .* one with the int 7"),
    (lambda c: c.wait([X], num_returns="1"), "wait: num_returns: an integer"),
    (lambda c: c.reduce([X, "w"], dtype="int8"), "reduce: ids: .* one with the str 'w'"),
    (lambda c: c.reduce([X], dtype="int8", op=7), "reduce: op: a text"),
    (lambda c: c.reduce([X], dtype="int8", num_objects="2"), "reduce: num_objects: an integer"),
    (lambda c: c.reduce([X], dtype="int8", target="t"), "reduce: target: .*'t'"),
    (lambda c: asyncio.run(c.areduce([X, 7], dtype="int8")), "reduce: ids: .* the int 7"),
    (lambda c: c.delete("weights"), "delete: ids: .*'weights'"),
    (lambda c: c.delete(X, timeout="5"), "delete: timeout: .*'5'"),
    (lambda c: c.own([X, None]), "own: ids: .* NoneType"),
    (lambda c: c.disown(7), "disown: ids: .* the int 7"),
    (lambda c: c.info("weights"), "info: id: .*'weights'"),
    (lambda c: c.create(3).advance("all"), "advance: nbytes: an integer .*'all'"),
    (lambda c: c.create(3).seal(timeout="5"), "seal: timeout: .*'5'"),
    (lambda c: c.reduce([X], dtype="int8").wait("5"), "wait: timeout: .*'5'"),
    (lambda _: hoplite.connect(7), "connect: socket: a path expected, not the int 7"),  # type: ignore[arg-type]
    (lambda _: hoplite.connect("/s", "5"), "connect: timeout: .*'5'"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("call", "says"), WRONG)
def test_a_wrong_type_is_named(here: Client, call: Call, says: str) -> None:
    with pytest.raises(TypeError, match=says) as raised:
        call(here)
    assert "_core" not in str(raised.value)


def test_what_numpy_counts_with_is_a_number(here: Client) -> None:
    one: Any = np.int64(1)
    seconds: Any = np.float32(10)
    shapes: list[Any] = [(5 * one, 4), 5 * one, [np.uint8(5)], np.array([5, 4]), (5, 4)]
    for shape in shapes:
        with here.create(shape, np.float32, timeout=10 * one) as draft:
            draft.array[...] = 1
        assert here.get(draft.id, timeout=seconds).shape == draft.array.shape
    ids = [draft.id, X]
    assert here.wait(ids, num_returns=one, timeout=seconds)[0] == [draft.id]
    assert here.reduce(ids, num_objects=one).wait(timeout=seconds).used == [draft.id]


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda c: c.create((-1, 2)), "shape .* negative"),
        (lambda c: c.wait([X, X]), f"{X} is there twice"),
        (lambda c: c.wait([X], num_returns=2), "num_returns is 2, of 1 ids"),
        (lambda c: c.get(X, timeout=float("nan")), "timeout: a number of seconds"),
    ],
)
def test_a_wrong_value_is_named(here: Client, call: Call, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        call(here)


def test_an_id_may_be_got_twice(here: Client) -> None:
    name = here.put(np.arange(3))
    one, other = here.get_many([name, name], timeout=10)
    assert (one == other).all()


def test_other_type_errors_stay_as_they_are(here: Client) -> None:
    with pytest.raises(TypeError, match="pickle"):
        here.put(iter(hoplite.__dict__.values()).__reduce__)
    with pytest.raises(TypeError, match=r"^put: unexpected keyword argument 'owner'"):
        here.put(1, owner=True)  # type: ignore[call-arg]
