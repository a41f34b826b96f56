"""Processes that made Refs and died: others get the objects for the grace, then nothing is left."""

from __future__ import annotations

import gc
import os
import threading
import time
from pathlib import Path
from typing import Any

import hoplite
import numpy as np
import pytest
from ray_cluster import GRACE, HERE, THERE, objects, ray, remote, used_bytes, wait_until
from test_ray_failures import drive

pytestmark = pytest.mark.usefixtures("two_hosts")

Deleted = hoplite.ObjectDeletedError


def define_maker() -> Any:
    """Inside a function, so that it travels by value: workers can't import this file."""

    class Maker:
        """Makes Refs, and may die."""

        def make(self, value: Any = None) -> hoplite.ray.Ref:
            return hoplite.ray.new_ref() if value is None else hoplite.ray.put(value)

        def total(self, refs: Any) -> hoplite.ray.Ref:
            return hoplite.ray.reduce(refs).wait(timeout=20).ref

        def pid(self) -> int:
            return os.getpid()

    return remote(max_restarts=1, max_task_retries=-1)(Maker)


Maker = define_maker()


@remote()
def first_of(ref: Any) -> float:
    return float(hoplite.ray.get(ref, timeout=30)[0])


class Waiting(threading.Thread):
    """A call that waits, and how it ends."""

    def __init__(self, call: Any) -> None:
        super().__init__(daemon=True)
        self._call = call
        self.error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self._call()
        except BaseException as error:
            self.error = error


def gone(ref: hoplite.ray.Ref) -> bool:
    try:
        hoplite.ray.get(ref, timeout=0.1)
    except TimeoutError:
        return False
    except Deleted:
        return True
    return False


def make_and_die() -> None:
    mine = [hoplite.ray.put(np.ones(100_000)) for _ in range(2)]
    maker: Any = Maker.options(resources=HERE).remote()
    made, small, never = ray.get(
        [maker.make.remote(np.ones(100_000)), maker.make.remote(b"x"), maker.make.remote()]
    )
    target = ray.get(maker.total.remote(mine))
    waiting = [
        Waiting(lambda: hoplite.ray.get(never)),
        Waiting(lambda: hoplite.ray.wait([never, made], num_returns=2)),
        Waiting(lambda: hoplite.ray.reduce([never, mine[0]]).get()),
    ]
    killed = time.monotonic()
    ray.kill(maker, no_restart=False)
    assert hoplite.ray.get(made, timeout=30)[0] == 1.0
    assert ray.get(first_of.options(resources=THERE).remote(made)) == 1.0
    assert hoplite.ray.get(target, timeout=30)[0] == 2.0
    assert bytes(hoplite.ray.get(small, timeout=30)) == b"x"
    after = ray.get(maker.make.remote(np.ones(100_000)))  # by its second life
    for ref in (made, small, never, target):
        wait_until(lambda ref=ref: gone(ref), f"{ref} is deleted", 60)  # type: ignore[misc]
        assert time.monotonic() - killed > GRACE
    for one in waiting:
        one.join(60)
        assert isinstance(one.error, Deleted)
    with pytest.raises(Deleted):
        hoplite.ray.put(b"late", never)
    assert hoplite.ray.get(after, timeout=30)[0] == 1.0
    assert hoplite.ray.get(mine[0], timeout=30)[0] == 1.0


def test_a_process_with_refs_waits_for_nothing() -> None:
    """It hears of the end of its node without an object that never comes."""
    maker: Any = Maker.options(resources=HERE).remote()
    made = [hoplite.ray.put(b"here"), ray.get(maker.make.remote(b"there"))]
    known = hoplite.ray._job.client().status(timeout=20.0).objects
    assert {ref.id for ref in made} <= {one.id for one in known}
    assert [one for one in known if one.waiters and not one.ever_owned] == []


@remote(max_retries=1, resources=THERE)
def make_twice(notes: Path) -> hoplite.ray.Ref:
    """What it makes first it takes along."""
    again = notes.exists()
    ref = hoplite.ray.put(np.full(100_000, 2.0 if again else 1.0))
    if not again:
        notes.write_text(ref.hex())
        os._exit(1)
    return ref


def test_what_dead_processes_made_stays_for_the_grace_and_then_goes(tmp_path: Path) -> None:
    before, used = objects(), used_bytes()
    ref = ray.get(make_twice.remote(tmp_path / "first"))
    first = (tmp_path / "first").read_text()
    assert hoplite.ray.get(ref, timeout=30)[0] == 2.0 and first != ref.hex()
    make_and_die()
    wait_until(lambda: first not in objects(), "what the task made first is deleted", 60)
    assert hoplite.ray.get(ref, timeout=30)[0] == 2.0
    del ref
    gc.collect()
    wait_until(lambda: objects() <= before, "nothing is left of it", 60)
    wait_until(lambda: used_bytes() <= used, "nor in any store", 60)


KILLED_NODE = """
import os, signal, time
import hoplite
from pathlib import Path

hoplite.ray.init(memory="16MiB")
early, late = hoplite.ray.new_ref(), hoplite.ray.put(b"lost with the node")
job = hoplite.ray._job.Job.of_this_process()


def until(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def owners(ref):
    try:
        return hoplite.ray._job.client().info(ref.id, 1).owners
    except (hoplite.UnavailableError, hoplite.TimeoutError):
        return 0  # the node is being started again


def the_node():
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            arguments = (folder / "cmdline").read_text().split("\\0")
        except OSError:
            continue
        if f"--socket={job.place.socket(job.node_id)}" in arguments:
            return int(folder.name)


assert owners(early) == owners(late) == 1
os.kill(the_node(), signal.SIGKILL)
# The node that was lost still counts, for the grace; the one that is there now owns both again.
until(lambda: owners(early) == owners(late) == 2)
hoplite.ray.put(b"put after it", early)
assert bytes(hoplite.ray.get(early, timeout=20)) == b"put after it"
id = early.id
del early
until(lambda: owners(hoplite.ray.Ref(id, None)) == 1)
print('"done"', flush=True)
"""


def test_a_node_that_is_started_again_hears_what_is_owned(two_hosts: Any) -> None:
    status, lines = drive(KILLED_NODE, address=two_hosts.address)
    assert status == 0 and lines == ['"done"']
