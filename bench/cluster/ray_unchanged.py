"""A Ray program that knows nothing of Hoplite: the driver's array goes to an actor on each other host."""

import argparse
import time

import numpy as np
import ray


@ray.remote(num_cpus=0, scheduling_strategy="SPREAD")
class Reader:
    def total(self, array):
        return float(array[::4096].sum())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--size", type=int, default=16, help="of the array, in MiB")
    parser.add_argument("--repeat", type=int, default=2)
    options = parser.parse_args()
    ray.init()
    readers = [Reader.remote() for _ in range(options.workers)]
    ray.get([reader.total.remote(np.zeros(1)) for reader in readers])
    totals = []
    for number in range(options.repeat):
        array = np.full(options.size << 17, number + 0.5)
        begin = time.perf_counter()
        shared = ray.put(array)
        totals += ray.get([reader.total.remote(shared) for reader in readers])
        print(f"program: {time.perf_counter() - begin:.3f} s", flush=True)
    print(f"result: {sum(totals)}")


if __name__ == "__main__":
    main()
