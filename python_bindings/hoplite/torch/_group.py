"""The back end ``hoplite`` of torch.distributed: a process group whose collectives are objects."""

# torch declares the store as an argument, but takes no Python class with one.
# mypy: disable-error-code="override, assignment, call-arg, attr-defined"

from __future__ import annotations

import os
import threading
import weakref
from collections import defaultdict
from collections.abc import Sequence
from datetime import timedelta
from multiprocessing import util
from typing import Any

import torch.distributed as dist

from hoplite import _client
from hoplite._callbacks import Callbacks
from hoplite._core import ObjectId
from hoplite._torch_backend import NAME
from hoplite.errors import HopliteError
from hoplite.torch import _cluster
from hoplite.torch._calls import Calls
from hoplite.torch._collectives import Collectives
from hoplite.torch._errors import Errors
from hoplite.torch._members import READ_IN, Members, Names
from hoplite.torch._messages import Messages
from hoplite.torch._steps import Steps
from hoplite.torch._work import Lane

# Seconds in which the others may read what this rank has put, when its process ends.
ENDS_IN = 2.0


class Group(Calls):
    """One rank's part of a group: what torch calls, by the names that it has for it.

    Collectives run one after another on a thread of the group, in the order of the calls, which is
    the same at all ranks; messages run beside them. Thread-safe.
    """

    def __init__(self, options: Any, _: Any = None) -> None:
        """Returns when all ranks are there. DistBackendError: they are not, or there is no node."""
        rank, size = int(options.group_rank), int(options.group_size)
        super().__init__(rank, size)
        self._rank, self._size = rank, size
        self._seconds = options.timeout.total_seconds()
        self._group_name = str(options.group_id)
        self._group_desc = "undefined"
        called = options.global_ranks_in_group or list(range(size))
        try:
            self._join(options.store, called)
        except HopliteError as error:
            raise dist.DistBackendError(
                f"hoplite: rank {called[rank]} can't join group {self._group_name!r}: {error}"
            ) from error
        _add(self)

    def _join(self, store: Any, called: Sequence[int]) -> None:
        # Whoever comes again to a store that still knows an earlier group of this name.
        again = store.add(f"joined/{self._rank}", 1)
        store = dist.PrefixStore(f"{again}", store)
        path = _cluster.socket_of(store, self._rank)
        if self._rank == 0:
            store.set("run", ObjectId.random().hex())
        names = Names(store.get("run").decode())
        # What the first one owns goes when the group ends. The other says that this rank is there.
        self._client, self._life = _client.connect(path), _client.connect(path)
        self._members = Members(self._life, names, self._rank, called)
        errors = Errors(self._client, self._members)
        steps = Steps(self._client, self._members, names, errors)
        self._collectives = Collectives(steps, self._rank, self._size)
        self._messages = Messages(
            self._client, self._members, names, errors, self._rank, self._size
        )
        self._lock = threading.Lock()
        self._callbacks = callbacks = Callbacks("hoplite-callbacks", patience=0.0)
        self._lanes: defaultdict[Any, Lane] = defaultdict(lambda: Lane(callbacks))
        self._members.enter(self._seconds, self._client.close)

    # --- what torch asks about it

    def getBackendName(self) -> str:
        return NAME

    name = getBackendName

    def getRank(self) -> int:
        return self._rank

    rank = getRank

    def getSize(self) -> int:
        return self._size

    size = getSize

    def getGroupName(self) -> str:
        return self._group_name

    def setGroupName(self, name: str) -> None:
        self._group_name = name

    _set_group_name = setGroupName

    def getGroupDesc(self) -> str:
        return self._group_desc

    def setGroupDesc(self, text: str) -> None:
        self._group_desc = text

    _set_group_desc = setGroupDesc
    group_name = property(getGroupName)
    group_desc = property(getGroupDesc)

    def set_timeout(self, timeout: timedelta) -> None:
        self._seconds = timeout.total_seconds()

    _set_default_timeout = set_timeout
    setTimeout = set_timeout

    # --- its end

    def shutdown(self) -> None:
        """Returns at once. What this rank has put stays until the others have left, too, for 30 s
        at most: they may be reading it."""
        _groups.discard(self)
        leaving = threading.Thread(target=self._leave, args=(READ_IN,), daemon=True)
        leaving.start()
        _leaving[:] = [one for one in _leaving if one.is_alive()]
        _leaving.append(leaving)
        _leaving.extend(lane.thread for lane in self._close_lanes() if lane.thread is not None)
        _leaving.extend(self._callbacks.threads.copy())

    def abort(self) -> None:
        """What is under way ends with an error, here and at the others."""
        _groups.discard(self)
        self._client.close()
        self._life.close()
        self._close_lanes()

    def _close_lanes(self) -> list[Lane]:
        with self._lock:
            lanes = list(self._lanes.values())
        for lane in lanes:
            lane.close()
        self._callbacks.close()
        return lanes

    def _leave(self, seconds: float) -> None:
        self._members.leave()
        self._members.wait_for_all_to_leave(seconds)
        self.abort()


# Of this process, until they leave.
_groups: weakref.WeakSet[Group] = weakref.WeakSet()
# Threads that have torch's objects: one that still runs when the interpreter ends ends the process
# by a signal.
_leaving: list[threading.Thread] = []


_ends: list[int] = []  # processes that call `_end`: this one, and the one that it was forked from


def _add(group: Group) -> None:
    if os.getpid() not in _ends:
        _ends.append(os.getpid())
        # Not `atexit`: multiprocessing's children do not call what is registered there.
        util.Finalize(None, _end, exitpriority=10)
    _groups.add(group)


def _end() -> None:
    """The process ends, whether or not its groups were destroyed."""
    for group in list(_groups):
        group.shutdown()
    for leaving in _leaving:
        leaving.join(ENDS_IN)
