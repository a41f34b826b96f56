"""Where the `hoplite` program is: in the package, or where ``HOPLITE_PROGRAM`` says."""

from __future__ import annotations

import os
from pathlib import Path


def path() -> str:
    """FileNotFoundError names the places that were looked at."""
    named = os.environ.get("HOPLITE_PROGRAM")
    place = Path(named) if named else Path(__file__).parent / "bin" / "hoplite"
    if not place.is_file():
        raise FileNotFoundError(
            f"the program hoplite is not at {place} (HOPLITE_PROGRAM names another place)"
        )
    return str(place)
