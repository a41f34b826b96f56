"""What a client has begun and not ended: an array that is being written, a reduction."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from types import TracebackType
from typing import Any

import numpy as np
import numpy.typing as npt

from hoplite import _core
from hoplite._arguments import named
from hoplite._core import ObjectId
from hoplite._waiting import Waiting
from hoplite.errors import HopliteError, InvalidArgumentError


class Draft:
    """An array in the node's store that is being written: fill ``array``, or ``tensor`` if it was
    created with a dtype of PyTorch, then ``seal()``.

    What was advanced past is being passed on already: write front to back and leave it alone
    afterwards. Used as a context manager it seals at the end, or aborts if the block raised.
    ``Client.create`` makes it.
    """

    def __init__(self, core: _core.Draft, memory: Any) -> None:
        self._core = core
        self._memory = memory

    @property
    def array(self) -> npt.NDArray[Any]:
        """The object's memory, to write to until it is sealed or aborted. InvalidArgumentError: it
        is a tensor's."""
        if not isinstance(self._memory, np.ndarray):
            raise InvalidArgumentError(
                f"draft.array: the draft is a tensor of {self._memory.dtype}: fill draft.tensor"
            )
        return self._memory

    @property
    def tensor(self) -> Any:
        """The same as a tensor of PyTorch. It stays writable: leave it alone after ``seal``.
        InvalidArgumentError: it is an array's."""
        if isinstance(self._memory, np.ndarray):
            raise InvalidArgumentError(
                f"draft.tensor: the draft is an array of {self._memory.dtype}: fill draft.array, "
                "or create it with a dtype of PyTorch"
            )
        return self._memory

    @property
    def id(self) -> ObjectId:
        """The object that this becomes."""
        return self._core.id

    @named
    def advance(self, nbytes: int) -> None:
        """Bytes [0, nbytes) are written: others may have them. Per MiB is often enough.

        InvalidArgumentError: `nbytes` shrinks, or is beyond the end. AlreadyExistsError,
        ObjectDeletedError: the object can't be created; stop writing.
        """
        self._core.advance(nbytes)

    @named
    def seal(self, timeout: float | None = None) -> ObjectId:
        """All of it is written; ``array`` becomes read-only. When it returns, every node can get
        the object, whose id it gives.

        AlreadyExistsError, ObjectDeletedError: the object can't be created. InvalidArgumentError:
        it was sealed or aborted before.
        """
        try:
            self._core.seal(timeout)
        finally:
            self._protect()
        return self._core.id

    def abort(self) -> None:
        """Gives the memory back; nobody will ever see the object. Idempotent."""
        self._core.abort()
        self._protect()

    def _protect(self) -> None:
        if isinstance(self._memory, np.ndarray):
            self._memory.flags.writeable = False

    def __repr__(self) -> str:
        core = self._core
        far = f", {core.advanced} of them advanced" if core.state == "open" else ""
        return f"<Draft of {core.id}: {len(core)} bytes{far}, {core.state}>"

    def __enter__(self) -> Draft:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if raised is None:
            self.seal()
        else:
            self.abort()


class Reduction:
    """A reduction under way. Its target may be asked for at once, by anybody.

    ``await`` it for what ``wait`` does; who is cancelled meanwhile cancels the reduction.
    """

    def __init__(
        self,
        core: _core.Reduction,
        waiting: Waiting,
        explained: Callable[[InvalidArgumentError], InvalidArgumentError],
    ) -> None:
        self._core = core
        self._waiting = waiting
        self._explained = explained
        self._outcome: _core.ReduceOutcome | None = None

    @property
    def target(self) -> ObjectId:
        """The object that it makes: ``get`` waits for it."""
        return self._core.target

    @named
    def wait(self, timeout: float | None = None) -> Reduction:
        """Until the target is final. TimeoutError: it goes on, wait again; names the sources that
        are missing.

        InvalidArgumentError: sources don't fit together; names two. AlreadyExistsError: the target
        exists. ObjectDeletedError: the target, or too many sources, were deleted.
        ResourceExhaustedError: no node has memory for a partial result. PeerLostError: this node
        was cut off for too long. Or the error that was put in a source's place (``Client.fail``).
        """
        try:
            self._outcome = self._core.wait(timeout)
        except InvalidArgumentError as error:
            raise self._explained(error) from None
        return self

    def __await__(self) -> Generator[Any, None, Reduction]:
        return self._final().__await__()

    async def _final(self) -> Reduction:
        try:
            self._outcome = await self._waiting.answer(self._core)
        except InvalidArgumentError as error:
            raise await asyncio.to_thread(self._explained, error) from None
        return self

    def ready(self) -> bool:
        """Whether ``wait`` would return at once."""
        return self._core.ready()

    def cancel(self) -> None:
        """Gives it up: nobody will see the target, unless it was final already."""
        self._core.cancel()

    @property
    def used(self) -> list[ObjectId]:
        """Which sources are in the target; waits until that is known."""
        return self._known().used

    @property
    def unused(self) -> list[ObjectId]:
        """Which are not, because others came first; waits until that is known."""
        return self._known().unused

    def __repr__(self) -> str:
        return f"<Reduction into {self.target}: {self._how_far()}>"

    def _how_far(self) -> str:
        if not self.ready():
            return "under way"
        try:
            known = self._known()
        except HopliteError as error:
            return repr(error)
        return f"final, {len(known.used)} of {len(known.used) + len(known.unused)} sources used"

    def _known(self) -> _core.ReduceOutcome:
        if self._outcome is None:
            self.wait()
        assert self._outcome is not None
        return self._outcome
