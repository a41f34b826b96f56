"""A parameter server: an actor has the weights, workers compute gradients.

In rounds (`--asynchronous 0`) the server adds the gradients of all workers. Asynchronously
(`--asynchronous 1`) it takes each gradient as it comes, and its worker goes on at once.

    python parameter_server.py --transport hoplite --asynchronous 1
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import model
import numpy as np
import programs
import ray
from actors import Computing, spread
from transports import Transport

BATCH = 64
CLASSES = 10
RATE = 0.2
LEARNED = 0.5


class Server(Computing):
    """Has the weights."""

    def __init__(self, transport: Transport, _: int, inputs: int, hidden: int) -> None:
        super().__init__(transport)
        self._weights = model.initial(inputs, hidden, CLASSES)

    def weights(self) -> Any:
        return self.transport.result(self._weights)

    def apply(self, *gradients: Any) -> Any:
        """A step along the mean of these; returns the new weights."""
        total = self.transport.sum(gradients)
        rate = np.float32(RATE / len(gradients))
        self._weights = {name: self._weights[name] - rate * total[name] for name in total}
        return self.transport.result(self._weights)


class Worker(Computing):
    """Has a part of the data."""

    def __init__(self, transport: Transport, number: int, inputs: int) -> None:
        super().__init__(transport)
        self._points, self._labels = model.blobs(10 * BATCH, inputs, CLASSES, number)
        self._random = np.random.default_rng(number)

    def gradient(self, weights: Any) -> Any:
        opened = self.transport.open(weights)
        chosen = self._random.integers(0, len(self._labels), BATCH)
        points, labels = self._points[chosen], self._labels[chosen]
        hidden, chances = model.forward(opened, points)
        wrong = model.error(chances, labels)
        return self.transport.result(model.backward(opened, points, hidden, wrong))


def in_rounds(server: Any, workers: list[Any], rounds: int) -> Any:
    weights = server.weights.remote()
    for _ in range(rounds):
        gradients = [worker.gradient.remote(weights) for worker in workers]
        weights = server.apply.remote(*gradients)
    return weights


def asynchronously(server: Any, workers: list[Any], rounds: int) -> Any:
    weights = server.weights.remote()
    running = {worker.gradient.remote(weights): worker for worker in workers}
    for _ in range(rounds * len(workers)):
        [first], _ = ray.wait(list(running))
        worker = running.pop(first)
        weights = server.apply.remote(first)
        running[worker.gradient.remote(weights)] = worker
    return weights


def run(transport: Transport, clock: programs.Clock, options: programs.Options) -> str:
    [server] = spread(Server, transport, 1, options.inputs, options.hidden)
    workers = spread(Worker, transport, options.workers, options.inputs)
    ray.get([actor.seconds.remote() for actor in [server, *workers]])
    train = asynchronously if options.asynchronous else in_rounds
    with clock:
        [weights] = transport.get([train(server, workers, options.rounds)])
    points, labels = model.blobs(500, options.inputs, CLASSES, seed=1000)
    lost = model.loss(model.forward(weights, points)[1], labels)
    # The order of the gradients is chance if each counts when it comes.
    return f"learned {lost < LEARNED}" if options.asynchronous else f"loss {lost:.6f}"


def main(arguments: Sequence[str] | None = None) -> None:
    sizes = {"asynchronous": 0, "workers": 2, "rounds": 30, "inputs": 64, "hidden": 256}
    programs.main(run, __doc__, arguments, **sizes)


if __name__ == "__main__":
    main()
