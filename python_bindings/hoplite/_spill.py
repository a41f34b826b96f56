"""Where nodes lay put objects when memory is wanted, as options of the program."""

from __future__ import annotations

import os


def options(spill: str | os.PathLike[str] | None, spill_limit: int | str) -> tuple[str, ...]:
    """Of a node: a folder on its disk (None: it has none), and how much of that it may take."""
    if spill is None:
        return ()
    return (f"--spill={os.fspath(spill)}", f"--spill-limit={spill_limit}")
