"""L-BFGS: the driver minimizes a loss whose data lies with several actors; each step broadcasts
the weights and adds the gradients.

    python lbfgs.py --transport hoplite --workers 4
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Sequence
from typing import Any

import model
import numpy as np
import programs
import ray
from actors import Computing, spread
from transports import Transport

CLASSES = 10
SAMPLES = 200
REMEMBERED = 8
PENALTY = 1e-2
Array = model.Array
# The loss and its gradient, of flat weights.
Function = Callable[[Array], tuple[float, Array]]


class Part(Computing):
    """A part of the data, and its share of the loss."""

    def __init__(self, transport: Transport, number: int, inputs: int) -> None:
        super().__init__(transport)
        self._points, self._labels = model.blobs(SAMPLES, inputs, CLASSES, number)

    def evaluate(self, weights: Any) -> tuple[float, Any]:
        """The loss is small and goes by Ray; the gradient is large."""
        matrix = self.transport.open(weights).reshape(-1, CLASSES)
        chances = model.softmax(self._points @ matrix)
        loss = model.loss(chances, self._labels)
        gradient = self._points.T @ model.error(chances, self._labels)
        return loss, self.transport.result(gradient.ravel())


def everywhere(transport: Transport, parts: list[Any]) -> Function:
    """The mean loss of all parts, with a penalty for large weights."""

    def function(weights: Array) -> tuple[float, Array]:
        handle = transport.put(weights)
        calls = [part.evaluate.options(num_returns=2).remote(handle) for part in parts]
        total = transport.sum([gradient for _, gradient in calls])
        loss = float(np.mean(ray.get([loss for loss, _ in calls])))
        penalty = 0.5 * PENALTY * float(weights @ weights)
        return loss + penalty, total / len(parts) + PENALTY * weights

    return function


def minimize(function: Function, weights: Array, steps: int) -> float:
    """The least loss that so many steps find."""
    pairs: collections.deque[tuple[Array, Array]] = collections.deque(maxlen=REMEMBERED)
    loss, gradient = function(weights)
    for _ in range(steps):
        direction = -along(pairs, gradient)
        slope = float(gradient @ direction)
        size = 1.0 if pairs else 1.0 / float(np.linalg.norm(gradient))
        trial, slopes = function(weights + size * direction)
        while trial > loss + 1e-4 * size * slope and size > 1e-8:
            size /= 2
            trial, slopes = function(weights + size * direction)
        pairs.append((size * direction, slopes - gradient))
        weights, loss, gradient = weights + size * direction, trial, slopes
    return loss


def along(pairs: Sequence[tuple[Array, Array]], gradient: Array) -> Array:
    """The gradient times the inverse curvature that these steps and changes show."""
    result = gradient.copy()
    factors = []
    for step, change in reversed(pairs):
        factors.append((step @ result) / (step @ change))
        result -= factors[-1] * change
    if pairs:
        step, change = pairs[-1]
        result *= (step @ change) / (change @ change)
    for step, change in pairs:
        result += (factors.pop() - (change @ result) / (step @ change)) * step
    return result


def run(transport: Transport, clock: programs.Clock, options: programs.Options) -> str:
    parts = spread(Part, transport, options.workers, options.inputs)
    ray.get([part.seconds.remote() for part in parts])
    with clock:
        start = np.zeros(options.inputs * CLASSES)
        loss = minimize(everywhere(transport, parts), start, options.steps)
    return f"loss {loss:.6f}"


def main(arguments: Sequence[str] | None = None) -> None:
    programs.main(run, __doc__, arguments, workers=2, steps=15, inputs=1000)


if __name__ == "__main__":
    main()
