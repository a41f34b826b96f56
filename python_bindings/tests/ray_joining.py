"""A cluster of one Ray node, which another joins while its program runs in transparent mode. Prints
how many objects there are, and what the other node reads of the values of before."""

from __future__ import annotations

from typing import Any

import hoplite.ray
import numpy as np
from ray.cluster_utils import Cluster
from ray_cluster import LIMIT, THERE, add_host, ray, remote, wait_until, whole_objects

ARRAY = np.arange(50_000, dtype=np.float64)


@remote()
def made() -> Any:
    return np.arange(50_000, dtype=np.float64) + 1


@remote()
def total(array: Any) -> float:
    return float(array.sum())


def travels() -> bool:
    """Whether what is put now becomes an object."""
    before, ref = whole_objects(), ray.put(ARRAY)
    return len(whole_objects() - before) == 1 and bool((ray.get(ref) == ARRAY).all())


def main() -> None:
    cluster = Cluster()
    add_host(cluster, "here")
    hoplite.ray.init(
        transparent=LIMIT, memory="16MiB", address=cluster.address, log_to_driver=False
    )
    put, result = ray.put(ARRAY), made.remote()
    ray.get([put, result])
    print("alone", len(whole_objects()))
    argument = total.remote(ARRAY)
    print("argument", len(whole_objects()), ray.get(argument))
    add_host(cluster, "there")
    wait_until(travels, "what is put travels to the other node")
    there = total.options(resources=THERE)
    print("there", *ray.get([there.remote(one) for one in (put, result, ray.put(ARRAY))]))
    before = whole_objects()
    returned = made.options(resources=THERE).remote()
    print("returned", float(ray.get(returned)[0]), len(whole_objects() - before))
    ray.shutdown()
    cluster.shutdown()


if __name__ == "__main__":
    main()
