"""A policy that plays CartPole: a network in NumPy, whose weights are one flat array of float32.

B is the number of observations that are looked at together.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float32]

OBSERVATION = 4
ACTIONS = 2
# Units of a hidden layer -> of the weights.
SIZES = {"1MiB": 504, "8MiB": 1440, "64MiB": 4096}
# Of the gradient; a longer one is shortened.
LONGEST = 0.5
# How much the loss counts an even choice of actions, and the square of the value's error.
EVENNESS, VALUE = 0.01, 0.05


class Answer(NamedTuple):
    """What a network says of B observations."""

    inner: tuple[Array, Array]  # of the hidden layers: B x units
    chances: Array  # of the actions: B x 2
    values: Array  # the return that it expects: B


class Network:
    """Two hidden layers of tanh, one output for each action and one for the value; holds no
    weights itself."""

    def __init__(self, units: int) -> None:
        outputs = ACTIONS + 1
        self._shapes = [
            *((OBSERVATION, units), (units,)),
            *((units, units), (units,)),
            *((units, outputs), (outputs,)),
        ]

    def initial(self, seed: int) -> Array:
        """Weights with which both actions are about as likely."""
        random = np.random.default_rng(seed)
        weights = np.zeros(sum(int(np.prod(shape)) for shape in self._shapes), np.float32)
        first, _, second, _, last, _ = self._layers(weights)
        for layer, scale in ((first, 1.0), (second, 1.0), (last, 0.01)):
            layer[:] = random.normal(0, scale / np.sqrt(len(layer)), layer.shape)
        return weights

    def answer(self, weights: Array, observations: Array) -> Answer:
        """observations: B x 4."""
        w1, b1, w2, b2, w3, b3 = self._layers(weights)
        first = np.tanh(observations @ w1 + b1)
        second = np.tanh(first @ w2 + b2)
        outputs = second @ w3 + b3
        scores = outputs[:, :ACTIONS]
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        chances = powers / powers.sum(axis=1, keepdims=True)
        return Answer((first, second), chances, outputs[:, ACTIONS])

    def gradient(self, weights: Array, observations: Array, answer: Answer, errors: Array) -> Array:
        """Of the loss by the weights. errors: that by the outputs, B x 3."""
        _, _, w2, _, w3, _ = self._layers(weights)
        first, second = answer.inner
        result = np.empty_like(weights)
        to_w1, to_b1, to_w2, to_b2, to_w3, to_b3 = self._layers(result)
        np.matmul(second.T, errors, out=to_w3)
        to_b3[:] = errors.sum(axis=0)
        below = (errors @ w3.T) * (1 - second * second)
        np.matmul(first.T, below, out=to_w2)
        to_b2[:] = below.sum(axis=0)
        below = (below @ w2.T) * (1 - first * first)
        np.matmul(observations.T, below, out=to_w1)
        to_b1[:] = below.sum(axis=0)
        return result

    def _layers(self, flat: Array) -> list[Array]:
        """Views of the flat array: a matrix and a bias for each layer."""
        views, start = [], 0
        for shape in self._shapes:
            end = start + int(np.prod(shape))
            views.append(flat[start:end].reshape(shape))
            start = end
        return views


def errors(
    answer: Answer, actions: Any, advantages: Array, targets: Array, counted: Array
) -> Array:
    """The gradient of the mean loss by the outputs, B x 3. The loss asks for actions of large
    advantage, for values near their targets, and a little for even chances. counted: 1, or 0 of
    what is left out. All arguments have B rows."""
    chances = answer.chances
    result = np.empty((len(actions), ACTIONS + 1), np.float32)
    result[:, :ACTIONS] = (chances - np.eye(ACTIONS)[actions]) * advantages[:, None]
    logarithms = np.log(chances + 1e-9)
    entropy = -(chances * logarithms).sum(axis=1, keepdims=True)
    result[:, :ACTIONS] += EVENNESS * chances * (logarithms + entropy)
    result[:, ACTIONS] = VALUE * (answer.values - targets)
    result *= counted[:, None] / len(actions)
    return result


def normalised(advantages: Array) -> Array:
    """With mean 0 and deviation 1."""
    result: Array = (advantages - advantages.mean()) / (advantages.std() + 1e-6)
    return result


class Adam:
    """The optimiser; it has the weights."""

    def __init__(self, weights: Array, rate: float) -> None:
        self.weights = weights
        self._rate = rate
        self._mean = np.zeros_like(weights)
        self._square = np.zeros_like(weights)
        self._steps = 0

    def step(self, gradient: Array) -> None:
        """Replaces the weights: earlier ones may still be read."""
        gradient = gradient * min(1.0, LONGEST / (float(np.linalg.norm(gradient)) + 1e-9))
        self._steps += 1
        self._mean += 0.1 * (gradient - self._mean)
        self._square += 0.001 * (gradient * gradient - self._square)
        mean = self._mean / (1 - 0.9**self._steps)
        deviation = np.sqrt(self._square / (1 - 0.999**self._steps))
        self.weights = self.weights - self._rate * mean / (deviation + 1e-8)
