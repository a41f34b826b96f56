"""A parameter server: an actor has the weights, workers compute gradients. With `--shards` several
actors have a part of the weights each, and take that part of each gradient.

In rounds (`--asynchronous 0`) a server adds the gradients of all workers. Asynchronously
(`--asynchronous 1`) it takes each gradient as it comes, and its worker goes on at once.

    python parameter_server.py --transport hoplite --asynchronous 1
    python parameter_server.py --transport hoplite --shards 2
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
    """Has the weights, or one of several parts."""

    def __init__(
        self, transport: Transport, number: int, shards: int, inputs: int, hidden: int
    ) -> None:
        super().__init__(transport)
        self._weights = divided(model.initial(inputs, hidden, CLASSES), shards)[number]

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

    def gradient(self, *shards: Any) -> Any:
        """As many parts as the weights have."""
        opened = united([self.transport.open(shard) for shard in shards])
        chosen = self._random.integers(0, len(self._labels), BATCH)
        points, labels = self._points[chosen], self._labels[chosen]
        hidden, chances = model.forward(opened, points)
        wrong = model.error(chances, labels)
        gradient = model.backward(opened, points, hidden, wrong)
        parts = [self.transport.result(part) for part in divided(gradient, len(shards))]
        return parts if len(parts) > 1 else parts[0]


def divided(weights: model.Weights, shards: int) -> list[model.Weights]:
    """Some rows of each array."""
    if shards == 1:
        return [weights]
    parts = {name: np.array_split(array, shards) for name, array in weights.items()}
    return [{name: part[shard] for name, part in parts.items()} for shard in range(shards)]


def united(shards: list[model.Weights]) -> model.Weights:
    if len(shards) == 1:
        return shards[0]
    return {name: np.concatenate([shard[name] for shard in shards]) for name in shards[0]}


def asked(worker: Any, shards: list[Any]) -> list[Any]:
    """The parts of its next gradient."""
    parts = worker.gradient.options(num_returns=len(shards)).remote(*shards)
    return parts if len(shards) > 1 else [parts]


def in_rounds(servers: list[Any], workers: list[Any], rounds: int) -> list[Any]:
    shards = [server.weights.remote() for server in servers]
    for _ in range(rounds):
        gradients = [asked(worker, shards) for worker in workers]
        of_servers = zip(servers, zip(*gradients, strict=True), strict=True)
        shards = [server.apply.remote(*parts) for server, parts in of_servers]
    return shards


def asynchronously(servers: list[Any], workers: list[Any], rounds: int) -> list[Any]:
    shards = [server.weights.remote() for server in servers]
    running = {}
    for worker in workers:
        first, *others = asked(worker, shards)
        running[first] = worker, others
    for _ in range(rounds * len(workers)):
        [first], _ = ray.wait(list(running))
        worker, others = running.pop(first)
        of_servers = zip(servers, [first, *others], strict=True)
        shards = [server.apply.remote(part) for server, part in of_servers]
        first, *others = asked(worker, shards)
        running[first] = worker, others
    return shards


def run(transport: Transport, clock: programs.Clock, options: programs.Options) -> str:
    sizes = options.shards, options.inputs, options.hidden
    servers = spread(Server, transport, options.shards, *sizes)
    workers = spread(Worker, transport, options.workers, options.inputs)
    ray.get([actor.seconds.remote() for actor in [*servers, *workers]])
    train = asynchronously if options.asynchronous else in_rounds
    with clock:
        weights = united(transport.get(train(servers, workers, options.rounds)))
    points, labels = model.blobs(500, options.inputs, CLASSES, seed=1000)
    lost = model.loss(model.forward(weights, points)[1], labels)
    # The order of the gradients is chance if each counts when it comes.
    return f"learned {lost < LEARNED}" if options.asynchronous else f"loss {lost:.6f}"


def main(arguments: Sequence[str] | None = None) -> None:
    sizes = {"shards": 1, "workers": 2, "rounds": 30, "inputs": 64, "hidden": 256}
    programs.main(run, __doc__, arguments, asynchronous=0, **sizes)


if __name__ == "__main__":
    main()
