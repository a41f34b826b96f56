"""A checkpoint engine for NeMo RL, by its class path: the policy's rank 0 publishes the weights,
the rollout workers stream them. In the generation's configuration: ``refit_transport:
"hoplite.rl.nemo:HopliteCheckpointEngine"``.

It inherits from nothing: NeMo RL calls it as it calls its own engines.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Any

from hoplite.rl import _weights


class HopliteCheckpointEngine:
    """The interface of ``nemo_rl.utils.checkpoint_engines.base.CheckpointEngine``."""

    cleanup_after_load = True
    shard_expert_weights = False

    def __init__(
        self,
        bucket_size: int,
        channel: str = "nemo_rl",
        socket: str | None = None,
        timeout: float = _weights.PATIENCE,
    ) -> None:
        self._bucket_size = bucket_size
        self._sync = _weights.Sync(channel, socket, timeout)

    def prepare(self) -> dict[str, Any]:
        """What the others have to know of this worker."""
        return self._sync.prepare()

    def init_policy_process_group(
        self,
        *,
        worker_rank: int,
        train_world_size: int,
        rollout_world_size: int,
        metadata: list[Any],
    ) -> None:
        """Rank 0 publishes."""
        self._sync.begin(worker_rank == 0, metadata)

    def init_rollout_process_group(
        self,
        *,
        rollout_rank: int,
        train_world_size: int,
        rollout_world_size: int,
        metadata: list[Any],
    ) -> None:
        """Nobody there does."""
        self._sync.begin(False, metadata)

    def finalize(self) -> None:
        """Nothing: a version stays for those who come late, until the next but one."""

    async def send_weights(self, weights: Iterable[tuple[str, Any]]) -> None:
        """Rank 0 publishes; the others go through `weights`."""
        await self._sync.send(weights)

    async def receive_weight_batches(self) -> AsyncIterator[list[tuple[str, Any]]]:
        """Tensors with their names as they arrive, about a bucket at a time."""
        batch: list[tuple[str, Any]] = []
        size = 0
        async for name, tensor in self._sync.receive():
            batch.append((name, tensor))
            size += tensor.nbytes
            if size >= self._bucket_size:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch
