"""Whether the Ray cluster has more than one node, so that arrays have anywhere to travel.

Decides how old the answer may be. It is asked at each array, so it must never wait, but for the
first look of a process, nor fail. An answer that is too old costs time and is never wrong.
"""

from __future__ import annotations

import threading
import time
from typing import Any

from ray._private.worker import global_worker
from ray.core.generated.gcs_pb2 import GcsNodeInfo

from hoplite.ray import _errands

# Seconds between two looks while there is one node, and within which Ray's head answers.
LOOK_EVERY, ANSWERS_WITHIN = 1.0, 5.0


def several() -> bool:
    """Whether there were at the last look; once there were, for good."""
    worker = global_worker.core_worker
    if _seen.worker is not worker:
        with _seen.lock:
            if _seen.worker is not worker:
                _seen.look(worker)
    elif not _seen.several and time.monotonic() > _seen.next:
        _seen.next = time.monotonic() + LOOK_EVERY
        _errands.start()
        _errands.run(lambda: _seen.look(worker))
    return _seen.several


class _Seen:
    """What this process has seen of the cluster of that core worker of Ray's."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.worker: Any = None
        self.several = False
        self.next = 0.0

    def look(self, worker: Any) -> None:
        """Without an answer, all stays as it was."""
        self.next = time.monotonic() + LOOK_EVERY
        try:
            several = len(_alive()) > 1
        except Exception:  # of several kinds: Ray's head is away, or this process is ending
            several = self.several and self.worker is worker
        self.several, self.worker = several, worker


def _alive() -> Any:
    return global_worker.gcs_client.get_all_node_info(
        timeout=ANSWERS_WITHIN, state_filter=GcsNodeInfo.GcsNodeState.ALIVE
    )


_seen = _Seen()
