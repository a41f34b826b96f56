"""What the programs of this folder have in common: the modules of examples/ray, options, and the
lines that they print."""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import ray

sys.path.append(str(Path(__file__).resolve().parents[1] / "ray"))

# isort: split
import actors
from actors import Computing
from async_sgd import Gradients
from policy import SIZES
from transports import LOST, PATIENCE, TRANSPORTS, HopliteTransport, Transport

__all__ = [
    "ENVIRONMENT",
    "LOST",
    "PATIENCE",
    "UNITS",
    "Computing",
    "Gradients",
    "HopliteTransport",
    "Learning",
    "Transport",
    "Update",
    "compute",
    "main",
    "used",
]

ENVIRONMENT = "CartPole-v1"
UNITS = SIZES["8MiB"]
# Updates from one printed line to the next.
SHOWN = 10


@dataclasses.dataclass
class Update:
    """What the driver knows after an update of the policy."""

    seconds: float  # since the beginning
    took: float  # seconds since the update before
    computed: float  # seconds of those in which the driver computed
    score: float | None  # the mean return of each worker's last 20 episodes


Updates = Callable[[Transport, list[Any], int, int], Iterator[Update]]


class Learning:
    """Clocks of the driver, and what workers last said of their returns: nobody waits for that."""

    def __init__(self) -> None:
        self._begin = self._last = time.perf_counter()
        self._asked: dict[Any, Any] = {}  # what a worker is to say: the worker
        self._scores: dict[Any, float] = {}  # of a worker

    def ask(self, workers: list[Any]) -> None:
        """How they have played until now, before they are asked for more."""
        self._asked.update({worker.score.remote(): worker for worker in workers})

    def update(self, computed: float) -> Update:
        self._listen()
        now = time.perf_counter()
        took, self._last = now - self._last, now
        score = float(np.mean(list(self._scores.values()))) if self._scores else None
        return Update(now - self._begin, took, computed, score)

    def _listen(self) -> None:
        if not self._asked:
            return
        said, _ = ray.wait(list(self._asked), num_returns=len(self._asked), timeout=0)
        for word in said:
            worker = self._asked.pop(word)
            try:
                score = ray.get(word)
            except LOST:
                continue
            if score is not None:
                self._scores[worker] = score


@dataclasses.dataclass
class Compute:
    """Seconds of computing, the means, and the part that they are of a worker's time from one
    result to the next: of the steps between, each has an update, and one has a result."""

    result: float  # of a worker
    update: float  # of the driver
    share: float


def compute(updates: Sequence[Update], workers: list[Any]) -> Compute:
    costs = ray.get([worker.cost.remote() for worker in workers], timeout=PATIENCE)
    result = float(np.mean(costs))
    update = float(np.mean([one.computed for one in updates]))
    step = float(np.mean([one.took for one in updates]))
    return Compute(result, update, (result * used(workers) / len(workers) + update) / step)


def used(workers: list[Any]) -> int:
    """How many results an update has: the first half."""
    return max(1, len(workers) // 2)


def best(updates: Sequence[Update]) -> float:
    """The highest mean return so far: a policy gradient dips between."""
    return max((one.score for one in updates if one.score is not None), default=0.0)


def main(
    kind: type[Computing],
    updates: Updates,
    about: str | None,
    wanted: float,
    arguments: Sequence[str] | None = None,
) -> None:
    """Runs a program. kind: its workers. updates: of a transport, workers, the units of a layer and
    a seed. wanted: the return that 60 updates reach. arguments: None are those of the process."""
    options = parse(about, arguments)
    transport = actors.start(options.transport)
    units = SIZES[options.policy]
    workers = actors.spread(kind, transport, options.workers, units, options.environment)
    ray.get([worker.seconds.remote() for worker in workers])
    done = []
    for one in itertools.islice(updates(transport, workers, units, options.seed), options.updates):
        done.append(one)
        if len(done) % SHOWN == 0 or len(done) == options.updates:
            score = "none yet" if one.score is None else f"{one.score:.1f}"
            print(f"{one.seconds:7.2f} s  update {len(done):3}  return {score}", flush=True)
    cost = compute(done, workers)
    print(f"{len(done) / done[-1].seconds:.2f} updates a second")
    print(
        f"compute: a worker's result {cost.result * 1e3:.0f} ms, "
        f"an update {cost.update * 1e3:.0f} ms, {cost.share:.0%} of the time"
    )
    reached = best(done)
    print(f"best return: {reached:.1f}")
    if len(done) >= 60 and reached < wanted:
        raise SystemExit(f"it did not learn: a return of {wanted:.0f} was expected")


def parse(about: str | None, arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--transport", choices=TRANSPORTS, default="hoplite")
    parser.add_argument("--workers", type=int, default=7)
    parser.add_argument("--updates", type=int, default=60)
    parser.add_argument("--policy", choices=SIZES, default="8MiB", help="bytes of the weights")
    parser.add_argument("--seed", type=int, default=0, help="of the first weights")
    parser.add_argument("--environment", default=ENVIRONMENT, help="of gymnasium")
    options = parser.parse_args(arguments)
    for name in ("workers", "updates"):
        if getattr(options, name) < 1:
            parser.error(f"--{name} {getattr(options, name)}: at least 1")
    return options
