"""A stress of the object store: rounds of objects of all sizes, from bytes to megabytes, made by
the driver and by tasks, handed on in lists, read several times, and dropped. All rounds together
may be larger than the store: what nobody has any more must make room.

    python object_store_stress.py --transport hoplite --rounds 50 --objects 200
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import programs
import ray
from transports import Transport

READERS = 3


def make(number: int, largest: int) -> Any:
    """Every third one is an array, bytes, or a dict of arrays and a text."""
    size = int(largest ** np.random.default_rng(number).random())
    if number % 3 == 0:
        return np.full(size // 8, number, np.int64)
    if number % 3 == 1:
        return bytes([number % 256]) * size
    halves = np.full((2, size // 16), number, np.int64)
    return {"name": f"object {number}", "parts": list(halves)}


def digest(value: Any) -> int:
    """Depends on all that is in it."""
    if isinstance(value, dict):
        return len(value["name"]) + sum(digest(part) for part in value["parts"])
    if isinstance(value, np.ndarray):
        return int(value.sum()) + value.size
    return int(np.frombuffer(value, np.uint8).sum()) + len(value)


def produce(transport: Transport, number: int, largest: int) -> Any:
    """A task."""
    return transport.result(make(number, largest))


def read(transport: Transport, handles: list[Any]) -> int:
    """A task: gets a list of handles, all at once and one by one."""
    together = sum(digest(value) for value in transport.get(handles))
    single = sum(digest(transport.get([handle])[0]) for handle in handles)
    if together != single:
        raise AssertionError(f"{together} together, {single} one by one")
    return together


_produce, _read = ray.remote(produce), ray.remote(read)


def one_round(transport: Transport, numbers: list[int], largest: int) -> int:
    """The sum of what the readers say; the handles are dropped at the end."""
    put = [transport.put(make(number, largest)) for number in numbers[::2]]
    made = [_produce.remote(transport, number, largest) for number in numbers[1::2]]
    ready, others = transport.wait(put, len(put))
    if others:
        raise AssertionError(f"{len(others)} of {len(put)} objects that were put do not exist")
    lists = [[*ready, *made][reader::READERS] for reader in range(READERS)]
    waiting = [_read.remote(transport, handles) for handles in lists for _ in range(2)]
    total = 0
    while waiting:
        done, waiting = ray.wait(waiting)
        total += sum(ray.get(done))
    return total


def run(transport: Transport, clock: programs.Clock, options: programs.Options) -> str:
    total = 0
    with clock:
        for number in range(options.rounds):
            first = number * options.objects
            numbers = list(range(first, first + options.objects))
            total += one_round(transport, numbers, options.largest)
    return f"{options.rounds * options.objects} objects, digest {total}"


def main(arguments: Sequence[str] | None = None) -> None:
    programs.main(run, __doc__, arguments, rounds=6, objects=40, largest=8 << 20)


if __name__ == "__main__":
    main()
