"""What the plug-ins have in common: a worker's side of one weight sync after the other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Any

import hoplite

# How long a version may take to come.
PATIENCE = 600.0


def opened(channel: str, socket: str | None, publishes: bool, timeout: float) -> hoplite.Channel:
    """The channel, at a client of its own. Who publishes follows whoever did before."""
    client = hoplite.connect(socket)
    return client.channel(channel, take_over=publishes, timeout=timeout)


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
        self._name, self._socket, self._timeout = channel, socket, timeout
        self._channel: hoplite.Channel | None = None
        self._publishes = False
        self._version = 0

    def prepare(self) -> dict[str, Any]:
        """The number of the next version, as far as this worker can tell."""
        if self._channel is None:
            self._channel = opened(self._name, self._socket, False, self._timeout)
        return {"version": (self._channel.latest(self._timeout) or 0) + 1}

    def begin(self, publishes: bool, said: Iterable[Any]) -> None:
        """What `prepare` gave at all workers."""
        self._version = max(one["version"] for one in said)
        if publishes and not self._publishes:
            if self._channel is not None:
                self._channel.close()
            self._channel = opened(self._name, self._socket, True, self._timeout)
        self._publishes = publishes

    async def send(self, weights: Iterable[tuple[str, Any]]) -> None:
        """One trainer publishes. All have to go through `weights`, which is a collective."""
        if not self._publishes:
            for _ in weights:
                pass
            return
        assert self._channel is not None
        kept = on_host(weights)
        await asyncio.to_thread(self._channel.publish, kept, self._version, self._timeout)

    async def receive(self) -> AsyncIterator[tuple[str, Any]]:
        """Each tensor with its name, as it arrives."""
        assert self._channel is not None
        stream = await asyncio.to_thread(
            self._channel.stream, timeout=self._timeout, exactly=self._version
        )
        while (found := await asyncio.to_thread(next, stream, None)) is not None:
            yield found
