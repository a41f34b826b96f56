"""How a driver starts Hoplite for its job."""

from __future__ import annotations

import os
from typing import Any

import ray
from ray._private.worker import global_worker

from hoplite import _spill
from hoplite.errors import InvalidArgumentError, UnavailableError
from hoplite.ray import _job, _transparent
from hoplite.ray._setup import missing
from hoplite.ray._version import warn_if_other

# Of orphan_grace, in seconds: a tombstone has to last longer.
LONGEST_GRACE = 50.0


def init(
    memory: int | str = "1GiB",
    orphan_grace: float = 30.0,
    *,
    spill: str | os.PathLike[str] | None = None,
    spill_limit: int | str = 0,
    transparent: int | str | None = None,
    **ray_init: Any,
) -> None:
    """Starts Hoplite on all nodes of the Ray cluster, for this job; call it after ``ray.init``.

    `memory`: what each node's store has, a number of bytes or a text such as "4GiB". Ray nodes that
    join later get theirs at first use. All of it ends with the job. A second call changes nothing.
    `orphan_grace`: objects stay for so many seconds when the process that made their Refs has died,
    or the Hoplite node of its host; at most 50.
    `spill`, a folder that each host has on a disk: put objects lie there when memory is wanted, up
    to `spill_limit` for each node ("100GiB").

    `transparent`, such as "1MiB": NumPy arrays and tensors of so many bytes travel as objects also
    where the program uses Ray alone. Call this in place of ``ray.init``, which it calls with the
    other arguments; or see ``runtime_env``.

    UnavailableError: ``ray.init`` was not called, or Hoplite does not start on a host, which it
    names. InvalidArgumentError: this is no driver, `orphan_grace` is out of its range, there is no
    such `memory` or `spill`, or Ray was started without what `transparent` needs.
    """
    if not 0 <= orphan_grace <= LONGEST_GRACE:
        raise InvalidArgumentError(
            f"hoplite.ray.init: orphan_grace is {orphan_grace}, 0 to {LONGEST_GRACE} are allowed"
        )
    _start_ray(transparent, ray_init)
    if global_worker.mode != ray.SCRIPT_MODE:
        # What a task starts ends with its process.
        raise InvalidArgumentError("hoplite.ray.init: call it in the driver")
    _job.start(str(memory), orphan_grace, _spill.options(spill, spill_limit))
    limit = _transparent.limit_of_job()
    warn_if_other(missing() + ("" if limit is None else _transparent.turn_on(limit)))


def _start_ray(transparent: int | str | None, ray_init: dict[str, Any]) -> None:
    """If it does not run and this is to start it."""
    size = None if transparent is None else _transparent.bytes_of(transparent)
    if transparent is not None and not ray.is_initialized():
        named = dict(ray_init)
        named["runtime_env"] = _transparent.runtime_env(transparent, named.get("runtime_env"))
        ray.init(**named)
    elif ray_init:
        raise InvalidArgumentError(
            f"hoplite.ray.init: {', '.join(ray_init)}: arguments of ray.init, which "
            + ("was called already" if ray.is_initialized() else "only transparent= calls")
        )
    if not ray.is_initialized():
        raise UnavailableError("hoplite.ray.init: call ray.init() first")
    if transparent is not None and _transparent.limit_of_job() != size:
        raise InvalidArgumentError(
            "hoplite.ray.init: Ray was started without this transparent mode: call "
            "hoplite.ray.init(transparent=...) in place of ray.init, or "
            "ray.init(runtime_env=hoplite.ray.runtime_env(...)) before"
        )
