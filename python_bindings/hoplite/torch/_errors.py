"""What an operation says when it fails: which rank, and why."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch.distributed as dist

from hoplite import Client
from hoplite._core import ObjectId
from hoplite._lives import was_put
from hoplite.errors import (
    CancelledError,
    HopliteError,
    ObjectDeletedError,
    TimeoutError,
    UnavailableError,
)
from hoplite.torch._members import Members


class Errors:
    """Those of one rank's operations, as torch's own."""

    def __init__(self, client: Client, members: Members) -> None:
        self._client, self._members = client, members

    @contextlib.contextmanager
    def explained(self, seconds: float) -> Iterator[dict[ObjectId, int]]:
        """DistBackendError. Gives what the operation fills with what it waits for, and whose that
        is."""
        awaited: dict[ObjectId, int] = {}
        try:
            yield awaited
        except TimeoutError as error:
            missing = self._missing(awaited)
            late = f" for {self._members.name(*missing)}" if missing else ""
            raise dist.DistBackendError(
                f"hoplite: timed out: {seconds:g} s were not enough{late}: "
                f"{self._with_names(error, awaited)}"
            ) from error
        except HopliteError as error:
            # Others may have heard first that a rank has died, and what they had put is gone.
            over = isinstance(error, (CancelledError, ObjectDeletedError, UnavailableError))
            why = (self._members.why_over() if over else "") or self._with_names(error, awaited)
            raise dist.DistBackendError(f"hoplite: {why}") from error

    def _with_names(self, error: HopliteError, awaited: dict[ObjectId, int]) -> str:
        """What it says, with ranks in place of the objects that are theirs."""
        said = str(error)
        for place, (id, rank) in enumerate(awaited.items()):
            name = self._members.name(rank)
            said = said.replace(f"out[{place}] is", f"this rank's tensor for {name} is")
            said = said.replace(f"source {id}", name).replace(str(id), f"that of {name}")
        return said

    def _missing(self, awaited: dict[ObjectId, int]) -> set[int]:
        """The ranks that have not put what is waited for."""
        with contextlib.suppress(HopliteError):
            return {rank for id, rank in awaited.items() if not was_put(self._client, id)}
        return set()
