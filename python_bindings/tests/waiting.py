"""How tests wait for words that come from other processes."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(says: Callable[[], str], *parts: str) -> str:
    """What it says as soon as it says all of these."""
    deadline = time.monotonic() + 20
    while not all(part in says() for part in parts):
        assert time.monotonic() < deadline, says()
        time.sleep(0.01)
    return says()
