"""Batch prediction: one model is put once, and tasks answer one batch each with it, as many at a
time as `--at-once` says. A batch with a damaged row makes its task raise; the others go on.

    python batch_prediction.py --transport hoplite --batches 64
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import model
import numpy as np
import programs
import ray
from transports import Transport

CLASSES = 10
# Every so many batches one is damaged.
DAMAGED = 5


def predict(transport: Transport, weights: Any, batch: Any) -> model.Array:
    """A task: how many rows of the batch are of each class."""
    rows = transport.open(batch)
    if not np.isfinite(rows).all():
        raise ValueError("a row is not finite")
    _, chances = model.forward(transport.open(weights), rows)
    return np.bincount(chances.argmax(axis=1), minlength=CLASSES)


_predict = ray.remote(predict)


def make_batch(number: int, rows: int, inputs: int) -> model.Array:
    points, _ = model.blobs(rows, inputs, CLASSES, number)
    if number % DAMAGED == 0:
        points[0, 0] = np.nan
    return points


def answer(transport: Transport, options: programs.Options) -> tuple[model.Array, int]:
    """Of each class how many rows, and how many batches failed."""
    weights = transport.put(model.initial(options.inputs, options.hidden, CLASSES))
    classes, failed = np.zeros(CLASSES, int), 0
    running: list[Any] = []
    for number in range(options.batches + options.at_once):
        if number >= options.at_once and running:
            [first], running = ray.wait(running)
            try:
                classes += ray.get(first)
            except ValueError:
                failed += 1
        if number < options.batches:
            batch = transport.put(make_batch(number, options.rows, options.inputs))
            running.append(_predict.remote(transport, weights, batch))
    return classes, failed


def run(transport: Transport, clock: programs.Clock, options: programs.Options) -> str:
    with clock:
        classes, failed = answer(transport, options)
    return f"{failed} of {options.batches} batches failed, the others: {classes.tolist()}"


def main(arguments: Sequence[str] | None = None) -> None:
    sizes = {"batches": 12, "rows": 500, "inputs": 128, "hidden": 512, "at_once": 4}
    programs.main(run, __doc__, arguments, **sizes)


if __name__ == "__main__":
    main()
