"""Evolution strategies: workers try the weights with noise of a table that all of them have, and
say no more than which noise it was, and how well it did.

The table, which is large, goes to all workers once; the weights go to all of them in each round.

    python evolution.py --transport hoplite --workers 4 --table 16
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import frame
import numpy as np
import numpy.typing as npt

# isort: split
import model
import programs
import ray
from actors import spread

CLASSES = 10
EXAMPLES = 100
# How far the noise goes, and the weights along what was found.
DEVIATION, RATE = 0.1, 0.5
Array = npt.NDArray[np.float32]
# Where in the table the noise begins, and the losses with it and with its opposite.
Trial = tuple[int, float, float]


class Worker(frame.Computing):
    """Tries weights: of a classifier, all on the same examples."""

    def __init__(self, transport: frame.Transport, number: int, inputs: int) -> None:
        super().__init__(transport)
        self._random = np.random.default_rng(number)
        self._points, self._labels = model.blobs(EXAMPLES, inputs, CLASSES, seed=0)

    def know(self, table: Any) -> None:
        self._table = self.transport.open(table)

    def tries(self, weights: Any, count: int) -> list[Trial]:
        opened = self.transport.open(weights)
        begins = self._random.integers(0, len(self._table) - len(opened), count)
        return [self._trial(opened, int(begin)) for begin in begins]

    def _trial(self, weights: Array, begin: int) -> Trial:
        noise = DEVIATION * self._table[begin : begin + len(weights)]
        return begin, self._loss(weights + noise), self._loss(weights - noise)

    def _loss(self, weights: Array) -> float:
        chances = model.softmax(self._points @ weights.reshape(-1, CLASSES))
        return model.loss(chances, self._labels)


def along(table: Array, trials: Sequence[Trial], size: int) -> Array:
    """The gradient that the trials show."""
    result = np.zeros(size, np.float32)
    for begin, up, down in trials:
        result += np.float32(up - down) * table[begin : begin + size]
    return result / np.float32(2 * DEVIATION * len(trials))


def losses(
    transport: frame.Transport, workers: list[Any], options: programs.Options
) -> list[float]:
    """The mean of each round."""
    random = np.random.default_rng(0)
    table = random.standard_normal((options.table << 20) // 4, np.float32)
    handle = transport.put(table)
    ray.get([worker.know.remote(handle) for worker in workers])
    weights, result = np.zeros(options.inputs * CLASSES, np.float32), []
    for _ in range(options.rounds):
        handle = transport.put(weights)
        calls = [worker.tries.remote(handle, options.trials) for worker in workers]
        trials = [trial for call in ray.get(calls) for trial in call]
        weights = weights - np.float32(RATE) * along(table, trials, len(weights))
        result.append(float(np.mean([trial[1:] for trial in trials])))
    return result


def run(transport: frame.Transport, clock: programs.Clock, options: programs.Options) -> str:
    workers = spread(Worker, transport, options.workers, options.inputs)
    ray.get([worker.seconds.remote() for worker in workers])
    with clock:
        found = losses(transport, workers, options)
    return f"loss {found[0]:.6f} at first, {found[-1]:.6f} at last"


def main(arguments: Sequence[str] | None = None) -> None:
    """`table`: of so many MiB."""
    sizes = {"workers": 2, "rounds": 10, "trials": 20, "inputs": 32, "table": 4}
    programs.main(run, __doc__, arguments, **sizes)


if __name__ == "__main__":
    main()
