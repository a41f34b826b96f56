"""Where nodes lay put objects when memory is wanted, as options of the program."""

from __future__ import annotations

import os


def options(
    spill: str | os.PathLike[str] | None, spill_limit: int | str, nodes: int = 1
) -> tuple[str, ...]:
    """Of a node: a folder on its disk (None: it has none), and how much of that it may take, as
    each of so many nodes."""
    if spill is None:
        return ()
    return (f"--spill={os.fspath(spill)}", f"--spill-limit={spill_limit}", f"--spill-nodes={nodes}")
