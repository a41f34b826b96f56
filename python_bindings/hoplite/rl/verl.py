"""A checkpoint engine for verl: the first actor publishes the weights, the rollout workers stream
them. In the rollout's configuration::

    checkpoint_engine:
      backend: hoplite
      custom_backend_module: hoplite.rl.verl
      engine_kwargs:
        hoplite: {channel: policy}   # socket: of the host's node, else HOPLITE_SOCKET
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Any

import hoplite
from hoplite.rl import _weights

try:
    from verl.checkpoint_engine.base import CheckpointEngine, CheckpointEngineRegistry
except ImportError as missing:
    raise ImportError("hoplite.rl.verl needs verl: pip install 'verl==0.9.1'") from missing


@CheckpointEngineRegistry.register("hoplite")
class HopliteCheckpointEngine(CheckpointEngine):
    """As verl's own engines are used. A worker that dies ends nobody else's update; the next update
    finds whoever is there then."""

    def __init__(
        self,
        bucket_size: int,
        channel: str = "verl",
        socket: str | None = None,
        timeout: float = _weights.PATIENCE,
        is_master: bool = False,
    ) -> None:
        self._name, self._socket, self._timeout = channel, socket, timeout
        self._channel: hoplite.Channel | None = None
        self._publishes = False
        self._version = 0

    def prepare(self) -> dict[str, Any]:
        """The number of this update, as this worker would give it: the first actor's counts."""
        if self._channel is None:
            self._channel = _weights.opened(self._name, self._socket, False, self._timeout)
        return {"version": (self._channel.latest(self._timeout) or 0) + 1}

    @classmethod
    def build_topology(
        cls, actor_wg_world_size: int, rollout_world_size: int, metadata: list[dict[str, Any]]
    ) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
        """Who publishes, and which version; there is no group."""

        def told(publishes: list[bool]) -> dict[str, list[Any]]:
            return {"publishes": publishes, "version": [metadata[0]["version"]] * len(publishes)}

        others = actor_wg_world_size - 1
        return told([True] + [False] * others), told([False] * rollout_world_size)

    def init_process_group(self, publishes: bool, version: int) -> None:
        """What `build_topology` says of this worker."""
        self._version = version
        if publishes and not self._publishes:
            if self._channel is not None:
                self._channel.close()
            self._channel = _weights.opened(self._name, self._socket, True, self._timeout)
        self._publishes = publishes

    def finalize(self) -> None:
        """Nothing: a version stays for those who come late, until the next but one."""

    async def send_weights(
        self, weights: Iterable[tuple[str, Any]], global_steps: int | None = None
    ) -> None:
        """The first actor publishes. All have to go through `weights`, which is a collective."""
        if not self._publishes:
            for _ in weights:
                pass
            return
        assert self._channel is not None
        kept = _weights.on_host(weights)
        await asyncio.to_thread(self._channel.publish, kept, self._version, self._timeout)

    async def receive_weights(
        self, global_steps: int | None = None
    ) -> AsyncIterator[tuple[str, Any]]:
        """Each tensor with its name, as it arrives."""
        assert self._channel is not None
        stream = await asyncio.to_thread(
            self._channel.stream, timeout=self._timeout, exactly=self._version
        )
        while (found := await asyncio.to_thread(next, stream, None)) is not None:
            yield found
