"""What Ray gets to know of this package: its tensor transports, and its back end of collectives."""

from __future__ import annotations

import importlib.util
import sys

import numpy as np
from ray._private.worker import global_worker

COLLECTIVE = "ray.util.collective"


def setup() -> None:
    """Makes ``tensor_transport="hoplite"`` and ``"hoplite_numpy"`` known to Ray in this process,
    and the back end ``hoplite`` of ``ray.util.collective``.

    ``import hoplite.ray`` has done the first, and the second if ``ray.util.collective``, which
    imports torch, was imported before. For all workers of a job:
    ``ray.init(runtime_env={"worker_process_setup_hook": "hoplite.ray.setup"})``. Idempotent.
    ImportError: this Ray has no tensor transports.
    """
    _add_transports()
    _add_backend()


def missing() -> str:
    """What an import does, where this Ray has what that needs; what it lacks, for the end of a
    sentence."""
    try:
        _add_transports()
        if COLLECTIVE in sys.modules:
            _add_backend()
    except (ImportError, AttributeError) as error:
        return f", which knows no tensor_transport='hoplite' ({error})"
    return ""


def _add_transports() -> None:
    from ray.experimental.rdt import util  # noqa: PLC0415 - another Ray may lack it

    from hoplite.ray import _transport  # noqa: PLC0415 - likewise

    # Ray makes it at first use, without a lock: two threads of an actor could get one each, and one
    # wait there for tensors that the other has.
    assert global_worker.rdt_manager is not None
    known = util.transport_manager_info
    if "HOPLITE_NUMPY" not in known:
        util.register_tensor_transport("HOPLITE_NUMPY", ["cpu"], _transport.Arrays, np.ndarray)
    if "HOPLITE" not in known and importlib.util.find_spec("torch") is not None:
        known["HOPLITE"] = _transport.InfoOfTensors(_transport.Tensors, ["cpu"], None)


def _add_backend() -> None:
    registry = importlib.import_module(f"{COLLECTIVE}.backend_registry")
    if not registry._global_registry.is_registered("HOPLITE"):
        group = importlib.import_module("hoplite.ray._collective").Group
        registry.register_collective_backend("HOPLITE", group)
