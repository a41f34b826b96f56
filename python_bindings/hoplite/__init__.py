"""Hoplite: objects that the processes of a changing group share, broadcast by whoever has them and
reduced wherever they are.

>>> import numpy as np, hoplite
>>> with hoplite.LocalCluster(nodes=2, memory="64MiB") as cluster:
...     a, b = cluster.connect(0), cluster.connect(1)
...     x = a.put(np.arange(4, dtype=np.float32))
...     y = b.put(np.ones(4, dtype=np.float32))
...     total = a.get(a.reduce([x, y], op="sum").target, timeout=5.0)
>>> total
array([1., 2., 3., 4.], dtype=float32)

A worker attaches to the node of its host with ``hoplite.connect(socket)``.
"""

import importlib
from typing import TYPE_CHECKING, Any

from hoplite._channel import Channel, Snapshot
from hoplite._client import Client, connect
from hoplite._cluster import LocalCluster
from hoplite._core import ObjectId, __version__
from hoplite._register import Register
from hoplite._register_entry import RegisterEntry
from hoplite._under_way import Draft, Reduction
from hoplite.errors import (
    AlreadyExistsError,
    CancelledError,
    ConflictError,
    DataLossError,
    HopliteError,
    InternalError,
    InvalidArgumentError,
    NotFoundError,
    ObjectDeletedError,
    ObjectFailedError,
    PeerLostError,
    ProtocolError,
    PublisherGoneError,
    RecalledError,
    ResourceExhaustedError,
    TimeoutError,
    UnavailableError,
)

__all__ = [
    "AlreadyExistsError",
    "CancelledError",
    "Channel",
    "Client",
    "ConflictError",
    "DataLossError",
    "Draft",
    "HopliteError",
    "InternalError",
    "InvalidArgumentError",
    "LocalCluster",
    "NotFoundError",
    "ObjectDeletedError",
    "ObjectFailedError",
    "ObjectId",
    "PeerLostError",
    "ProtocolError",
    "PublisherGoneError",
    "RecalledError",
    "Reduction",
    "Register",
    "RegisterEntry",
    "ResourceExhaustedError",
    "Snapshot",
    "TimeoutError",
    "UnavailableError",
    "__version__",
    "connect",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """``hoplite.ray`` where only ``hoplite`` was imported. A task that Ray takes apart may name
        it in a nested function, whose imports Ray does not see."""
        if name == "ray":
            try:
                return importlib.import_module("hoplite.ray")
            except ImportError as missing:
                raise AttributeError(str(missing), name="ray") from missing
        raise AttributeError(f"module 'hoplite' has no attribute {name!r}", name=name)
