"""Matrices in blocks, as NumS has them: a product, and a least-squares problem by its normal
equations.

Each worker makes the blocks of its rows. A block of the right factor goes to all workers; the sum
of products that a block of the result is, and those of the normal equations, are added where the
products are.

    python blocks.py --transport hoplite --workers 4 --size 512
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import frame
import numpy as np
import numpy.typing as npt

# isort: split
import programs
import ray
from actors import spread

NOISE = 0.01
Array = npt.NDArray[np.float64]


class Worker(frame.Computing):
    """Has some rows of blocks, and of a table of examples; multiplies."""

    def __init__(self, transport: frame.Transport, number: int, size: int) -> None:
        super().__init__(transport)
        self._number, self._size = number, size

    def block(self, matrix: int, row: int, column: int) -> Any:
        random = np.random.default_rng([matrix, row, column])
        return self.transport.result(random.normal(size=(self._size, self._size)))

    def product(self, left: Any, right: Any) -> Any:
        return self.transport.result(self.transport.open(left) @ self.transport.open(right))

    def equations(self) -> Any:
        """Its share of the normal equations: of the coefficients, and behind these the answers."""
        random = np.random.default_rng(self._number)
        examples = random.normal(size=(4 * self._size, self._size))
        answers = examples @ coefficients(self._size)
        answers += random.normal(0, NOISE, answers.shape)
        return self.transport.result(examples.T @ np.column_stack([examples, answers]))


def coefficients(size: int) -> Array:
    """What is to be found."""
    return np.linspace(-1, 1, size)


def product(transport: frame.Transport, workers: list[Any]) -> dict[tuple[int, int], Any]:
    """Handles of the blocks of the product of two matrices of as many rows of blocks as workers."""
    grid = list(itertools.product(range(len(workers)), repeat=2))
    left = {at: workers[at[0]].block.remote(0, *at) for at in grid}
    right = {at: workers[at[0]].block.remote(1, *at) for at in grid}
    terms = {
        (row, column): [
            worker.product.remote(left[row, middle], right[middle, column])
            for middle, worker in enumerate(workers)
        ]
        for row, column in grid
    }
    return {at: transport.added(some) for at, some in terms.items()}


def solution(transport: frame.Transport, workers: list[Any]) -> Array:
    """The coefficients that fit all workers' examples best."""
    table = transport.sum([worker.equations.remote() for worker in workers])
    found: Array = np.linalg.solve(table[:, :-1], table[:, -1])
    return found


def run(transport: frame.Transport, clock: programs.Clock, options: programs.Options) -> str:
    workers = spread(Worker, transport, options.workers, options.size)
    ray.get([worker.seconds.remote() for worker in workers])
    with clock:
        blocks = transport.get(list(product(transport, workers).values()))
        found = solution(transport, workers)
    size = float(np.sqrt(sum((block**2).sum() for block in blocks)))
    error = float(np.abs(found - coefficients(options.size)).max())
    return f"product {size:.3f}, coefficients within {error:.6f}"


def main(arguments: Sequence[str] | None = None) -> None:
    programs.main(run, __doc__, arguments, workers=2, size=128)


if __name__ == "__main__":
    main()
