"""A Dask program as an agent (see agent.h): dask_driver.py ADDRESS WORKERS

  join              {}: so many workers are there, with Hoplite if the address is of its scheme
  broadcast BYTES   {"seconds":...}: until tasks on all other workers have an array of the first one
  reduce BYTES      {"seconds":...}: until the first worker has the sum of an array of each
  steps BYTES       {"seconds":...}: the longest step of the event loops of two workers while an array goes from one to the other,
                    in seconds of their threads
"""

import asyncio
import json
import sys
import time

import distributed
import numpy as np

PATIENCE = 100.0  # seconds
BEAT = 0.005  # seconds between two looks at a loop


def ones(size):
    return np.ones(size // 8)


def arrived(array):
    """When it was here."""
    moment = time.monotonic_ns()
    return moment, float(array[-1])


def total(arrays):
    result = arrays[0].copy()
    for array in arrays[1:]:
        result += array
    return result


async def watch(dask_worker):
    """From now on, how long its loop's steps are."""
    dask_worker.longest_step = 0.0

    async def beat():
        used = time.thread_time()
        while True:
            await asyncio.sleep(BEAT)
            now = time.thread_time()
            dask_worker.longest_step = max(dask_worker.longest_step, now - used)
            used = now

    dask_worker.beat = asyncio.get_running_loop().create_task(beat())


async def longest_step(dask_worker):
    dask_worker.beat.cancel()
    return dask_worker.longest_step


class Program:
    def __init__(self, address, workers):
        self._address = address
        self._count = workers
        self._ours = address.startswith("hoplite://")

    def join(self):
        self._client = distributed.Client(self._address, timeout=PATIENCE)
        self._client.wait_for_workers(self._count, timeout=PATIENCE)
        if self._ours:
            import hoplite.dask

            self._reduce = hoplite.dask.reduce
            hoplite.dask.init(self._client, "768MiB")
        else:
            self._reduce = lambda client, arrays, workers: client.submit(total, arrays, workers=workers, pure=False)
        known = self._client.scheduler_info(n_workers=-1)["workers"]
        self._workers = sorted(known, key=lambda worker: int(known[worker]["name"]))
        for warm in (self.broadcast, self.reduce):
            warm(1 << 20)
        return {}

    def broadcast(self, size):
        first, *others = self._workers
        array = self._made(first, size)
        begin = time.monotonic_ns()
        asked = [self._client.submit(arrived, array, workers=[worker], pure=False) for worker in others]
        return self._seconds(begin, asked, 1.0)

    def reduce(self, size):
        arrays = [self._made(worker, size) for worker in self._workers]
        begin = time.monotonic_ns()
        summed = self._reduce(self._client, arrays, workers=self._workers[:1])
        asked = [self._client.submit(arrived, summed, workers=self._workers[:1], pure=False)]
        return self._seconds(begin, asked, float(len(arrays)))

    def steps(self, size):
        pair = self._workers[:2]
        array = self._made(pair[0], size)
        self._client.run(watch, workers=pair)
        begin = time.monotonic_ns()
        self._seconds(begin, [self._client.submit(arrived, array, workers=pair[1:], pure=False)], 1.0)
        return {"seconds": max(self._client.run(longest_step, workers=pair).values())}

    def _made(self, worker, size):
        array = self._client.submit(ones, size, workers=[worker], pure=False)
        distributed.wait(array, timeout=PATIENCE)
        return array

    def _seconds(self, begin, asked, wanted):
        answers = self._client.gather(asked)
        if any(value != wanted for _, value in answers):
            raise RuntimeError("wrong bytes")
        return {"seconds": (max(moment for moment, _ in answers) - begin) / 1e9}


def main():
    program = Program(sys.argv[1], int(sys.argv[2]))
    for line in sys.stdin:
        command, *words = line.split()
        try:
            answer = getattr(program, command)(*map(int, words))
        except Exception as error:
            answer = {"error": repr(error)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
