"""A weight transfer for vLLM: the trainer's rank 0 publishes the weights in a channel, and each
worker of the inference engine streams them into its model.

vLLM finds the back end by itself, as a plug-in: ``WeightTransferConfig(backend="hoplite")`` for the
engine, and in the trainer ::

    from vllm.distributed.weight_transfer.factory import WeightTransferTrainerFactory
    from hoplite.rl.vllm import HopliteTrainerInitInfo

    info = HopliteTrainerInitInfo(channel="policy", rank=rank)
    trainer = WeightTransferTrainerFactory.trainer_init(info, client=client, source=source)
    trainer.send_weights()
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any, ClassVar

from hoplite.rl import _weights

try:
    from vllm.distributed.weight_transfer.base import (
        TrainerInitInfo,
        TrainerWeightTransferEngine,
        WeightTransferEngine,
        WeightTransferInitInfo,
        WeightTransferUpdateInfo,
    )
except ImportError as missing:
    raise ImportError("hoplite.rl.vllm needs vLLM: pip install 'vllm==0.33.0'") from missing


def _reload() -> Any:
    """Not at the import: a trainer has no model of vLLM."""
    return importlib.import_module("vllm.model_executor.model_loader.reload")


@dataclass
class HopliteInitInfo(WeightTransferInitInfo):
    """Of a worker of the inference engine."""

    channel: str
    socket: str | None = None  # of the worker's host; None: HOPLITE_SOCKET
    timeout: float = _weights.PATIENCE


@dataclass
class HopliteUpdateInfo(WeightTransferUpdateInfo):
    """Of one update."""

    version: int


@dataclass
class HopliteTrainerInitInfo(TrainerInitInfo):
    """Of a rank of the trainer; rank 0 publishes."""

    backend: ClassVar[str] = "hoplite"

    channel: str
    socket: str | None = None  # of the trainer's host; None: HOPLITE_SOCKET
    timeout: float = _weights.PATIENCE


class HopliteWeightTransferEngine(WeightTransferEngine[HopliteInitInfo, HopliteUpdateInfo]):
    """In each worker of the inference engine."""

    init_info_cls = HopliteInitInfo
    update_info_cls = HopliteUpdateInfo

    _line: _weights.Line | None = None

    def init_transfer_engine(self, init_info: HopliteInitInfo) -> None:
        """Opens the channel, which the trainer need not have done yet."""
        self._line = _weights.Line(init_info.channel, init_info.socket, init_info.timeout)
        self._line.open()

    def start_weight_update(self) -> None:
        """Weights come in the checkpoint's format, layer by layer."""
        _reload().initialize_layerwise_reload(self.model)

    def receive_weights(self, update_info: HopliteUpdateInfo) -> None:
        """Loads each tensor as it arrives."""
        assert self._line is not None
        stream = self._line.stream(update_info.version)
        self.model.load_weights((name, tensor.to(self.device)) for name, tensor in stream)

    def finish_weight_update(self) -> None:
        """All layers are there."""
        _reload().finalize_layerwise_reload(self.model, self.model_config)

    def shutdown(self) -> None:
        """Closes the channel."""
        if self._line is not None:
            self._line.close()


class HopliteTrainerWeightTransferEngine(TrainerWeightTransferEngine[HopliteTrainerInitInfo]):
    """In each rank of the trainer."""

    init_info_cls = HopliteTrainerInitInfo

    _line: _weights.Line | None = None
    _timeout = _weights.PATIENCE

    @classmethod
    def trainer_init(
        cls, init_info: HopliteTrainerInitInfo, *, client: Any, source: Any = None
    ) -> HopliteTrainerWeightTransferEngine:
        """Rank 0 becomes the channel's publisher, and tells the workers its name."""
        if source is None:
            raise ValueError("hoplite: a WeightSource is needed")
        engine = cls(
            client=client, source=source, is_sender=init_info.is_sender, rank=init_info.rank
        )
        if engine.is_sender:
            engine._timeout = init_info.timeout
            engine._line = _weights.Line(init_info.channel, init_info.socket, init_info.timeout)
            engine._line.open(take_over=True)
            client.init_weight_transfer_engine(
                {"channel": init_info.channel, "timeout": init_info.timeout}
            )
        return engine

    def send_weights(self) -> None:
        """Every rank goes through the source, which gathers; rank 0 publishes, and has the workers
        load that version."""
        if not self.is_sender:
            for _ in self.source.iter_full():
                pass
            return
        assert self._line is not None
        kept = _weights.on_host(self.source.iter_full())
        version = self._line.call(lambda one: one.publish(kept, timeout=self._timeout))
        self.client.start_weight_update()
        self.client.update_weights({"version": version})
        self.client.finish_weight_update(str(version))

    def shutdown(self) -> None:
        """Closes the channel: what was published goes."""
        if self._line is not None:
            self._line.close()
