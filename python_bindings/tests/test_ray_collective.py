"""The back end `hoplite` of ray.util.collective on a real Ray cluster of two nodes."""

from __future__ import annotations

import os
import signal
from typing import Any

import hoplite
import numpy as np
import pytest
from ray_cluster import HERE, THERE, objects, ray, remote, wait_until
from test_ray_failures import daemons, kill_the_node_there, node_there

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
hoplite.ray.setup()
from hoplite.ray import _collective  # noqa: E402 - needs torch, if that is there
from ray.experimental import collective as experimental  # noqa: E402
from ray.util import collective  # noqa: E402

pytestmark = pytest.mark.usefixtures("two_hosts")

RANKS = 3
BIG = 100_000


def define_member() -> Any:
    """Inside a function, so that it travels by value: workers can't import this file."""

    class Member:
        def __init__(self, rank: int) -> None:
            hoplite.ray.setup()
            self.rank = rank

        def init(self, name: str, patience: float = 30.0) -> None:
            from hoplite.ray import _collective  # noqa: PLC0415 - where there is Ray

            _collective.JOINS_IN = patience
            collective.init_collective_group(RANKS, self.rank, "hoplite", name)

        def destroy(self, name: str) -> None:
            collective.destroy_collective_group(name)

        def every_operation(self, name: str, torch_too: bool) -> Any:
            """What this rank gets of each, of float32 that is its rank + 1."""
            rank, left, right = self.rank, (self.rank - 1) % RANKS, (self.rank + 1) % RANKS

            def tensor(value: float) -> Any:
                array = np.full((2, BIG), value, np.float32)
                return torch.from_numpy(array) if torch_too else array

            mine, got = tensor(rank + 1), {}
            got["allreduce"] = all_ = mine + 0
            collective.allreduce(all_, name)
            got["max"] = most = mine + 0
            collective.allreduce(most, name, collective.types.ReduceOp.MAX)
            got["reduce"] = at_one = mine + 0
            collective.reduce(at_one, 1, name, collective.types.ReduceOp.PRODUCT)
            got["broadcast"] = sent = mine + 0
            collective.broadcast(sent, 2, name)
            outs = [tensor(0) for _ in range(RANKS)]
            collective.allgather(outs, mine, name)
            got.update({f"allgather {one}": out for one, out in enumerate(outs)})
            got["reducescatter"] = part = tensor(0)
            collective.reducescatter(part, [mine * to for to in range(RANKS)], name)
            got["recv"] = came = tensor(0)
            collective.send(mine, right, name)
            collective.recv(came, left, name)
            collective.barrier(name)
            return {what: set(np.unique(np.asarray(value))) for what, value in got.items()}

        def broadcasts(self, name: str, count: int) -> float:
            array = np.zeros(10)
            for number in range(count):
                if self.rank == number % RANKS:
                    array[:] = number
                collective.broadcast(array, number % RANKS, name)
            return float(array[0])

        def allreduce(self, name: str, dtype: str = "float64") -> float:
            array = np.ones(3, dtype)
            collective.allreduce(array, name)
            return float(array[0])

        def reduce(self, name: str, dtype: str) -> None:
            collective.reduce(np.ones(3, dtype), 0, name)

        def broadcast_and_leave(self, name: str) -> float:
            array = np.full(10 * BIG, float(self.rank + 1))
            collective.broadcast(array, 0, name)
            collective.destroy_collective_group(name)
            return float(array[-1])

        def pid(self) -> int:
            return os.getpid()

    return remote()(Member)


Member = define_member()


@pytest.fixture(scope="module")
def members(two_hosts: Any) -> Any:
    return some_members()


def some_members() -> Any:
    places = [THERE, HERE, THERE]
    return [Member.options(resources=place).remote(i) for i, place in enumerate(places)]


def wanted(rank: int) -> dict[str, set[float]]:
    return {
        "allreduce": {6.0},
        "max": {3.0},
        "reduce": {6.0} if rank == 1 else {rank + 1.0},
        "broadcast": {3.0},
        "allgather 0": {1.0},
        "allgather 1": {2.0},
        "allgather 2": {3.0},
        "reducescatter": {6.0 * rank},
        "recv": {(rank - 1) % RANKS + 1.0},
    }


@pytest.mark.parametrize("how", ["in the actors", "declared", "experimental"])
def test_every_operation(how: str, members: Any) -> None:
    before, name = objects(), f"a group {how}"
    if how == "in the actors":
        ray.get([one.init.remote(name) for one in members])
    elif how == "declared":
        collective.create_collective_group(members, RANKS, [0, 1, 2], "hoplite", name)
    else:
        experimental.create_collective_group(members, "hoplite", name)
    for torch_too in (False, True):
        got = ray.get([one.every_operation.remote(name, torch_too) for one in members])
        assert got == [wanted(rank) for rank in range(RANKS)]
    assert ray.get([one.broadcasts.remote(name, 40) for one in members]) == [39.0] * RANKS
    assert len(objects() - before) < 40  # those of long ago are gone
    if how == "experimental":
        experimental.destroy_collective_group(name)
    else:
        ray.get([one.destroy.remote(name) for one in members])
    wait_until(lambda: objects() <= before, "the group leaves nothing")


