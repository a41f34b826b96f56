"""The entry point of PyTorch's group ``torch.backends``: `import torch` calls it, from 2.5 on, so
that a program needs no `import hoplite.torch`, which is imported when a group is made."""

from __future__ import annotations

import contextlib
import importlib
from typing import Any

NAME = "hoplite"


def register() -> None:
    """Makes "hoplite" a back end of torch.distributed. Raises nothing: torch would not be
    imported."""
    with contextlib.suppress(Exception):
        add()


def add() -> None:
    """From now on torch knows the back end."""
    distributed = importlib.import_module("torch.distributed")
    if distributed.is_available() and NAME not in distributed.Backend.backend_list:
        distributed.Backend.register_backend(NAME, _group, extended_api=True, devices=["cpu"])


def _group(*options: Any) -> Any:
    return importlib.import_module("hoplite.torch").Group(*options)
