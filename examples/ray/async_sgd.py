"""Asynchronous SGD: a server sums the first half of the workers' gradients, updates the weights,
and sends them to those workers; the other gradients count in a later step. No step waits for a
worker that has failed: it is asked again, and computes when Ray has started it again.

    python async_sgd.py --transport hoplite --workers 4

Prints the time of each step, and checks at the end that the network has learned.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import ray
from actors import Computing, spread, start
from digits import HELD_OUT, LARGE, Array, Network, digits
from transports import TRANSPORTS, Transport

BATCH = 64
RATE = 0.1
# So many steps later a gradient is taken for lost: in time, each is used within three.
OVERDUE = 6
# So many of the last steps' weights are averaged.
AVERAGED = 10
# Of the pictures that nobody learned from.
WANTED = 0.85


class Worker(Computing):
    """Computes gradients, of a part of the pictures of its own choice."""

    def __init__(self, transport: Transport, seed: int) -> None:
        super().__init__(transport)
        self._network = Network(LARGE)
        self._pictures, self._labels = digits()
        self._random = np.random.default_rng(seed)

    def gradient(self, weights: Any, into: Any) -> Any:
        with self.transport.filling(into):
            opened = self.transport.open(weights)
            with self.computing():
                chosen = self._random.integers(0, len(self._labels) - HELD_OUT, BATCH)
                pictures, labels = self._pictures[chosen], self._labels[chosen]
                result, _ = self._network.gradient(opened, pictures, labels)
            return self.transport.result(result, into)


class Gradients:
    """Those that the workers compute, in the order in which they come."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._running: dict[Any, tuple[Any, int]] = {}  # its worker, and when that was asked
        self._number = 0

    def ask(self, workers: list[Any], weights: Any) -> None:
        """For a gradient of the weights of that handle."""
        for worker in workers:
            gradient = self._transport.call(worker.gradient, weights)
            self._running[gradient] = (worker, self._number)

    def first(self, count: int) -> tuple[Array, list[Any]]:
        """The sum of so many, and the workers to ask next: theirs, and those whose gradient does
        not come."""
        self._number += 1
        total, used, unused = self._transport.first_sum(list(self._running), count)
        oldest = self._number - OVERDUE
        overdue = [gradient for gradient in unused if self._running[gradient][1] < oldest]
        return total, [self._running.pop(gradient)[0] for gradient in [*used, *overdue]]


def steps(transport: Transport, workers: list[Any]) -> Iterator[tuple[Array, float]]:
    """Without end: the weights after each step, and the seconds that it took."""
    count = max(1, len(workers) // 2)
    weights = Network(LARGE).initial(seed=0)
    gradients = Gradients(transport)
    gradients.ask(workers, transport.put(weights))
    while True:
        begin = time.perf_counter()
        total, free = gradients.first(count)
        weights = weights - RATE / count * total
        gradients.ask(free, transport.put(weights))
        yield weights, time.perf_counter() - begin


def train(transport: Transport, workers: list[Any], count: int) -> tuple[Array, list[float]]:
    """The mean weights of the last steps, of so many, and the seconds of each step. A single step
    may just have been made of old gradients: the network reads less than before, for a step or two.
    """
    last: collections.deque[Array] = collections.deque(maxlen=AVERAGED)
    taken = []
    for weights, seconds in itertools.islice(steps(transport, workers), count):
        last.append(weights)
        taken.append(seconds)
    return np.mean(last, axis=0), taken


def correct(weights: Array) -> float:
    """The part of the held-out pictures that the network reads."""
    pictures, labels = digits()
    answers = Network(LARGE).answer(weights, pictures[-HELD_OUT:])
    return float((answers == labels[-HELD_OUT:]).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--transport", choices=TRANSPORTS, default="hoplite")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--steps", type=int, default=60)
    options = parser.parse_args()
    transport = start(options.transport)
    workers = spread(Worker, transport, options.workers)
    weights, seconds = train(transport, workers, options.steps)
    computing = ray.get([worker.seconds.remote() for worker in workers])
    print("seconds per step:", " ".join(f"{one:.3f}" for one in seconds))
    print(
        f"median {np.median(seconds):.3f} s; computing, of each worker {np.mean(computing):.2f} s"
    )
    learned = correct(weights)
    print(f"{learned:.1%} of the held-out pictures are read")
    if learned < WANTED:
        raise SystemExit(f"it did not learn: {WANTED:.0%} were expected")


if __name__ == "__main__":
    main()
