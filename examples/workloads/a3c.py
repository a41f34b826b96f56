"""A3C: workers play CartPole, and each computes a gradient of what it played; the driver sums the
first half of the gradients, improves the policy, and sends it to those workers.

    python a3c.py --transport hoplite --workers 7

Prints how the return of the workers' games grows, the updates a second and the share of computing.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import frame
import numpy as np
from playing import GAMMA, LAMBDA, Player, Rollout
from policy import Adam, Array, Network, errors, normalised

RATE = 1e-3
WANTED = 120.0


class Worker(Player):
    """Computes gradients of what it plays."""

    def gradient(self, policy: Any, into: Any) -> Any:
        with self.transport.filling(into):
            weights = self.transport.open(policy)
            with self.computing():
                played = self.table.play(self.network, weights)
                result = gradient(self.network, weights, played)
            return self.transport.result(result, into)


def gradient(network: Network, weights: Array, played: Rollout) -> Array:
    observations = played.observations.reshape(-1, played.last.shape[1])
    after = network.answer(weights, played.last).values
    advantages = generalised_advantages(played, after).reshape(-1)
    answer = network.answer(weights, observations)
    wrong = errors(
        answer,
        played.actions.reshape(-1),
        normalised(advantages),
        advantages + played.values.reshape(-1),
        played.counted.reshape(-1),
    )
    return network.gradient(weights, observations, answer, wrong)


def generalised_advantages(played: Rollout, after: Array) -> Array:
    """How much better each move was than expected (GAE). after: the values of the last
    observations."""
    advantages = np.empty_like(played.rewards)
    following = np.zeros_like(after)
    for move in reversed(range(len(advantages))):
        goes_on = GAMMA * (1 - played.ends[move])
        surprise = played.rewards[move] + goes_on * after - played.values[move]
        following = surprise + LAMBDA * goes_on * following
        advantages[move] = following
        after = played.values[move]
    return advantages


def updates(
    transport: frame.Transport, workers: list[Any], units: int = frame.UNITS, seed: int = 0
) -> Iterator[frame.Update]:
    """Without end: what each update of the policy took and brought."""
    count = frame.used(workers)
    learner = Adam(Network(units).initial(seed), RATE)
    learning, gradients = frame.Learning(), frame.Gradients(transport)
    gradients.ask(workers, transport.put(learner.weights))
    while True:
        total, free = gradients.first(count)
        begin = time.perf_counter()
        learner.step(total / np.float32(count))
        computed = time.perf_counter() - begin
        learning.ask(free)
        gradients.ask(free, transport.put(learner.weights))
        yield learning.update(computed)


def main(arguments: Sequence[str] | None = None) -> None:
    frame.main(Worker, updates, __doc__, WANTED, arguments)


if __name__ == "__main__":
    main()
