"""IMPACT: workers play with the newest policy all the time; the learner improves it by what comes
first, and neither waits for the other.

    python impact.py --transport hoplite --workers 4 --policy 1MiB

With Hoplite the policy is a channel, of which each worker reads the newest version. With Ray it is
an object that goes with each call. An action counts as in IMPALA: by the ratio of its chances, as
long as that is near 1.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import frame
import hoplite.ray
from impala import WANTED, Learner, learned
from playing import Player, Rollout
from policy import Array

CHANNEL = "policy"


class Worker(Player):
    """Plays with the policy of a channel, or with that of the call."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._channels: dict[str, Any] = {}

    def rollout(self, policy: Any) -> Rollout:
        weights = self._newest(policy) if isinstance(policy, str) else self.transport.open(policy)
        with self.computing():
            return self.table.play(self.network, weights)

    def _newest(self, name: str) -> Array:
        if name not in self._channels:
            self._channels[name] = hoplite.ray.client().channel(name)
        newest: Array = self._channels[name].get(timeout=frame.PATIENCE).value
        return newest


class Newest:
    """What the learner makes known; of plain Ray an object for each version."""

    def __init__(self, transport: frame.Transport) -> None:
        self._transport = transport
        self._channel: Any = None
        if isinstance(transport, frame.HopliteTransport):
            name = f"{CHANNEL}-{time.time_ns()}"  # several runs may have one cluster
            self._channel = hoplite.ray.client().channel(name)

    def publish(self, weights: Array) -> Any:
        """What a worker is told, to play with them."""
        if self._channel is None:
            return self._transport.put(weights)
        self._channel.publish(weights)
        return self._channel.name


def updates(
    transport: frame.Transport, workers: list[Any], units: int = frame.UNITS, seed: int = 0
) -> Iterator[frame.Update]:
    """Without end: what each update of the policy took and brought."""
    yield from learned(Learner(units, seed), workers, Newest(transport).publish)


def main(arguments: Sequence[str] | None = None) -> None:
    frame.main(Worker, updates, __doc__, WANTED, arguments)


if __name__ == "__main__":
    main()
