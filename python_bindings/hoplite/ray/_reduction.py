"""A reduction of Refs: begun as soon as one of them tells the dtype, checked at its end."""

from __future__ import annotations

import contextlib
import copy
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

import ray

from hoplite import _dtypes, _encoding, _sources
from hoplite._client import CONNECT_TIMEOUT
from hoplite._core import ObjectId
from hoplite._metadata import Fold
from hoplite._under_way import Reduction as Begun
from hoplite.errors import (
    AlreadyExistsError,
    HopliteError,
    InvalidArgumentError,
    NotFoundError,
    ObjectDeletedError,
    PeerLostError,
    TimeoutError,
    UnavailableError,
)
from hoplite.ray import _errands
from hoplite.ray._errors import GetTimeoutError
from hoplite.ray._object_refs import Awaited, Source, id_of
from hoplite.ray._owned import Owned
from hoplite.ray._refs import Ref

# Before a node that is away is asked again, or a source that was there for a moment only.
PAUSE = 0.05

# What is asked of a node or a directory that is being started again.
AWAY = (TimeoutError, UnavailableError)

T = TypeVar("T")


class Reduction:
    """A reduction under way; anybody may get ``ref`` at once.

    Decides when it begins: when a source exists and so tells the dtype, or at once if that was
    given. Keeps the sources until it has ended, although nobody else may have them any more. It
    ends early if this process does.
    """

    def __init__(
        self,
        owned: Owned,
        ref: Ref,
        sources: list[Source],
        op: str,
        num_objects: int | None,
        dtype: Any,
        everyone_reads: bool,
    ) -> None:
        if not sources:
            raise InvalidArgumentError("reduce: there are no Refs to reduce")
        #: The array that it makes.
        self.ref = ref
        self._owned = owned
        self._client = owned.client
        self._order = [id_of(source) for source in sources]
        self._sources = dict(zip(self._order, sources, strict=True))
        self._op = op
        self._num_objects = num_objects
        self._dtype = dtype
        self._everyone_reads = everyone_reads
        self._running: Begun | None = None
        self._error: HopliteError | None = None
        self._failed: dict[ObjectId, HopliteError] = {}
        self._ended = threading.Event()
        object_refs = [source for source in sources if not isinstance(source, Ref)]
        self._awaited = Awaited(object_refs) if object_refs else None
        try:
            with contextlib.suppress(*AWAY):
                self._begin()
        except BaseException:
            self._let_go()
            raise
        threading.Thread(target=self._run, name="hoplite-reduce", daemon=True).start()

    def wait(self, timeout: float | None = None) -> Reduction:
        """Until the array is final. TimeoutError: it goes on, wait again."""
        return self._wait(timeout, timeout)

    def _wait(self, left: float | None, timeout: float | None) -> Reduction:
        """`left`: what remains of the `timeout` that was asked for."""
        if not self._ended.wait(left):
            raise GetTimeoutError(f"reduce: after {timeout} s {self._not_yet()}")
        if self._error is not None:
            # The one that is raised gets the caller's frames, and with them all that lies there.
            raise copy.copy(self._error)
        return self

    def _not_yet(self) -> str:
        if self._running is None:
            return f"the reduction into {self.ref} has not begun: none of its Refs exists"
        try:
            self._running.wait(0.001)
        except TimeoutError as why:  # names the sources that are missing
            return self._by_name(str(why))
        except HopliteError:
            pass  # it has just ended
        return f"{self.ref} is not final"

    def get(self, timeout: float | None = None) -> Any:
        """The array, when it is final. It comes to this host while it is made."""
        deadline = None if timeout is None else time.monotonic() + timeout
        coming: list[Any] = []
        # Why it does not come `wait` says, of the whole reduction.
        with contextlib.suppress(HopliteError):
            coming.append(self._got(timeout))
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        self._wait(left, timeout)
        return coming.pop() if coming else self._got(left)

    def _got(self, timeout: float | None) -> Any:
        return self._client.get(self.ref.id, timeout, only_if_owned=True)

    @property
    def used(self) -> list[Source]:
        """Which Refs are in it; waits until that is known."""
        return [self._sources[id] for id in self._outcome().used]

    @property
    def unused(self) -> list[Source]:
        """Which are not, because others came first; waits until that is known."""
        return [self._sources[id] for id in self._outcome().unused]

    @property
    def failed(self) -> dict[Source, HopliteError]:
        """Which had failed when it began, and why: they are left out."""
        return {self._sources[id]: error for id, error in self._failed.items()}

    def __reduce__(self) -> Any:
        raise TypeError("a Reduction belongs to its process: hand over its ref")

    def _outcome(self) -> Begun:
        self.wait()
        assert self._running is not None
        return self._running

    def _begin(self) -> None:
        """If it is known what is to be folded."""
        existing = self._describe(self._order)
        self._require_enough()
        self._require_alike(existing)
        fold = None if self._dtype is None else Fold("array", _dtypes.reducible(self._dtype))
        if existing and fold is None:
            ref, metadata = existing[0]
            fold = _encoding.fold(metadata)
            if fold is None:
                why = _sources.why_not(self._client._core, id_of(ref))
                raise InvalidArgumentError(f"reduce: {ref} {why}")
        if fold is not None:
            self._running = self._client._reduce(
                self._order,
                self._op,
                fold,
                self._num_objects,
                self.ref.id,
                everyone_reads=self._everyone_reads,
                only_if_owned=True,
            )

    def _run(self) -> None:
        """Its own thread: to the end."""
        try:
            while self._running is None:
                _patiently(self._until_one_exists)
                _patiently(self._begin)
                if self._running is None:
                    time.sleep(PAUSE)
            used = self._running.wait().used
            self._require_alike(_patiently(lambda: self._describe(used)))
            self._owned.made_once.watch(self.ref.id)
        except HopliteError as error:
            self._fail(error)
        self._let_go()
        self._ended.set()
        _errands.outlast_shutdown()  # this thread may have the last Refs

    def _let_go(self) -> None:
        if self._awaited is not None:
            self._awaited.end()

    def _until_one_exists(self) -> None:
        ids = [id for id in self._order if id not in self._failed]
        self._client.wait(ids, only_if_owned=True)

    def _require_alike(self, existing: list[tuple[Source, bytes]]) -> None:
        """InvalidArgumentError names two that can't be folded together, and the leaf."""
        for ref, metadata in existing[1:]:
            first, wanted = existing[0]
            one, other = _encoding.in_words(wanted), _encoding.in_words(metadata)
            if one != other:
                both = f"{first} is {one or 'no array'}, {ref} is {other or 'no array'}"
                leaf = _sources.difference(self._client._core, id_of(first), id_of(ref))
                raise InvalidArgumentError(f"reduce: {f'{leaf}: ' if leaf else ''}{both}")

    def _describe(self, ids: list[ObjectId]) -> list[tuple[Source, bytes]]:
        """Those that exist, with their metadata; a lost one (PeerLostError) may be put again."""
        found = []
        for id in ids:
            with contextlib.suppress(NotFoundError, ObjectDeletedError, PeerLostError):
                info = self._client.info(id)
                if info.failure is not None:
                    self._failed[id] = info.failure
                elif info.version:  # else somebody waits for it
                    found.append((self._sources[id], info.metadata))
        return found

    def _require_enough(self) -> None:
        """The error of a source that failed, if too few others are left."""
        wanted = len(self._order) if self._num_objects is None else self._num_objects
        if not self._failed or len(self._order) - len(self._failed) >= wanted:
            return
        id, failure = next(iter(self._failed.items()))
        raise type(failure)(f"reduce: {self._sources[id]} failed: {failure}")

    def _fail(self, error: HopliteError) -> None:
        """Nobody is to wait for the target, nor to take it for a result: they are told why."""
        error.args = (self._by_name(str(error)), *error.args[1:])
        self._error = copy.copy(error)
        if isinstance(error, AlreadyExistsError):
            return  # it is somebody else's
        # If the node is away, the error says so.
        with contextlib.suppress(HopliteError):
            try:
                self._client.fail(self.ref.id, error, CONNECT_TIMEOUT, only_if_owned=True)
            except AlreadyExistsError:
                if self._running is not None:  # else it is somebody else's
                    self._client.delete(self.ref.id, timeout=CONNECT_TIMEOUT)

    def _by_name(self, text: str) -> str:
        """ObjectRefs are called as Ray calls them, not by the ids that they have here."""
        for id, source in self._sources.items():
            if not isinstance(source, Ref):
                text = text.replace(id.hex(), str(source))
        return text


def _patiently(ask: Callable[[], T]) -> T:
    """Again while the node or the directory is away, as long as there is a Ray."""
    while True:
        try:
            return ask()
        except AWAY:
            if not ray.is_initialized():
                raise
            time.sleep(PAUSE)
