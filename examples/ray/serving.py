"""Serving by several models: a batch of pictures is broadcast to all of them, and the majority of
their answers counts. No query waits for a model that has failed, or is late: it is asked again when
it is back.

    python serving.py --transport hoplite --models 4

Prints the time of each query, and checks that the majority reads the pictures.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import ray
from actors import Computing, spread, start
from digits import HELD_OUT, SMALL, Array, Labels, Network, digits
from transports import LOST, PATIENCE, TRANSPORTS, Transport

# Pictures of 256 bytes: 16 MiB.
QUERY = 65_536
NOISE = 0.15
STEPS = 150
WANTED = 0.9


class Model(Computing):
    """A network that has learned from pictures of its own choice."""

    def __init__(self, transport: Transport, seed: int) -> None:
        super().__init__(transport)
        self._network = Network(SMALL)
        self._weights = self._network.initial(seed)
        pictures, labels = digits()
        random = np.random.default_rng(seed)
        for _ in range(STEPS):
            chosen = random.integers(0, len(labels) - HELD_OUT, 64)
            noisy = with_noise(pictures[chosen], random)
            self._weights -= 0.3 * self._network.gradient(self._weights, noisy, labels[chosen])[0]

    def answer(self, query: Any, into: Any = None) -> Labels:
        """A small result: it goes by Ray in any case."""
        pictures = self.transport.open(query)
        with self.computing():
            return self._network.answer(self._weights, pictures.reshape(-1, 64))


def with_noise(pictures: Array, random: np.random.Generator) -> Array:
    noise = random.normal(0, NOISE, pictures.shape).astype(np.float32)
    return np.asarray(pictures + noise, np.float32)


def make_query(seed: int) -> tuple[Array, Labels]:
    """Pictures that no model has learned from, many times with other noise."""
    pictures, labels = digits()
    random = np.random.default_rng(seed)
    chosen = random.integers(len(labels) - HELD_OUT, len(labels), QUERY)
    return with_noise(pictures[chosen], random), labels[chosen]


def majority(answers: list[Labels]) -> Labels:
    """Of each picture the label that most models gave; the smallest of several."""
    votes = np.zeros((len(answers[0]), 10), np.uint8)
    for answer in answers:
        votes[np.arange(len(answer)), answer] += 1
    labels: Labels = votes.argmax(axis=1).astype(np.uint8)
    return labels


class Models:
    """Decides which models a query goes to, and how long they are waited for: those that are late,
    or have failed, get none until they have said something."""

    def __init__(self, models: list[Any]) -> None:
        self._models = models
        self._away: dict[Any, Any] = {}  # by what it is to say first: the model

    def vote(self, query: Any) -> Labels:
        """The majority's answer."""
        self._welcome_back()
        begin = time.perf_counter()
        away = list(self._away.values())
        asked = {model.answer.remote(query): model for model in self._models if model not in away}
        enough = min(len(self._models) // 2 + 1, len(asked))
        ready, waiting = ray.wait(list(asked), num_returns=enough, timeout=PATIENCE)
        if waiting:
            # The others in as long again as the majority took, and a second.
            patience = time.perf_counter() - begin + 1.0
            more, late = ray.wait(waiting, num_returns=len(waiting), timeout=patience)
            ready += more
            self._away.update({answer: asked[answer] for answer in late})
        answers = []
        for answer in ready:
            try:
                answers.append(ray.get(answer))
            except LOST:
                self._fails(asked[answer])
        return majority(answers)

    def _welcome_back(self) -> None:
        if not self._away:
            return
        said, _ = ray.wait(list(self._away), num_returns=len(self._away), timeout=0)
        for word in said:
            model = self._away.pop(word)
            try:
                ray.get(word)
            except LOST:
                self._fails(model)

    def _fails(self, model: Any) -> None:
        """It is back when it answers a small call."""
        self._away[model.seconds.remote()] = model


def queries(transport: Transport, models: list[Any]) -> Iterator[tuple[float, float]]:
    """Without end: of each query the seconds until the vote is known, and the part of the pictures
    that it reads."""
    several = Models(models)
    for number in itertools.count():
        query, labels = make_query(number)
        begin = time.perf_counter()
        vote = several.vote(transport.put(query))
        seconds = time.perf_counter() - begin
        yield seconds, float((vote == labels).mean())


def answer(transport: Transport, models: list[Any], count: int) -> tuple[list[float], list[float]]:
    """What `queries` says of so many: their seconds, and the parts that they read."""
    taken = list(itertools.islice(queries(transport, models), count))
    return [seconds for seconds, _ in taken], [right for _, right in taken]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--transport", choices=TRANSPORTS, default="hoplite")
    parser.add_argument("--models", type=int, default=4)
    parser.add_argument("--queries", type=int, default=10)
    options = parser.parse_args()
    transport = start(options.transport)
    models = spread(Model, transport, options.models)
    ray.get([model.seconds.remote() for model in models])  # they have learned
    seconds, right = answer(transport, models, options.queries)
    computing = ray.get([model.seconds.remote() for model in models])
    print("seconds per query:", " ".join(f"{one:.3f}" for one in seconds))
    print(f"median {np.median(seconds):.3f} s; computing, of each model {np.mean(computing):.2f} s")
    print(f"{np.mean(right):.1%} of the pictures are read")
    if min(right) < WANTED:
        raise SystemExit(f"the vote is wrong: {WANTED:.0%} were expected")


if __name__ == "__main__":
    main()
