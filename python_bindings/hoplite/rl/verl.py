"""A checkpoint engine for verl: the first actor publishes the weights, the rollout workers stream
them. In the rollout's configuration::

    checkpoint_engine:
      backend: hoplite
      custom_backend_module: hoplite.rl.verl
      engine_kwargs:
        hoplite: {channel: policy}   # socket: of the host's node, else HOPLITE_SOCKET
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Any

from hoplite.rl import _weights

try:
    from verl.checkpoint_engine.base import CheckpointEngine, CheckpointEngineRegistry
except ImportError as missing:
    raise ImportError("hoplite.rl.verl needs verl: pip install 'verl==0.9.1'") from missing


@CheckpointEngineRegistry.register("hoplite")
class HopliteCheckpointEngine(CheckpointEngine):
    """As verl's own engines are used. `bucket_size` has no use: nothing is cut."""

    def __init__(
        self,
        bucket_size: int,
        channel: str = "verl",
        socket: str | None = None,
        timeout: float = _weights.PATIENCE,
        is_master: bool = False,
    ) -> None:
        self._sync = _weights.Sync(channel, socket, timeout)

    def prepare(self) -> dict[str, Any]:
        """What `build_topology` has to know of this worker."""
        return self._sync.prepare()

    @classmethod
    def build_topology(
        cls, actor_wg_world_size: int, rollout_world_size: int, metadata: list[dict[str, Any]]
    ) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
        """Who publishes, and what all have said."""

        def told(publishes: list[bool]) -> dict[str, list[Any]]:
            return {"publishes": publishes, "said": [metadata] * len(publishes)}

        others = actor_wg_world_size - 1
        return told([True] + [False] * others), told([False] * rollout_world_size)

    def init_process_group(self, publishes: bool, said: list[dict[str, Any]]) -> None:
        """What `build_topology` says to this worker."""
        self._sync.begin(publishes, said)

    def finalize(self) -> None:
        """Nothing: a version stays for those who come late, until the next but one."""

    async def send_weights(
        self, weights: Iterable[tuple[str, Any]], global_steps: int | None = None
    ) -> None:
        """The first actor publishes; the others go through `weights`."""
        await self._sync.send(weights)

    async def receive_weights(
        self, global_steps: int | None = None
    ) -> AsyncIterator[tuple[str, Any]]:
        """Each tensor with its name, as it arrives."""
        async for found in self._sync.receive():
            yield found
