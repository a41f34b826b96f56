"""Errors of calls that wait for Refs, in the words of a Ray program."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import ray

from hoplite.errors import ObjectDeletedError, TimeoutError

if TYPE_CHECKING:
    from hoplite.ray._refs import Ref

# Seconds that Ray is given to say whether a maker lives.
ASKS_RAY = 1.0


class GetTimeoutError(TimeoutError, ray.exceptions.GetTimeoutError):  # type: ignore[misc]
    """A ``hoplite.TimeoutError`` that programs of Ray catch as theirs, too."""


@contextlib.contextmanager
def of_refs(refs: Sequence[Ref]) -> Iterator[None]:
    """A timeout is Ray's GetTimeoutError as well; `deleted` says if a Ref's maker has died."""
    try:
        yield
    except TimeoutError as error:
        raise GetTimeoutError(str(error)) from None
    except ObjectDeletedError as error:
        dead = [ref for ref in refs if ref.hex() in str(error) and maker_died(ref)]
        if not dead:
            raise
        raise ObjectDeletedError(f"{error}: the process that made {dead[0]} has died") from None


def maker_died(ref: Ref) -> bool:
    """Whether Ray says so of the process that made it, which owns its token."""
    try:
        ray.get(ref._token, timeout=ASKS_RAY)
    except ray.exceptions.OwnerDiedError:
        return True
    except Exception:  # whatever else it is, it is no word about the maker
        return False
    return False
