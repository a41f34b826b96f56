"""The collectives of a group as objects: their names, and how long they stay."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from hoplite import Client, _core, _encoding
from hoplite._core import ObjectId
from hoplite._lives import ANSWERS_IN
from hoplite._under_way import Reduction
from hoplite.errors import CancelledError, HopliteError, TimeoutError
from hoplite.torch._errors import Errors
from hoplite.torch._members import Members, Names


class Step:
    """One collective of this rank."""

    def __init__(
        self,
        client: Client,
        names: Names,
        number: int,
        seconds: float,
        awaited: dict[ObjectId, int],
    ) -> None:
        self.client = client
        self.mine: list[ObjectId] = []
        self._names, self._number, self._awaited = names, number, awaited
        self._deadline = time.monotonic() + seconds
        self._puts: list[_core.PutLater] = []
        self._owning: list[_core.DoneLater] = []

    def id(self, *what: object) -> ObjectId:
        return self._names(self._number, *what)

    def left(self) -> float:
        """Seconds."""
        return max(0.0, self._deadline - time.monotonic())

    def put(self, value: Tensor | bytes, *what: object) -> None:
        """Begins to. `value` is read until `sent`."""
        encoded, id = _encoding.encode(value), self.id(*what)
        self.mine.append(id)
        begin = self.client._core.put_later
        self._puts.append(begin(encoded.pieces, id, encoded.metadata, self.left(), owned=True))

    def sent(self) -> None:
        """Returns when all is read."""
        for put in self._puts:
            put.wait()
        for owning in self._owning:
            owning.wait()
        self._puts.clear()
        self._owning.clear()

    def fail(self, error: HopliteError) -> None:
        """Who waits for what this rank could not put gets its error, too."""
        if isinstance(error, (CancelledError, TimeoutError)):
            return  # the others hear of that by themselves
        for id in self.mine:
            with contextlib.suppress(HopliteError):  # most often it exists
                self.client.fail(id, error, ANSWERS_IN, owned=True)

    def get(self, rooms: Sequence[Tensor], put: dict[ObjectId, int]) -> None:
        """What ranks have put, each into its room. InvalidArgumentError: one of them has another
        dtype, or another number of elements."""
        self._awaited.update(put)
        if put:
            self.client.get_many(list(put), self.left(), rooms)

    def reduce_for_all(
        self, op: str, dtype: torch.dtype, sources: dict[ObjectId, int], target: ObjectId
    ) -> Reduction:
        """Begins what makes the target of the ranks' sources, at all of them."""
        # Not owned by the reduction: the others would not hear why it failed.
        self._owning.append(self.client._core.own_later([target], self.left()))
        self.mine.append(target)
        return self.client.reduce(list(sources), op, None, dtype, target, everyone_reads=True)

    def get_reduced(self, tensor: Tensor, target: ObjectId, sources: dict[ObjectId, int]) -> None:
        """What a reduction makes of the ranks' sources. InvalidArgumentError: these differ."""
        self._awaited.update(sources)
        self.client.get(target, self.left(), tensor)

    def reduce(self, tensor: Tensor, op: str, sources: dict[ObjectId, int]) -> None:
        """The same, of a reduction for this rank alone."""
        ids = list(sources)
        begun = self.client.reduce(ids, op, None, tensor.dtype, timeout=self.left(), owned=True)
        self.mine.append(begun.target)
        try:
            self.get_reduced(tensor, begun.target, sources)
        finally:
            begun.wait(self.left())  # it knows why there is no sum

    def wait(self, put: dict[ObjectId, int]) -> None:
        """Until the ranks have put that."""
        self._awaited.update(put)
        _, missing = self.client.wait(list(put), len(put), self.left())
        if missing:
            raise TimeoutError("at the deadline")


class Steps:
    """Those of one rank, in the order that they have at all ranks.

    Decides when an object can go: when a later collective has ended which no rank ends before all
    have begun it. Every rank is then past what came before that one.
    """

    def __init__(self, client: Client, members: Members, names: Names, errors: Errors) -> None:
        self._client, self._members, self._names = client, members, names
        self._errors = errors
        self._kept: list[ObjectId] = []

    @contextlib.contextmanager
    def next(self, seconds: float) -> Iterator[Step]:
        """DistBackendError: why it failed."""
        with self._errors.explained(seconds) as awaited:
            number = self._members.begin()
            step = Step(self._client, self._names, number, seconds, awaited)
            try:
                yield step
                step.sent()
            except HopliteError as error:
                step.fail(error)
                raise
            finally:
                self._kept += step.mine

    def all_have_begun(self, step: Step) -> None:
        """It has ended: what was put for those before it can go."""
        self._client.disown([id for id in self._kept if id not in step.mine], wait=False)
        self._kept = list(step.mine)
