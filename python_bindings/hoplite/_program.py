"""Where the `hoplite` program is, and how one is started that works for this process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

# Of what is started: Ctrl-C on the terminal does not reach it. Python 3.10 knows only sessions.
OWN_GROUP: dict[str, Any] = (
    {"process_group": 0} if sys.version_info >= (3, 11) else {"start_new_session": True}
)


def path() -> str:
    """In the package, or where ``HOPLITE_PROGRAM`` says. FileNotFoundError names the places that
    were looked at."""
    named = os.environ.get("HOPLITE_PROGRAM")
    place = Path(named) if named else Path(__file__).parent / "bin" / "hoplite"
    if not place.is_file():
        raise FileNotFoundError(
            f"the program hoplite is not at {place} (HOPLITE_PROGRAM names another place)"
        )
    return str(place)


def start(
    *arguments: str,
    stderr: IO[bytes] | int,
    log_level: str | None = None,
    with_parent: bool = True,
) -> subprocess.Popen[bytes]:
    """Runs ``hoplite ARGUMENTS --json``, which tells on its standard output when it is ready.

    It ends with this process, however that ends: a signal to this process alone leaves it no time
    to end others. It is in a process group of its own, so Ctrl-C on the terminal does not reach it.
    `log_level`: unless ``HOPLITE_LOG`` says another. Without `with_parent` it goes on when this
    process ends.
    """
    until = [f"--exit-with-parent={os.getpid()}"] if with_parent else []
    environment = os.environ.copy()
    if log_level is not None:
        environment.setdefault("HOPLITE_LOG", log_level)
    return subprocess.Popen(
        [path(), *arguments, *until, "--json"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=stderr,
        env=environment,
        **OWN_GROUP,
    )
