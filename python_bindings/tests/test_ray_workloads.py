"""The workloads of examples/ray bear workers that fail: no step waits for them."""

from __future__ import annotations

import itertools
import os
from typing import Any

import hoplite
import numpy as np
import pytest
from ray_cluster import ray, remote, wait_until

# isort: split
import actors
import async_sgd
import serving
import transports


@pytest.mark.usefixtures("two_hosts")
def test_a_sum_is_of_the_workers_that_live() -> None:
    @remote()
    class Worker:
        def gradient(self, value: float, into: Any) -> Any:
            if value < 0:
                os._exit(1)
            return np.full(3, value, np.float32)

    workers = [Worker.remote() for _ in range(3)]  # type: ignore[attr-defined]
    transport = transports.RayTransport()
    first = transport.call(workers[0].gradient, -1.0)
    ray.wait([first], timeout=30)  # it came first, and is none
    others = [transport.call(worker.gradient, 2.0) for worker in workers[1:]]
    total, used, unused = transport.first_sum([first, *others], 2)
    assert list(total) == [4.0, 4.0, 4.0] and set(used) == set(others) and unused == [first]


@pytest.mark.usefixtures("two_hosts")
@pytest.mark.parametrize("name", ["ray", "hoplite"])
def test_an_error_of_a_worker_is_raised_where_its_gradient_is_waited_for(name: str) -> None:
    transport = transports.TRANSPORTS[name]()
    [worker] = actors.spread(async_sgd.Worker, transport, 1)
    wrong = transport.put(np.zeros(7, np.float32))  # too few weights
    with pytest.raises((ValueError, hoplite.ObjectFailedError), match="cannot reshape"):
        transport.first_sum([transport.call(worker.gradient, wrong)], 1)


@pytest.mark.usefixtures("two_hosts")
def test_a_model_that_fails_has_no_vote_until_it_is_back() -> None:
    @remote(max_restarts=-1)
    class Model:
        def __init__(self, label: int) -> None:
            self.label = label

        def answer(self, query: int) -> Any:
            if query == self.label:
                os._exit(1)
            return np.full(2, self.label, np.uint8)

        def seconds(self) -> float:
            return 0.0

    models = serving.Models([Model.remote(label) for label in (7, 3, 3)])  # type: ignore[attr-defined]
    assert list(models.vote(0)) == [3, 3]
    assert list(models.vote(3)) == [7, 7]  # the other two fail, and it says what it thinks

    def both_are_back() -> bool:
        return list(models.vote(0)) == [3, 3]

    wait_until(both_are_back, "they vote again", 30)


class Forgetful:
    """A transport that loses all results of worker 0, as if it failed."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, int]] = []  # a worker's number, and that of the call

    def put(self, value: Any) -> int:
        return 0

    def call(self, method: int, handle: int) -> tuple[int, int]:
        self.asked.append((method, len(self.asked)))
        return self.asked[-1]

    def first_sum(
        self, handles: list[Any], count: int
    ) -> tuple[Any, list[tuple[int, int]], list[tuple[int, int]]]:
        used = [handle for handle in handles if handle[0] != 0][:count]
        return np.float32(0), used, [handle for handle in handles if handle not in used]


class Numbered:
    def __init__(self, number: int) -> None:
        self.gradient = number


def test_a_gradient_that_does_not_come_is_asked_for_again() -> None:
    transport: Any = Forgetful()
    several = async_sgd.steps(transport, [Numbered(number) for number in range(4)])
    steps = 3 * (async_sgd.OVERDUE + 1)
    for _ in itertools.islice(several, steps):
        pass
    times = [sum(worker == number for worker, _ in transport.asked) for number in range(4)]
    assert times[0] == 4  # at the beginning, and whenever the last one was overdue
    assert times[0] + sum(times[1:]) == 4 + 2 * steps + 3  # the others whenever they were used