def test_a_group_of_the_same_name_later(members: Any) -> None:
    for _ in range(2):
        ray.get([one.init.remote("again") for one in members])
        assert ray.get([one.allreduce.remote("again") for one in members]) == [3.0] * RANKS
        assert ray.get(members[0].broadcast_and_leave.remote("again")) == 1.0
        # What it put is there for those who come later.
        others = [one.broadcast_and_leave.remote("again") for one in members[1:]]
        assert ray.get(others) == [1.0, 1.0]


def test_a_rank_that_dies_ends_the_waiting(two_hosts: Any) -> None:
    members = some_members()
    ray.get([one.init.remote("dies") for one in members])
    waiting = [one.allreduce.remote("dies") for one in members[:2]]
    os.kill(ray.get(members[2].pid.remote()), signal.SIGKILL)
    for call in waiting:
        with pytest.raises(hoplite.PeerLostError, match="group 'dies': rank 2 has died"):
            ray.get(call, timeout=20)
    with pytest.raises(hoplite.PeerLostError, match="rank 2 has died"):
        ray.get(members[0].allreduce.remote("dies"), timeout=20)
    ray.get([one.destroy.remote("dies") for one in members[:2]], timeout=20)


def test_a_node_that_is_away_for_a_while_ends_nothing(two_hosts: Any) -> None:
    """Twice: its ranks say each time that they live. Then one dies, with the node away."""
    members = some_members()
    ray.get([one.init.remote("away") for one in members])
    (pid,) = daemons("node", node_there())
    for _ in range(2):
        assert ray.get([one.allreduce.remote("away") for one in members]) == [3.0] * RANKS
        os.kill(pid, signal.SIGSTOP)
        calls = [one.allreduce.remote("away") for one in members]
        wait_until(lambda: node_there() not in nodes(), "the node is lost")
        os.kill(pid, signal.SIGCONT)
        assert ray.get(calls, timeout=60) == [3.0] * RANKS
    os.kill(pid, signal.SIGSTOP)
    waiting = members[1].allreduce.remote("away")
    wait_until(lambda: node_there() not in nodes(), "the node is lost")
    os.kill(ray.get(members[0].pid.remote()), signal.SIGKILL)
    os.kill(pid, signal.SIGCONT)
    with pytest.raises(hoplite.PeerLostError, match="rank 0 has died"):
        ray.get(waiting, timeout=60)
    ray.get([one.destroy.remote("away") for one in members[1:]], timeout=20)


def nodes() -> set[str]:
    """Hoplite's, which have not been lost."""
    return {node.name for node in hoplite.ray._job.client().status().nodes}


def test_a_rank_whose_node_is_lost_ends_the_group(two_hosts: Any) -> None:
    """Those beside the node hear why, the other one hears of them; a new group works."""
    members = some_members()
    ray.get([one.init.remote("node lost") for one in members])
    assert ray.get([one.allreduce.remote("node lost") for one in members]) == [3.0] * RANKS
    kill_the_node_there()
    said = "lost its node", "rank [02] has died", "lost its node"
    for one, why in zip(members, said, strict=True):
        with pytest.raises(hoplite.PeerLostError, match=why):
            ray.get(one.allreduce.remote("node lost"), timeout=30)
    ray.get([one.destroy.remote("node lost") for one in members], timeout=20)
    ray.get([one.init.remote("after it") for one in members], timeout=60)
    assert ray.get([one.allreduce.remote("after it") for one in members]) == [3.0] * RANKS


def test_a_rank_that_is_missing(members: Any) -> None:
    with pytest.raises(hoplite.TimeoutError, match=r"after 0.5 s these ranks are missing: 1, 2"):
        ray.get(members[0].init.remote("incomplete", 0.5), timeout=20)
    with pytest.raises(hoplite.TimeoutError, match="ray/group/late"):
        ray.get(members[1].init.remote("late", 0.5), timeout=20)


def test_a_device_is_refused() -> None:
    with pytest.raises(hoplite.InvalidArgumentError, match="not meta"):
        _collective._plain(torch.empty(3, device="meta"))
    with pytest.raises(hoplite.InvalidArgumentError, match="each of 2 devices"):
        _collective._one([np.ones(1)] * 2)


def test_arrays_that_differ(members: Any) -> None:
    ray.get([one.init.remote("differ") for one in members])
    dtypes = ["float64", "float64", "float32"]
    calls = [
        one.allreduce.remote("differ", dtype) for one, dtype in zip(members, dtypes, strict=True)
    ]
    for call in calls:
        with pytest.raises(hoplite.InvalidArgumentError, match=r"float64.*float32"):
            ray.get(call, timeout=20)
    calls = [one.reduce.remote("differ", dtype) for one, dtype in zip(members, dtypes, strict=True)]
    with pytest.raises(hoplite.InvalidArgumentError, match=r"float64.*float32"):
        ray.get(calls[0], timeout=20)
    ray.get([*calls[1:], *(one.destroy.remote("differ") for one in members)], timeout=20)
