"""What both sides of a weight sync do."""

from __future__ import annotations

from collections.abc import Iterable
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
