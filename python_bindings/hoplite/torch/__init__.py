"""torch.distributed over Hoplite: the back end ``hoplite``, and a store.

>>> import hoplite.torch, torch.distributed as dist
>>> dist.init_process_group("hoplite")                              # doctest: +SKIP

Its ranks attach to the nodes that ``HOPLITE_SOCKET`` names. Without that the first rank of each
host starts a node, and rank 0 a directory.
"""

from __future__ import annotations

from hoplite import _torch, _torch_backend

try:
    import torch.distributed  # noqa: F401 - whether it can be imported is the question
except ImportError as missing:
    raise ImportError(
        f"hoplite.torch needs PyTorch: pip install 'torch=={_torch.TESTED}'"
    ) from missing

_torch.require_torch()  # warns of another version

from hoplite.torch._group import Group  # noqa: E402 - where there is PyTorch
from hoplite.torch._store import Store  # noqa: E402

__all__ = [
    "Group",
    "Store",
]

_torch_backend.add()
