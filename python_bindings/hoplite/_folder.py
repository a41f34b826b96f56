"""A folder for the sockets of one process's cluster."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

PREFIX = "hoplite-cluster-"  # nobody else makes folders of this name: an empty one may be removed
# The path of a Unix socket may have 107 bytes only, and a TMPDIR may be longer than that.
SHORT = "/tmp"


class Folder:
    """Made here, and locked as long as this process or a forked child of it lives.

    The lock tells whose owner was killed: the next one who makes a folder removes those that are
    empty and not locked.
    """

    def __init__(self) -> None:
        where = place()
        _remove_left(where)
        while True:
            self.path = tempfile.mkdtemp(prefix=PREFIX, dir=where)
            self._lock = _locked(self.path, fcntl.LOCK_EX)
            if self._lock is not None:
                return  # else another process removed it before it was locked

    def remove(self) -> None:
        """With all that is in it. Idempotent."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def place() -> str:
    """Where folders for sockets are made."""
    return SHORT if os.access(SHORT, os.W_OK | os.X_OK) else tempfile.gettempdir()


def locked(path: str) -> int:
    """A descriptor that keeps it locked until it is closed; waits for others."""
    descriptor = _locked(path, fcntl.LOCK_EX)
    if descriptor is None:
        raise FileNotFoundError(path)
    return descriptor


def _remove_left(where: str) -> None:
    for path in Path(where).glob(PREFIX + "*"):
        lock = _locked(str(path), fcntl.LOCK_EX | fcntl.LOCK_NB)
        if lock is not None:
            with contextlib.suppress(OSError):
                path.rmdir()
            os.close(lock)


def _locked(path: str, how: int) -> int | None:
    """The descriptor that keeps it locked; None: it is another's, or was removed meanwhile."""
    try:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None
    try:
        fcntl.flock(folder, how)
        if os.path.samestat(os.stat(path), os.fstat(folder)):
            return folder
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(folder)
    return None
