"""IMPALA: workers play CartPole and send what they played; the driver learns from the first half of
them, corrects for their older policies (V-trace), and sends the new policy to those workers.

    python impala.py --transport hoplite --workers 7

Prints how the return of the workers' games grows, the updates a second and the share of computing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import frame
import numpy as np
import ray
from playing import GAMMA, LAMBDA, Player, Rollout
from policy import Adam, Array, Network, errors, normalised

RATE = 3e-4
# A batch is learned from three times, while the chance of an action is near what it was.
PASSES = 3
NEAR = (0.8, 1.2)
WANTED = 90.0


class Worker(Player):
    """Plays. A rollout is small: Ray brings it."""

    def rollout(self, policy: Any) -> Rollout:
        weights = self.transport.open(policy)
        with self.computing():
            return self.table.play(self.network, weights)


class Rollouts:
    """Those that the workers play, in the order in which they come."""

    def __init__(self) -> None:
        self._running: dict[Any, Any] = {}  # a call: its worker

    def ask(self, workers: list[Any], policy: Any) -> None:
        self._running.update({worker.rollout.remote(policy): worker for worker in workers})

    def first(self, count: int) -> tuple[list[Rollout], list[Any]]:
        """So many, and the workers to ask next: those who played them and those who failed."""
        came: list[Rollout] = []
        free = []
        while len(came) < count:
            if not self._running:
                raise RuntimeError(f"{count - len(came)} more rollouts were expected: all fail")
            ready, _ = ray.wait(list(self._running), timeout=frame.PATIENCE)
            if not ready:
                raise TimeoutError(f"no rollout came within {frame.PATIENCE:.0f} s")
            free.append(self._running.pop(ready[0]))
            try:
                came.append(ray.get(ready[0]))
            except frame.LOST:
                pass  # it works again when Ray has started it
        return came, free


class Learner:
    """Improves the policy by what was played with older ones."""

    def __init__(self, units: int, seed: int) -> None:
        self._network = Network(units)
        self._adam = Adam(self._network.initial(seed), RATE)

    @property
    def weights(self) -> Array:
        return self._adam.weights

    def learn(self, rollouts: list[Rollout]) -> None:
        played = together(rollouts)
        observations = played.observations.reshape(-1, played.last.shape[1])
        actions, counted = played.actions.reshape(-1), played.counted.reshape(-1)
        before = self._network.answer(self.weights, observations)
        after = self._network.answer(self.weights, played.last).values
        chances = before.chances[np.arange(len(actions)), actions]
        values = before.values.reshape(played.rewards.shape)
        targets, advantages = v_trace(played, chances.reshape(played.chances.shape), values, after)
        for number in range(PASSES):
            answer = before if number == 0 else self._network.answer(self.weights, observations)
            ratio = answer.chances[np.arange(len(actions)), actions] / (chances + 1e-9)
            weighted = clipped(advantages.reshape(-1), ratio)
            wrong = errors(answer, actions, weighted, targets.reshape(-1), counted)
            self._adam.step(self._network.gradient(self.weights, observations, answer, wrong))


def together(rollouts: list[Rollout]) -> Rollout:
    """As if one worker had played in all the environments."""
    *parts, last = zip(*rollouts, strict=True)
    fields: list[Any] = [np.concatenate(part, axis=1) for part in parts]
    return Rollout._make([*fields, np.concatenate(last)])


def v_trace(played: Rollout, chances: Array, values: Array, after: Array) -> tuple[Array, Array]:
    """Targets of the values, and advantages. chances: those that the learner's policy gives the
    actions; values: what it expects, also of the last observations (after)."""
    rho = np.minimum(1, chances / played.chances)
    targets, advantages = np.empty_like(values), np.empty_like(values)
    correction = np.zeros_like(after)
    target_after = after
    for move in reversed(range(len(values))):
        goes_on = GAMMA * (1 - played.ends[move])
        advantages[move] = played.rewards[move] + goes_on * target_after - values[move]
        surprise = rho[move] * (played.rewards[move] + goes_on * after - values[move])
        correction = surprise + LAMBDA * goes_on * rho[move] * correction
        targets[move] = values[move] + correction
        after, target_after = values[move], targets[move]
    # rho comes last: if it had a part in the mean, rare actions would be taken for bad ones.
    return targets, normalised(advantages) * rho


def clipped(advantages: Array, ratio: Array) -> Array:
    """Advantages of actions whose chances changed by that ratio; 0 where they went far enough."""
    low, high = NEAR
    far = ((ratio > high) & (advantages > 0)) | ((ratio < low) & (advantages < 0))
    return np.where(far, np.float32(0), advantages * ratio)


def updates(
    transport: frame.Transport, workers: list[Any], units: int = frame.UNITS, seed: int = 0
) -> Iterator[frame.Update]:
    """Without end: what each update of the policy took and brought."""
    yield from learned(Learner(units, seed), workers, transport.put)


def learned(
    learner: Learner, workers: list[Any], given: Callable[[Any], Any]
) -> Iterator[frame.Update]:
    """Of the rollouts that come first; `given` makes of the weights what workers are given."""
    count = frame.used(workers)
    learning, rollouts = frame.Learning(), Rollouts()
    rollouts.ask(workers, given(learner.weights))
    while True:
        played, free = rollouts.first(count)
        begin = time.perf_counter()
        learner.learn(played)
        computed = time.perf_counter() - begin
        learning.ask(free)
        rollouts.ask(free, given(learner.weights))
        yield learning.update(computed)


def main(arguments: Sequence[str] | None = None) -> None:
    frame.main(Worker, updates, __doc__, WANTED, arguments)


if __name__ == "__main__":
    main()
