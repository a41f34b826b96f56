"""Map and reduce: counts the words of many texts. Each map task counts those of one text, and hands
each reduce task its partition of the words. A map task that raises is asked again.

    python map_reduce.py --transport hoplite --texts 16 --reducers 8
"""

from __future__ import annotations

import collections
import contextlib
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import programs
import ray
from transports import Transport

VOCABULARY = 20_000
# Every so many texts one can't be read at first.
DAMAGED = 4
Counts = dict[str, int]


def read(number: int, length: int) -> list[str]:
    """Words of a language in which a few are frequent, as in all."""
    ranks = np.random.default_rng(number).zipf(1.3, length) % VOCABULARY
    return [f"word{rank}" for rank in ranks]


def count(transport: Transport, number: int, length: int, reducers: int, attempt: int) -> Any:
    """A task: how many words the text has, and for each reduce task a dict of words and numbers."""
    if number % DAMAGED == 0 and attempt == 0:
        raise OSError(f"text {number} can't be read")
    partitions: list[Counts] = [{} for _ in range(reducers)]
    for word, times in collections.Counter(read(number, length)).items():
        partitions[zlib.crc32(word.encode()) % reducers][word] = times
    return length, *(transport.result(partition) for partition in partitions)


def merge(transport: Transport, partitions: list[Any]) -> Counts:
    """A task: of one partition of all texts. The few most frequent words are small."""
    merged: collections.Counter[str] = collections.Counter()
    for partition in transport.get(partitions):
        merged.update(partition)
    most = sorted(merged.items(), key=lambda item: (-item[1], item[0]))[:3]
    return {**dict(most), "": sum(merged.values())}


_count, _merge = ray.remote(count), ray.remote(merge)


def mapped(transport: Transport, options: programs.Options) -> list[list[Any]]:
    """Of each text its partitions. What has raised is asked again, once."""
    task = _count.options(num_returns=1 + options.reducers)

    def ask(number: int, attempt: int) -> list[Any]:
        called: list[Any] = task.remote(transport, number, options.words, options.reducers, attempt)
        return called

    texts = {number: ask(number, 0) for number in range(options.texts)}
    waiting = {text[0]: number for number, text in texts.items()}
    while waiting:
        [first], _ = ray.wait(list(waiting))
        number = waiting.pop(first)
        try:
            ray.get(first)
        except OSError:
            quiet(texts[number])
            texts[number] = ask(number, 1)
    return [partitions for _, *partitions in texts.values()]


def quiet(results: list[Any]) -> None:
    """Ray warns of errors that nobody has got."""
    for result in results:
        with contextlib.suppress(OSError):
            ray.get(result)


def run(transport: Transport, clock: programs.Clock, options: programs.Options) -> str:
    with clock:
        texts = mapped(transport, options)
        shuffled = [list(partition) for partition in zip(*texts, strict=True)]
        merged = ray.get([_merge.remote(transport, partition) for partition in shuffled])
    words = sum(counts.pop("") for counts in merged)
    found = sorted(((times, word) for counts in merged for word, times in counts.items()))
    return f"{words} words, most often " + ", ".join(f"{w} {n}" for n, w in found[:-4:-1])


def main(arguments: Sequence[str] | None = None) -> None:
    programs.main(run, __doc__, arguments, texts=6, words=20_000, reducers=3)


if __name__ == "__main__":
    main()
