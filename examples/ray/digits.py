"""Handwritten digits, and a network that learns them: its weights are one flat array of float32."""

from __future__ import annotations

import importlib.util
import itertools
from pathlib import Path

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float32]
Labels = npt.NDArray[np.uint8]

# 2.1 million weights, 8 MiB.
LARGE = (64, 1410, 1410, 10)
SMALL = (64, 64, 10)
HELD_OUT = 360


def digits() -> tuple[Array, Labels]:
    """1,797 pictures of 8 x 8, in an order that is always the same; the last 360 are for tests."""
    # Those that scikit-learn ships. To import it would take every process a second and more.
    found = importlib.util.find_spec("sklearn")
    if found is None or found.origin is None:
        raise ImportError(
            "the workloads learn from scikit-learn's digits: pip install scikit-learn"
        )
    table = np.loadtxt(Path(found.origin).parent / "datasets/data/digits.csv.gz", delimiter=",")
    table = table[np.random.default_rng(0).permutation(len(table))]
    return (table[:, :-1] / 16).astype(np.float32), table[:, -1].astype(np.uint8)


class Network:
    """Layers of these sizes with rectifiers between them; holds no weights itself."""

    def __init__(self, sizes: tuple[int, ...]) -> None:
        self._shapes = list(itertools.pairwise(sizes))

    def initial(self, seed: int) -> Array:
        random = np.random.default_rng(seed)
        layers = []
        for rows, columns in self._shapes:
            spread = np.sqrt(2 / rows)
            layers.append(random.normal(0, spread, rows * columns).astype(np.float32))
            layers.append(np.zeros(columns, np.float32))
        return np.concatenate(layers)

    def answer(self, weights: Array, pictures: Array) -> Labels:
        """The digit that each picture most looks like."""
        labels: Labels = self._outputs(weights, pictures)[-1].argmax(axis=1).astype(np.uint8)
        return labels

    def gradient(self, weights: Array, pictures: Array, labels: Labels) -> tuple[Array, float]:
        """Of the mean loss (cross entropy) by the weights, and that loss."""
        outputs = self._outputs(weights, pictures)
        shifted = outputs[-1] - outputs[-1].max(axis=1, keepdims=True)
        chances = np.exp(shifted) / np.exp(shifted).sum(axis=1, keepdims=True)
        rows = np.arange(len(labels))
        loss = float(-np.log(chances[rows, labels] + 1e-9).mean())
        error = chances
        error[rows, labels] -= 1
        error /= len(labels)
        result = np.empty_like(weights)
        layers, slots = self._layers(weights), self._layers(result)
        for i in reversed(range(len(layers))):
            np.matmul(outputs[i].T, error, out=slots[i][0])
            slots[i][1][:] = error.sum(axis=0)
            if i > 0:
                error = (error @ layers[i][0].T) * (outputs[i] > 0)
        return result, loss

    def _outputs(self, weights: Array, pictures: Array) -> list[Array]:
        """What goes into each layer, and what comes out of the last."""
        outputs = [pictures]
        layers = self._layers(weights)
        for i, (matrix, bias) in enumerate(layers):
            sums = outputs[-1] @ matrix + bias
            outputs.append(np.maximum(sums, 0) if i + 1 < len(layers) else sums)
        return outputs

    def _layers(self, flat: Array) -> list[tuple[Array, Array]]:
        """Views of the flat array: a matrix and a bias for each layer."""
        layers, start = [], 0
        for rows, columns in self._shapes:
            end = start + rows * columns
            layers.append((flat[start:end].reshape(rows, columns), flat[end : end + columns]))
            start = end + columns
        return layers
