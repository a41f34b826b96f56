"""Which processes know Ray's tensor transports of this package: all that import it."""

from __future__ import annotations

import importlib.util

import numpy as np


def setup() -> None:
    """Makes ``tensor_transport="hoplite"`` and ``"hoplite_numpy"`` known to Ray in this process;
    ``import hoplite.ray`` has done so.

    A worker of plain tasks may have to read such ObjectRefs before it imports anything:
    ``ray.init(runtime_env={"worker_process_setup_hook": "hoplite.ray.setup"})`` calls this there.
    ImportError: this Ray has no tensor transports.
    """
    from ray.experimental.rdt import util  # noqa: PLC0415 - another Ray may lack it

    from hoplite.ray import _transport  # noqa: PLC0415 - likewise

    known = util.transport_manager_info
    if "HOPLITE_NUMPY" not in known:
        util.register_tensor_transport("HOPLITE_NUMPY", ["cpu"], _transport.Arrays, np.ndarray)
    if "HOPLITE" not in known and importlib.util.find_spec("torch") is not None:
        known["HOPLITE"] = _transport.InfoOfTensors(_transport.Tensors, ["cpu"], None)


def missing() -> str:
    """`setup`, where this Ray has what that needs; what it lacks, for the end of a sentence."""
    try:
        setup()
    except (ImportError, AttributeError) as error:
        return f", which knows no tensor_transport='hoplite' ({error})"
    return ""
