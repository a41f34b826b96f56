"""The workers of both programs play: several environments at a time, some moves with one policy."""

from __future__ import annotations

import collections
import contextlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import frame
import gymnasium
import numpy as np
import numpy.typing as npt
from policy import ACTIONS, OBSERVATION, Array, Network

ENVIRONMENTS = 8
MOVES = 32
# Discount of later rewards; how far an advantage looks.
GAMMA, LAMBDA = 0.99, 0.95
EPISODES = 20


class Rollout(NamedTuple):
    """MOVES x ENVIRONMENTS of each, but for `last`."""

    observations: Array  # before the move, of 4 numbers
    actions: npt.NDArray[np.int64]
    rewards: Array
    ends: Array  # 1: the episode ended with this move
    chances: Array  # that the policy gave the action
    values: Array  # the return that the policy expected
    counted: Array  # 0: no move, the environment began a new episode
    last: Array  # ENVIRONMENTS x 4: observations after the last move


class Table:
    """Environments that go on from rollout to rollout, and what the last episodes brought."""

    def __init__(self, environment: str, seed: int) -> None:
        self._several = gymnasium.make_vec(
            environment, num_envs=ENVIRONMENTS, vectorization_mode="sync"
        )
        require_fitting(environment, self._several)
        self._observations = self._several.reset(seed=seed)[0].astype(np.float32)
        self._begins = np.zeros(ENVIRONMENTS, bool)
        self._random = np.random.default_rng(seed)
        self._returns = np.zeros(ENVIRONMENTS)
        self._finished: collections.deque[float] = collections.deque(maxlen=EPISODES)

    def play(self, network: Network, weights: Array) -> Rollout:
        moves = [self._move(network, weights) for _ in range(MOVES)]
        fields: list[Any] = [np.stack(part) for part in zip(*moves, strict=True)]
        return Rollout._make([*fields, self._observations])

    def score(self) -> float | None:
        """The mean return of the last 20 episodes; None before the first has ended."""
        return float(np.mean(self._finished)) if self._finished else None

    def _move(self, network: Network, weights: Array) -> tuple[npt.NDArray[np.generic], ...]:
        """The fields of a Rollout for one move in each environment."""
        observations, begins = self._observations, self._begins
        answer = network.answer(weights, observations)
        actions = (self._random.random(ENVIRONMENTS) < answer.chances[:, 1]).astype(np.int64)
        after, rewards, over, cut, _ = self._several.step(actions)
        self._observations, self._begins = after.astype(np.float32), over | cut
        self._returns += np.where(begins, 0.0, rewards)
        for which in np.nonzero(self._begins)[0]:
            self._finished.append(self._returns[which])
            self._returns[which] = 0.0
        chances = answer.chances[np.arange(ENVIRONMENTS), actions]
        numbers = [np.float32(part) for part in (rewards, self._begins, chances, answer.values)]
        return (observations, actions, *numbers, np.float32(~begins))


def require_fitting(name: str, several: gymnasium.vector.VectorEnv) -> None:
    """ValueError unless the policy can play it."""
    seen, moves = several.single_observation_space, several.single_action_space
    if seen.shape != (OBSERVATION,) or getattr(moves, "n", None) != ACTIONS:
        raise ValueError(
            f"the policy sees {OBSERVATION} numbers and chooses among {ACTIONS} actions; "
            f"environment {name} shows {seen} and takes {moves}"
        )


class Player(frame.Computing):
    """An actor that plays. Its first argument after the seed is the number of units of a layer."""

    def __init__(self, transport: frame.Transport, seed: int, units: int, environment: str) -> None:
        super().__init__(transport)
        self.network = Network(units)
        self.table = Table(environment, seed)
        self._times = 0

    def score(self) -> float | None:
        """The mean return of its last 20 episodes."""
        return self.table.score()

    def cost(self) -> float:
        """Seconds that one result took it to compute, the mean."""
        return self.seconds() / max(1, self._times)

    @contextlib.contextmanager
    def computing(self) -> Iterator[None]:
        with super().computing():
            yield
        self._times += 1
