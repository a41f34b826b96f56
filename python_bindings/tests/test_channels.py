"""Channels: everybody has the newest version, of one publisher at a time."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time

import hoplite
import numpy as np
import pytest
from hoplite import Client, ConflictError, LocalCluster, PublisherGoneError

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


def test_a_publish_whose_answer_was_lost_is_found(here: Client, there: Client) -> None:
    with here.channel("lost") as trainer, there.channel("lost") as reader:
        trainer.publish(weights_of(1), timeout=SOON)
        number = trainer._number
        trainer.publish(weights_of(2), timeout=SOON)
        # As if that had ended without an answer.
        trainer._number, trainer._version, trainer._published = number, 1, 1
        assert trainer.publish(weights_of(3), timeout=SOON) == 3
        trainer._number, trainer._version, trainer._published = number, 1, 1
        with pytest.raises(hoplite.InvalidArgumentError, match="version 2"):
            trainer.publish(weights_of(2), version=2, timeout=SOON)
        assert reader.get(timeout=SOON).version == 3


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
