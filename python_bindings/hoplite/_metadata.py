"""What stands in an object's metadata: JSON text, of which the first line is what the sources of a
reduction must have in common. An object of plain bytes has none.

Must never believe it: it may come from a stranger's program.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

LIMIT = 4096


class Mismatch(ValueError):
    """The object's bytes are not what its metadata says."""


def write(common: dict[str, Any], rest: dict[str, Any]) -> bytes:
    """`common` is the first line. What is empty in `rest` is left out."""
    more = {key: value for key, value in rest.items() if value}
    tail = f",{_json(more)[1:-1]}" if more else ""
    return f"{_json(common)[:-1]}\n{tail}}}".encode()


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
