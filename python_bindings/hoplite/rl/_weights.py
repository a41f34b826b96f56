"""What the plug-ins have in common: a worker's side of one weight sync after the other."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import Any, TypeVar

import hoplite

T = TypeVar("T")

# How long a version may take to come.
PATIENCE = 600.0
# Seconds until a node that was lost is to be there again, and between two looks; how often a call
# may lose its node.
BACK_IN, PAUSE = 30.0, 0.1
ATTEMPTS = 3


class Line:
    """A worker's channel, at a client of its own. It is opened again when its node was started
    again, and what was under way is done again. Thread-safe."""

    def __init__(self, channel: str, socket: str | None, timeout: float) -> None:
        self._name, self._socket, self._timeout = channel, socket, timeout
        self._lock = threading.Lock()
        self._client: hoplite.Client | None = None
        self._channel: hoplite.Channel | None = None
        #: Whether the channel that is open now took over.
        self.publishes = False

    def open(self, take_over: bool = False) -> hoplite.Channel:
        """Who publishes follows whoever did before with `take_over`. UnavailableError: there is no
        node; of one that was there before, not within BACK_IN."""
        with self._lock:
            if take_over and self._channel is not None:
                self._channel.close()
                self._channel = None
            until = time.monotonic() + BACK_IN
            while self._channel is None:
                try:
                    self._channel = self._opened(take_over)
                except hoplite.UnavailableError as away:
                    if self._client is None:
                        raise
                    if time.monotonic() > until:
                        raise hoplite.UnavailableError(
                            f"channel {self._name!r}: the node of this host is not back within "
                            f"{BACK_IN:g} s; start it again, and the next update goes on: {away}"
                        ) from away
                    time.sleep(PAUSE)
            return self._channel

    def call(self, function: Callable[[hoplite.Channel], T]) -> T:
        """What it gives. It is called again if its node was lost, and is back. A publisher does not
        take over from one that has come meanwhile: ConflictError."""
        for left in reversed(range(ATTEMPTS)):
            channel = self.open()
            try:
                return function(channel)
            except hoplite.UnavailableError:
                self._forget(channel)
                if not left:
                    raise
        raise AssertionError("it has returned or raised")

    def stream(self, version: int) -> Iterator[tuple[str, Any]]:
        """Each tensor of that version with its name, once. A publisher whose node is away may come
        back, each time within BACK_IN. The errors of ``Channel.stream``."""
        given: set[str] = set()
        left, gone_until = ATTEMPTS, 0.0
        while True:
            channel = self.open()
            try:
                for name, tensor in channel.stream(timeout=self._timeout, exactly=version):
                    if name not in given:
                        given.add(name)
                        gone_until = 0.0
                        yield name, tensor
                return
            except hoplite.UnavailableError:
                self._forget(channel)
                left -= 1
                if not left:
                    raise
            except hoplite.PublisherGoneError:
                gone_until = gone_until or time.monotonic() + BACK_IN
                if time.monotonic() > gone_until:
                    raise
                time.sleep(PAUSE)

    def close(self) -> None:
        """What was published goes. Idempotent."""
        with self._lock:
            if self._client is not None:
                self._client.close()
            self._channel = self._client = None

    def _opened(self, take_over: bool) -> hoplite.Channel:
        if self._client is None:
            self._client = hoplite.connect(self._socket)
        channel = self._client.channel(self._name, take_over=take_over, timeout=self._timeout)
        self.publishes = take_over
        return channel

    def _forget(self, lost: hoplite.Channel) -> None:
        with self._lock:
            if self._channel is lost:
                self._channel = None


def on_host(weights: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """The tensors in the host's memory, each with its own elements: a generator may use its memory
    again for the next one."""
    kept = {}
    for name, tensor in weights:
        plain = tensor.detach()
        kept[name] = plain.clone() if plain.device.type == "cpu" else plain.cpu()
    return kept


class Sync:
    """Of frameworks that ask all workers before each update, and then tell them what all have said:
    trainers and rollout workers alike. There is no group; who dies ends nobody else's update."""

    def __init__(self, channel: str, socket: str | None, timeout: float) -> None:
        self._line, self._timeout = Line(channel, socket, timeout), timeout
        self._publishes = False
        self._version = 0

    def prepare(self) -> dict[str, Any]:
        """The number of the next version, as far as this worker can tell."""
        return {"version": (self._line.call(lambda one: one.latest(self._timeout)) or 0) + 1}

    def begin(self, publishes: bool, said: Iterable[Any]) -> None:
        """What `prepare` gave at all workers."""
        self._version = max(one["version"] for one in said)
        if publishes and not (self._publishes and self._line.publishes):
            self._line.open(take_over=True)
        self._publishes = publishes

    async def send(self, weights: Iterable[tuple[str, Any]]) -> None:
        """One trainer publishes. All have to go through `weights`, which is a collective."""
        if not self._publishes:
            for _ in weights:
                pass
            return
        kept = on_host(weights)
        await asyncio.to_thread(
            self._line.call, lambda one: one.publish(kept, self._version, self._timeout)
        )

    async def receive(self) -> AsyncIterator[tuple[str, Any]]:
        """Each tensor with its name, as it arrives."""
        stream = self._line.stream(self._version)
        while (found := await asyncio.to_thread(next, stream, None)) is not None:
            yield found
