"""What stands in an object's metadata: JSON text, of which the first line is what the sources of a
reduction must have in common. An object of plain bytes has none, unless something is said beside.

Must never believe it: it may come from a stranger's program.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from hoplite.errors import InvalidArgumentError

LIMIT = 4096
# What is left to the description of the value. In bytes of JSON.
USERS_LIMIT = 2048


class Mismatch(ValueError):
    """The object's bytes are not what its metadata says."""


def write(common: dict[str, Any], rest: dict[str, Any]) -> bytes:
    """`common` is the first line. What is empty in `rest` is left out. InvalidArgumentError: it is
    too long."""
    more = {key: value for key, value in rest.items() if value}
    tail = f",{_json(more)[1:-1]}" if more else ""
    text = f"{_json(common)[:-1]}\n{tail}}}".encode()
    if len(text) > LIMIT:
        raise InvalidArgumentError(
            f"the description of the value takes {len(text)} bytes of metadata; at most {LIMIT} "
            "are allowed"
        )
    return text


def read(metadata: bytes) -> dict[str, Any]:
    """What is described; empty if it is somebody else's metadata, or none."""
    try:
        described = json.loads(metadata) if metadata else {}
    except ValueError:
        return {}
    return described if isinstance(described, dict) else {}


def noted(metadata: bytes) -> str:
    """The note of who has put it, for a runtime's own use; empty if there is none."""
    note = read(metadata).get("note", "")
    return note if isinstance(note, str) else ""


def beside(user: dict[str, Any] | None) -> dict[str, Any]:
    """What a user's own metadata adds. TypeError: it is no dict. InvalidArgumentError: JSON does
    not give it back as it was, or it is too long."""
    if user is None:
        return {}
    if not isinstance(user, dict):
        raise TypeError(f"metadata: a dict is expected, not {type(user).__name__}")
    try:
        text = _json(user)
        same = json.loads(text) == user
    except (TypeError, ValueError) as why:
        raise InvalidArgumentError(f"metadata: it can't be written as JSON: {why}") from None
    if not same:
        raise InvalidArgumentError(
            "metadata: JSON does not give it back as it was: its keys have to be texts, its values "
            "dicts, lists, texts, numbers, True, False or None"
        )
    if len(text.encode()) > USERS_LIMIT:
        raise InvalidArgumentError(
            f"metadata: it takes {len(text.encode())} bytes as JSON; at most {USERS_LIMIT} are "
            "allowed: put what is larger as an object"
        )
    return {"user": user}


def users(metadata: bytes) -> dict[str, Any]:
    """A user's own; empty if there is none."""
    user = read(metadata).get("user", {})
    return user if isinstance(user, dict) else {}


@dataclass(frozen=True)
class Fold:
    """What a reduction folds of such an object."""

    kind: str  # "array", "pickle"
    dtype: str
    nbytes: int = 0  # the first ones; 0: all

    @property
    def alike(self) -> bytes:
        """How the metadata of every source begins."""
        return _json({"kind": self.kind, "dtype": self.dtype})[:-1].encode()


def _json(described: dict[str, Any]) -> str:
    return json.dumps(described, separators=(",", ":"))
