"""Population based training, with the scheduler of Ray Tune: members learn with a rate each; now
and then the worst takes over the weights of the best, and a somewhat smaller rate than that has.

With Ray the weights lie in the files of Tune's checkpoints. With Hoplite a checkpoint holds a
handle, and who takes over gets the weights from the host that has them. Ray does not count handles
in files, and Tune ends members that it pauses: so an actor of the program owns the objects.

    python population.py --transport hoplite --members 4 --hidden 1024

Learns handwritten digits; needs scikit-learn and ray[tune].
"""

from __future__ import annotations

import collections
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import frame
import hoplite.ray
import numpy as np

# isort: split
import programs
import ray
from digits import HELD_OUT, Network, digits
from ray import tune
from ray.tune.schedulers import PopulationBasedTraining
from transports import TRANSPORTS

BATCH, STEPS = 64, 10
# Iterations from one look at the whole population to the next.
INTERVAL = 2
FILE = "weights.pickle"
# The rate of who takes over, as a part of that of the best.
SMALLER = 0.8


class Owner:
    """Owns the weights of the last checkpoints."""

    def __init__(self, members: int) -> None:
        self._refs: collections.deque[Any] = collections.deque(maxlen=4 * members)

    def new_ref(self) -> Any:
        self._refs.append(hoplite.ray.new_ref())
        return self._refs[-1]


class Member(tune.Trainable):  # type: ignore[misc]
    """Learns; Tune tells it when to stop, and whose weights to go on with."""

    def setup(self, config: dict[str, Any]) -> None:
        self._transport = TRANSPORTS[config["transport"]]()
        self._owner = config["owner"]
        self._network = Network((64, config["hidden"], 10))
        self._weights = self._network.initial(seed=0)
        self._pictures, self._labels = digits()
        self._random = np.random.default_rng(0)
        self._rate = config["rate"]

    def reset_config(self, config: dict[str, Any]) -> bool:
        self.setup(config)
        return True

    def step(self) -> dict[str, float]:
        for _ in range(STEPS):
            chosen = self._random.integers(0, len(self._labels) - HELD_OUT, BATCH)
            slope, _ = self._network.gradient(
                self._weights, self._pictures[chosen], self._labels[chosen]
            )
            self._weights = self._weights - np.float32(self._rate) * slope
        held_out = self._pictures[-HELD_OUT:], self._labels[-HELD_OUT:]
        return {"loss": self._network.gradient(self._weights, *held_out)[1]}

    def save_checkpoint(self, folder: str) -> None:
        handle: Any = self._weights
        if self._owner is not None:
            handle = ray.get(self._owner.new_ref.remote())
            self._transport.result(self._weights, handle)
        Path(folder, FILE).write_bytes(ray.cloudpickle.dumps(handle))

    def load_checkpoint(self, folder: str) -> None:
        handle = ray.cloudpickle.loads(Path(folder, FILE).read_bytes())
        self._weights = self._transport.open(handle)


def population(options: programs.Options, owner: Any, folder: str) -> tune.Tuner:
    """Its members go on together from look to look, and nothing is drawn: the result is the same
    each time."""
    rates = [0.3 / 4**member for member in range(options.members)]
    scheduler = PopulationBasedTraining(
        time_attr="training_iteration",
        perturbation_interval=INTERVAL,
        hyperparam_mutations={"rate": tune.loguniform(1e-3, 1)},
        resample_probability=0.0,
        perturbation_factors=(SMALLER, SMALLER),
        quantile_fraction=1 / options.members,
        synch=True,
    )
    space = {
        "transport": options.transport,
        "owner": owner,
        "hidden": options.hidden,
        "rate": tune.grid_search(rates),
    }
    config = tune.TuneConfig(metric="loss", mode="min", scheduler=scheduler, reuse_actors=True)
    run = tune.RunConfig(
        storage_path=folder, verbose=0, stop={"training_iteration": options.iterations}
    )
    trainable = tune.with_resources(Member, {"cpu": 0.01})
    return tune.Tuner(trainable, param_space=space, tune_config=config, run_config=run)


def run(transport: frame.Transport, clock: programs.Clock, options: programs.Options) -> str:
    owner = None
    if isinstance(transport, frame.HopliteTransport):
        owner = ray.remote(Owner).options(num_cpus=0).remote(options.members)
        ray.get(owner.new_ref.remote())
    with tempfile.TemporaryDirectory() as folder, clock:
        results = population(options, owner, folder).fit()
    losses = sorted(result.metrics["loss"] for result in results)
    return f"loss {losses[0]:.5f} of the best, {losses[-1]:.5f} of the worst"


def main(arguments: Sequence[str] | None = None) -> None:
    programs.main(run, __doc__, arguments, members=4, iterations=8, hidden=64)


if __name__ == "__main__":
    main()
