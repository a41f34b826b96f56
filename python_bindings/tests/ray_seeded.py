# mypy: ignore-errors
"""Runs a program of Ray's own, unchanged, whose random numbers are the same each time.

    python ray_seeded.py plain MODULE [ARGUMENT ...]
    python ray_seeded.py 1KiB MODULE [ARGUMENT ...]

The second does what ``python -m hoplite.ray --transparent=1KiB`` does, and prints whether the
driver's arrays became objects.
"""

import functools
import random
import runpy
import sys

import numpy as np
import ray


def seed_workers():
    def seed():
        import torch  # noqa: PLC0415 - it travels by value

        torch.manual_seed(1)

    plain = ray.init

    @functools.wraps(plain)
    def init(*arguments, **named):
        named["runtime_env"] = {"worker_process_setup_hook": seed, **named.get("runtime_env", {})}
        return plain(*arguments, **named)

    ray.init = init


def seed_algorithms():
    from ray.rllib.algorithms.algorithm_config import AlgorithmConfig  # noqa: PLC0415 - if it needs

    plain = AlgorithmConfig.__init__

    @functools.wraps(plain)
    def seeded(self, *arguments, **named):
        plain(self, *arguments, **named)
        self.seed = 1

    AlgorithmConfig.__init__ = seeded


def count_objects(limit):
    """Of the driver, in transparent mode."""
    from hoplite.ray import __main__, _transparent  # noqa: PLC0415 - plain Ray has none of it

    made = []

    def counting(put):
        return lambda encoded, within: made.append(1) or put(encoded, within)

    _transparent._put_argument = counting(_transparent._put_argument)
    _transparent._put_value = counting(_transparent._put_value)
    __main__._extend_ray(limit, "16MiB")
    return made


def main():
    _, how, module, *arguments = sys.argv
    made = None if how == "plain" else count_objects(how)
    random.seed(1)
    np.random.seed(1)
    if ".train." in module:
        seed_workers()
    if ".rllib." in module:
        seed_algorithms()
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)
    if made is not None:
        print("objects", len(made) > 0)


if __name__ == "__main__":
    main()
