"""A network of two layers as most programs keep one: a dict of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Weights = dict[str, Array]


def initial(inputs: int, hidden: int, outputs: int, dtype: Any = np.float32) -> Weights:
    random = np.random.default_rng(0)
    return {
        "w1": (random.normal(size=(inputs, hidden)) / np.sqrt(inputs)).astype(dtype),
        "b1": np.zeros(hidden, dtype),
        "w2": (random.normal(size=(hidden, outputs)) / np.sqrt(hidden)).astype(dtype),
        "b2": np.zeros(outputs, dtype),
    }


def forward(weights: Weights, inputs: Array) -> tuple[Array, Array]:
    """What the hidden layer says of each row of `inputs`, and the chances of the outputs."""
    hidden = np.maximum(inputs @ weights["w1"] + weights["b1"], 0)
    return hidden, softmax(hidden @ weights["w2"] + weights["b2"])


def backward(weights: Weights, inputs: Array, hidden: Array, error: Array) -> Weights:
    """The gradient, if `error` is that by the scores: a row for each row of `inputs`."""
    below = (error @ weights["w2"].T) * (hidden > 0)
    return {
        "w1": inputs.T @ below,
        "b1": below.sum(axis=0),
        "w2": hidden.T @ error,
        "b2": error.sum(axis=0),
    }


def softmax(scores: Array) -> Array:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    chances: Array = powers / powers.sum(axis=1, keepdims=True)
    return chances


def loss(chances: Array, labels: Array) -> float:
    """Cross entropy, the mean of all rows."""
    return float(-np.log(chances[np.arange(len(labels)), labels] + 1e-9).mean())


def error(chances: Array, labels: Array) -> Array:
    """Of `loss` by the scores."""
    wrong = chances.copy()
    wrong[np.arange(len(labels)), labels] -= 1
    result: Array = wrong / len(labels)
    return result


def blobs(count: int, inputs: int, classes: int, seed: int) -> tuple[Array, Array]:
    """Points around the middles of several classes, which are the same for every seed; labels."""
    middles = np.random.default_rng(0).normal(size=(classes, inputs)).astype(np.float32)
    random = np.random.default_rng([1, seed])
    labels = random.integers(0, classes, count)
    noise = random.normal(size=(count, inputs)).astype(np.float32)
    return middles[labels] + noise, labels
