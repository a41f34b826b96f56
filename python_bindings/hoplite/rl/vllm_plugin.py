"""The entry point of vLLM's plug-ins: each of its processes calls it, and what it names is imported
only where it is used."""

from __future__ import annotations

import importlib

HERE = "hoplite.rl.vllm"


def register() -> None:
    """Makes "hoplite" a back end of vLLM's weight transfer."""
    factory = importlib.import_module("vllm.distributed.weight_transfer.factory")
    for registry, engine in (
        (factory.WeightTransferEngineFactory, "HopliteWeightTransferEngine"),
        (factory.WeightTransferTrainerFactory, "HopliteTrainerWeightTransferEngine"),
    ):
        registry.register_engine("hoplite", HERE, engine)
