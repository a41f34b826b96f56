"""Channels: everybody has the newest version, of one publisher at a time."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import hoplite
import numpy as np
import pytest
from hoplite import Client, ConflictError, LocalCluster, PublisherGoneError
from waiting import until

SOON = 60.0

PUBLISHES = """
import sys, time, numpy as np, hoplite
channel = hoplite.connect(sys.argv[1]).channel(sys.argv[2])
print(channel.publish({"w": np.full(100_000, 7.0)}, version=7, timeout=60), flush=True)
time.sleep(600)
"""


def weights_of(version: int) -> dict[str, np.ndarray]:
    """Of two layers; each element says which version it is of."""
    return {"w": np.full(50_000, float(version)), "b": np.full(3, float(version))}


def is_whole(snapshot: hoplite.Snapshot) -> bool:
    """Both layers are of its version."""
    return all((snapshot[name] == snapshot.version).all() for name in ("w", "b"))


def test_everybody_has_the_newest(here: Client, there: Client) -> None:
    with here.channel("newest") as trainer, there.channel("newest") as worker:
        assert worker.latest(timeout=SOON) is None
        assert trainer.publish(weights_of(1), timeout=SOON) == 1
        assert trainer.publish(weights_of(5), version=5, timeout=SOON) == 5
        assert trainer.publish(weights_of(6), timeout=SOON) == 6
        got = worker.get(at_least=6, timeout=SOON)
        assert (got.version, set(got)) == (6, {"w", "b"})
        assert is_whole(got)
        assert worker.latest(timeout=SOON) == 6
        assert repr(got) == "<Snapshot of version 6: dict>"
        with there.channel("newest") as late:
            assert late.get(timeout=SOON).version == 6


def test_who_waits_gets_the_version_that_it_waits_for(here: Client, there: Client) -> None:
    with here.channel("waits") as trainer, there.channel("waits") as worker:
        later = threading.Timer(0.1, lambda: [trainer.publish(weights_of(n)) for n in (1, 2, 3)])
        later.start()
        assert worker.get(at_least=3, timeout=SOON).version == 3
        later.join()
        with pytest.raises(hoplite.TimeoutError):
            worker.get(at_least=4, timeout=0.05)


def test_a_plain_loop_follows_until_the_publisher_has_gone(here: Client, there: Client) -> None:
    seen = []

    def follow(worker: hoplite.Channel) -> None:
        with pytest.raises(hoplite.PublisherGoneError):
            for weights in worker.updates():
                assert is_whole(weights)
                seen.append(weights.version)

    with there.channel("plain") as worker:
        with here.channel("plain", keep=2) as trainer:
            trainer.publish(weights_of(1))
            thread = threading.Thread(target=follow, args=(worker,))
            thread.start()
            until(lambda: str(seen), "[1]")
            trainer.publish(weights_of(2))
            until(lambda: str(seen), "[1, 2]")
        thread.join(10)
    assert not thread.is_alive()
    assert seen == [1, 2]


def test_a_worker_follows_and_never_steps_back(here: Client, there: Client) -> None:
    last = 30

    async def follow(worker: hoplite.Channel) -> list[int]:
        seen = []
        async for weights in worker.updates():
            assert is_whole(weights)
            seen.append(weights.version)
            if weights.version == last:
                break
        return seen

    with here.channel("follow", keep=1) as trainer, there.channel("follow") as worker:
        thread = threading.Thread(
            target=lambda: [trainer.publish(weights_of(n)) for n in range(1, last + 1)]
        )
        thread.start()
        seen = asyncio.run(asyncio.wait_for(follow(worker), SOON))
        thread.join()
        assert seen == sorted(set(seen))
        assert asyncio.run(worker.aget(at_least=last, timeout=SOON)).version == last


def objects_left(client: Client, count: int) -> bool:
    """Whether the cluster has so many objects, soon: deletions take a moment."""
    deadline = time.monotonic() + SOON
    while (there := client.status(timeout=SOON).object_count) != count:
        assert time.monotonic() < deadline, f"{there} objects, {count} are to be left"
        time.sleep(0.01)
    return True


def test_old_versions_go(here: Client, there: Client) -> None:
    before = there.status(timeout=SOON).object_count
    with here.channel("old", keep=2) as trainer:
        for version in range(50):
            trainer.publish(weights_of(version), version=version, timeout=SOON)
        assert objects_left(there, before + 2)
    assert objects_left(there, before)


def test_a_second_publisher_is_refused_and_a_successor_fences(here: Client, there: Client) -> None:
    with here.channel("fence") as first, there.channel("fence") as reader:
        first.publish(weights_of(9), version=9, timeout=SOON)
        with there.channel("fence") as second, pytest.raises(ConflictError, match="take_over"):
            second.publish(weights_of(1), timeout=SOON)
        with there.channel("fence", take_over=True, timeout=SOON) as successor:
            kept = reader.get(timeout=SOON)
            assert kept.version == 9
            with pytest.raises(ConflictError, match="another publisher"):
                first.publish(weights_of(10), timeout=SOON)
            kept = reader.get(timeout=SOON)
            assert is_whole(kept), "what was published stays"
            assert successor.publish(weights_of(10), timeout=SOON) == 10
            assert reader.get(timeout=SOON).version == 10
        with pytest.raises(ConflictError, match="another publisher"):
            first.publish(weights_of(11), timeout=SOON)


def test_a_successor_may_go_on_at_its_checkpoint(here: Client, there: Client) -> None:
    with here.channel("checkpoint") as first, there.channel("checkpoint") as reader:
        first.publish(weights_of(9), version=9, timeout=SOON)
        with there.channel("checkpoint", take_over=True, timeout=SOON) as successor:
            assert successor.publish(weights_of(4), version=4, timeout=SOON) == 4
            assert reader.get(timeout=SOON).version == 4
            assert reader.get(at_least=4, timeout=SOON).version == 4


def test_a_killed_publisher_is_missed_and_succeeded(cluster: LocalCluster, there: Client) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", PUBLISHES, cluster.socket(0), "killed"],
        stdout=subprocess.PIPE,
        text=True,
    )
    with child, there.channel("killed") as reader:
        assert child.stdout is not None
        assert child.stdout.readline() == "7\n"
        assert reader.get(timeout=SOON).version == 7
        os.kill(child.pid, signal.SIGKILL)
        with pytest.raises(PublisherGoneError, match="its last version was 7"):
            reader.get(at_least=8, timeout=SOON)
        with there.channel("killed", take_over=True, timeout=SOON) as successor:
            assert reader.get(timeout=SOON)["w"].sum() == 700_000, "it is the successor's now"
            assert successor.publish(weights_of(8), timeout=SOON) == 8
            assert reader.get(at_least=8, timeout=SOON).version == 8


def test_one_version_is_asked_for(here: Client, there: Client) -> None:
    with here.channel("exactly") as trainer, there.channel("exactly") as worker:
        trainer.publish(weights_of(2), version=2, timeout=SOON)
        assert worker.get(exactly=2, timeout=SOON).version == 2
        with pytest.raises(hoplite.TimeoutError):
            worker.get(exactly=3, timeout=0.05)
        with pytest.raises(hoplite.NotFoundError, match="not the newest any more: that is 2"):
            asyncio.run(worker.aget(exactly=1, timeout=SOON))


def address_of(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


def test_what_did_not_change_is_not_sent_again(here: Client, there: Client) -> None:
    frozen, head = np.ones((300, 300)), np.zeros(3)
    with here.channel("frozen") as trainer, there.channel("frozen") as worker:
        trainer.publish({"base": {"frozen": frozen}, "head": head}, timeout=SOON)
        first = worker.get(timeout=SOON)
        head += 1
        trainer.publish({"base": {"frozen": frozen}, "head": head}, timeout=SOON)
        second = worker.get(at_least=2, timeout=SOON)
        assert address_of(second["base"]["frozen"]) == address_of(first["base"]["frozen"])
        assert second["head"].tolist() == [1, 1, 1]
        frozen[-1, -1] = 7
        trainer.publish({"base": {"frozen": frozen}, "head": head}, timeout=SOON)
        third = worker.get(at_least=3, timeout=SOON)
        assert (third["base"]["frozen"] == frozen).all()
        assert first["base"]["frozen"][-1, -1] == 1, "what was got does not change"


def test_of_an_array_of_which_little_changed_that_is_sent(here: Client, there: Client) -> None:
    drawn = np.random.default_rng(1)
    with here.channel("deltas", deltas=True) as trainer, there.channel("deltas") as worker:
        value = {"w": drawn.integers(0, 1 << 16, 200_000, np.uint16), "b": np.zeros(3)}
        for version in range(1, 12):
            value["w"][drawn.integers(0, 200_000, 2_000)] = version
            value["b"] += 1
            trainer.publish(value, timeout=SOON)
            got = worker.get(at_least=version, timeout=SOON)
            np.testing.assert_equal(got.value, value)
            assert not got["w"].flags.writeable
        np.testing.assert_equal(dict(worker.stream(timeout=SOON)), value)


def test_any_value_comes_back(here: Client) -> None:
    shared = np.arange(5)
    values: list[Any] = [
        np.arange(6.0).reshape(2, 3),
        b"bytes",
        {"a": shared, "b": shared, "c": shared[::2], "d": np.asfortranarray(np.ones((2, 3)))},
        {"a.b": np.ones(1), "a": {"b": np.zeros(2)}},
        {1: [np.ones(2), "text"], ("x", 2): None},
        {"empty": np.empty((0, 3), np.int8), "structured": np.zeros(2, "i4,f8")},
        {},
        "text",
    ]
    with here.channel("any") as channel:
        for value in values:
            version = channel.publish(value, timeout=SOON)
            got = channel.get(at_least=version, timeout=SOON).value
            assert type(got) is (memoryview if isinstance(value, bytes) else type(value))
            np.testing.assert_equal(bytes(got) if isinstance(value, bytes) else got, value)
        channel.publish(values[2], timeout=SOON)
        got = channel.get(at_least=len(values) + 1, timeout=SOON).value
        assert got["a"] is got["b"]
        assert not got["a"].flags.writeable


def test_tensors_come_back_as_views_to_load(here: Client, there: Client) -> None:
    torch = pytest.importorskip("torch")
    model, other = (
        torch.nn.Sequential(torch.nn.Linear(200, 100), torch.nn.BatchNorm1d(100)) for _ in "ab"
    )
    with here.channel("torch") as trainer, there.channel("torch") as worker:
        trainer.publish(model.state_dict(), timeout=SOON)
        got = worker.get(timeout=SOON)
        assert type(got.value) is type(model.state_dict())
        other.load_state_dict(got, assign=True)
        assert torch.equal(other[0].weight, model[0].weight)
        streamed = dict(worker.stream(timeout=SOON))
        assert list(streamed) == list(model.state_dict())
        assert all(torch.equal(streamed[name], one) for name, one in model.state_dict().items())
        mine = {name: torch.zeros_like(one) for name, one in model.state_dict().items()}
        got.copy_to(mine)
        assert all(torch.equal(mine[name], one) for name, one in model.state_dict().items())


def test_parts_are_streamed_by_their_names(here: Client, there: Client) -> None:
    with here.channel("streamed") as trainer, there.channel("streamed") as worker:
        layer = {"w": np.ones(20_000, np.float32), "b": np.asfortranarray(np.ones((2, 3)))}
        trainer.publish({"layer": layer, "steps": 3}, timeout=SOON)
        streamed = dict(worker.stream(timeout=SOON))
        assert list(streamed) == ["layer.w", "layer.b"]
        np.testing.assert_equal(streamed["layer.w"], layer["w"])
        np.testing.assert_equal(streamed["layer.b"], layer["b"])
        with pytest.raises(hoplite.TimeoutError):
            worker.stream(at_least=2, timeout=0.05)


def leaves(value: Any, path: str = "") -> dict[str, Any]:
    """The arrays and tensors of a value by the keys to them."""
    entries: Any = ()
    if isinstance(value, dict):
        entries = value.items()
    elif isinstance(value, (list, tuple)):
        entries = enumerate(value)
    elif hasattr(value, "dtype") and not isinstance(value, np.generic):
        return {path: value}
    found: dict[str, Any] = {}
    for key, one in entries:
        found |= leaves(one, f"{path}.{key}" if path else str(key))
    return found


def emptied(value: Any) -> Any:
    """The same, with other elements and other numbers."""
    if isinstance(value, dict):
        return {key: emptied(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([emptied(one) for one in value])
    if hasattr(value, "detach"):
        return value.detach().clone().zero_()
    if isinstance(value, np.ndarray):
        return np.zeros(value.shape, value.dtype)
    return None


async def newest(channel: hoplite.Channel) -> hoplite.Snapshot:
    return await anext(channel.updates())


def same(got: Any, wanted: Any) -> None:
    if hasattr(wanted, "detach"):
        assert got.dtype == wanted.dtype and got.shape == wanted.shape
        assert bool((got == wanted).all())
    else:
        assert got.dtype == wanted.dtype
        np.testing.assert_array_equal(got, wanted)


def arrays_of_numpy() -> dict[str, Any]:
    twice, other = np.arange(4.0), np.arange(6).reshape(2, 3)
    structured = np.zeros(2, "i4,f8")
    structured["f1"] = 0.5
    return {
        "nested": {"a": {"b": other}, "c": twice},
        "lists": {"x": [other, {"y": twice}], "t": (np.ones(2), [np.zeros(3)]), "n": [1, None]},
        "one at two keys": {"a": twice, "b": {"c": twice}, "d": [twice]},
        "like a number": {"#1": twice, "x": [other]},
        "orders": {"F": np.asfortranarray(other), "step": other[:, ::2], "reversed": twice[::-1]},
        "shapes": {"none": np.array(5.0), "empty": np.empty((0, 3), np.int8)},
        "dtypes": {
            "bool": np.array([True, False]),
            "half": np.ones(3, np.float16),
            "structured": structured,
            "two structures": np.array([structured, structured]),
            "time": np.array(["2026-11-29"], "M8[D]"),
            "other end": np.arange(3, dtype=">i4"),
        },
        "classes": {"records": structured.view(np.recarray), "chars": np.char.array(["a", "b"])},
        "numbers beside": {"w": twice, "step": 3, "rate": 0.1, "none": None, "name": "x"},
        "large": {"w": np.arange(100_000.0), "same": [np.arange(100_000.0)]},
    }


def tensors_of_torch() -> dict[str, Any]:
    torch = pytest.importorskip("torch")
    first, second = torch.nn.Linear(4, 4, bias=False), torch.nn.Linear(4, 4, bias=False)
    second.weight = first.weight
    tied = torch.nn.Sequential(first, second)
    noted = torch.nn.Parameter(torch.arange(4.0))
    noted.loader = "x"
    grown = torch.arange(6.0).reshape(2, 3)
    optimizer = torch.optim.Adam(tied.parameters())
    tied(torch.ones(2, 4)).sum().backward()
    optimizer.step()
    return {
        "tied": tied.state_dict(keep_vars=True),
        "tied, detached": tied.state_dict(),
        "orders": {"turned": grown.t(), "step": grown[:, ::2], "one": torch.tensor(3.0)},
        "dtypes": {"bfloat16": grown.bfloat16(), "bool": grown > 2, "int8": grown.to(torch.int8)},
        "attributes": {"noted": noted, "again": [noted]},
        "optimizer": optimizer.state_dict(),
    }


@pytest.mark.parametrize("kind", [arrays_of_numpy, tensors_of_torch])
@pytest.mark.parametrize("deltas", [False, True])
def test_every_way_gives_the_same(here: Client, there: Client, kind: Any, deltas: bool) -> None:
    """A table: values, and the ways to read them."""
    with (
        here.channel(f"ways {kind.__name__} {deltas}", deltas=deltas) as trainer,
        there.channel(f"ways {kind.__name__} {deltas}") as worker,
    ):
        for name, value in kind().items():
            version = trainer.publish(value, timeout=SOON)
            wanted = leaves(value)
            target = emptied(value)
            worker.get(at_least=version, timeout=SOON).copy_to(target)
            ways = {
                "get": leaves(worker.get(at_least=version, timeout=SOON).value),
                "aget": leaves(asyncio.run(worker.aget(at_least=version, timeout=SOON)).value),
                "updates": leaves(asyncio.run(newest(worker)).value),
                "plain updates": leaves(next(worker.updates()).value),
                "stream": dict(worker.stream(at_least=version, timeout=SOON)),
                "copy_to": leaves(target),
            }
            for way, got in ways.items():
                assert set(got) == set(wanted), (name, way)
                for path, one in wanted.items():
                    same(got[path], one)
            if name == "numbers beside":
                assert (target["step"], target["none"], target["name"]) == (3, None, "x")
            if name == "optimizer":
                assert target["param_groups"] == value["param_groups"]


def test_names_that_are_equal_are_told_apart(here: Client) -> None:
    with here.channel("equal names") as channel:
        value: Any = {"a.b": np.ones(1), "a": {"b": np.zeros(2)}, "#1": np.ones(3)}
        channel.publish(value, timeout=SOON)
        streamed = dict(channel.stream(timeout=SOON))
        assert {name: one.size for name, one in streamed.items()} == {"a.b": 1, "#1'": 2, "#1": 3}
        value["itself"] = value
        channel.publish(value, timeout=SOON)
        got = channel.get(at_least=2, timeout=SOON).value
        assert got["itself"] is got and got["#1"].size == 3


def test_copies_fit_or_are_refused(here: Client) -> None:
    with here.channel("copies") as channel:
        channel.publish({"w": np.ones(3), "deep": {"b": np.ones(2, np.int8)}}, timeout=SOON)
        got = channel.get(timeout=SOON)
        mine = {"w": np.zeros(3), "deep": {"b": np.zeros(2, np.int8)}}
        got.copy_to(mine)
        np.testing.assert_equal(mine, got.value)
        fixed = np.zeros(3)
        fixed.flags.writeable = False
        for target, wrong in (
            ({"w": np.zeros(4), "deep": mine["deep"]}, r"'w': the target is float64 \(4,\)"),
            ({"w": mine["w"], "deep": {"b": np.zeros(2)}}, "'b': the target is float64"),
            ({"w": mine["w"]}, "only version 1 has 'deep'"),
            ({**mine, "x": 1}, "only the target has 'x'"),
            ({"w": 1.0, "deep": mine["deep"]}, "'w': the target is a float, but the version has"),
            ({"w": mine["w"], "deep": [1]}, "'deep': the target is a list, but the version has a"),
            ({"w": fixed, "deep": mine["deep"]}, "'w': the target can't be written to"),
        ):
            with pytest.raises(hoplite.InvalidArgumentError, match=wrong):
                got.copy_to(target)
        channel.publish(np.ones(3), timeout=SOON)
        with pytest.raises(hoplite.InvalidArgumentError, match="holds a ndarray, no dict"):
            channel.get(at_least=2, timeout=SOON).copy_to({})


def test_parts_of_a_program_in_another_language_are_a_dict(here: Client) -> None:
    w = np.arange(6, dtype=np.float32)
    with here.channel("foreign") as channel:
        parts = [("w", "float32", (2, 3), b"", w), ("notes", "", (), b"", b"text")]
        channel._core.publish(parts, b"")
        got = channel.get(timeout=SOON)
        np.testing.assert_equal(got["w"], w.reshape(2, 3))
        assert bytes(got["notes"]) == b"text"
        channel._core.publish([("w", "float32", (4, 3), b"not json", w)], b"")
        with pytest.raises(hoplite.InvalidArgumentError, match="part 'w' is said to be float32"):
            channel.get(at_least=2, timeout=SOON)


def test_bad_input_is_named(here: Client) -> None:
    with pytest.raises(hoplite.InvalidArgumentError, match="keep is 0"):
        here.channel("bad", keep=0)
    with here.channel("bad") as channel:
        channel.publish(weights_of(3), version=3, timeout=SOON)
        with pytest.raises(hoplite.InvalidArgumentError, match="the next one is 4"):
            channel.publish(weights_of(3), version=3, timeout=SOON)
    with here.register("no channel") as register, here.channel("no channel") as channel:
        register.compare_and_set(0, b"x", timeout=SOON)
        with pytest.raises(hoplite.InvalidArgumentError, match="no channel's head"):
            channel.get(timeout=SOON)
