"""SparkNet: each worker learns by itself for some steps; then the weights of all are averaged, and
sent to all. With `--first` fewer than the workers are waited for, and the others count later.

    python sparknet.py --transport hoplite --workers 4 --first 3

Learns handwritten digits; needs scikit-learn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import frame
import numpy as np

# isort: split
import programs
import ray
from actors import spread
from digits import HELD_OUT, Network, digits

BATCH = 64
RATE = 0.1


class Worker(frame.Computing):
    """Has a part of the pictures."""

    def __init__(
        self, transport: frame.Transport, number: int, hidden: int, steps: int, parts: int
    ) -> None:
        super().__init__(transport)
        self._network, self._steps = Network((64, hidden, 10)), steps
        pictures, labels = digits()
        self._pictures = pictures[number:-HELD_OUT:parts]
        self._labels = labels[number:-HELD_OUT:parts]
        self._random = np.random.default_rng(number)

    def gradient(self, weights: Any, into: Any) -> Any:
        """What its steps change of the weights."""
        with self.transport.filling(into):
            begun = self.transport.open(weights)
            learned = begun.copy()
            for _ in range(self._steps):
                chosen = self._random.integers(0, len(self._labels), BATCH)
                slope, _ = self._network.gradient(
                    learned, self._pictures[chosen], self._labels[chosen]
                )
                learned -= RATE * slope
            return self.transport.result(learned - begun, into)


def train(transport: frame.Transport, workers: list[Any], options: programs.Options) -> Any:
    """The weights after so many rounds."""
    weights = Network((64, options.hidden, 10)).initial(seed=0)
    changes = frame.Gradients(transport)
    changes.ask(workers, transport.put(weights))
    count = options.first or len(workers)
    for _ in range(options.rounds):
        total, free = changes.first(count)
        weights = weights + total / np.float32(count)
        changes.ask(free, transport.put(weights))
    return weights


def run(transport: frame.Transport, clock: programs.Clock, options: programs.Options) -> str:
    sizes = options.hidden, options.steps, options.workers
    workers = spread(Worker, transport, options.workers, *sizes)
    ray.get([worker.seconds.remote() for worker in workers])
    with clock:
        weights = train(transport, workers, options)
    pictures, labels = digits()
    held_out = pictures[-HELD_OUT:], labels[-HELD_OUT:]
    _, loss = Network((64, options.hidden, 10)).gradient(weights, *held_out)
    # Whose weights come first is chance.
    return f"learned {loss < 1.0}" if options.first else f"loss {loss:.5f}"


def main(arguments: Sequence[str] | None = None) -> None:
    sizes = {"workers": 2, "first": 0, "rounds": 6, "steps": 20, "hidden": 256}
    programs.main(run, __doc__, arguments, **sizes)


if __name__ == "__main__":
    main()
