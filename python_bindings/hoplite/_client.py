"""The client: what a program does with objects, in terms of Python values.

Values are turned into bytes by `_encoding`; everything about where objects are is the node's
business. Every call may come from any thread, and releases the GIL while it waits or copies. Those
that are named ``a...`` are for coroutines: their loop goes on meanwhile.
"""

from __future__ import annotations

import asyncio
import functools
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from hoplite import _arrays, _core, _dtypes, _encoding, _metadata, _out, _sources, errors
from hoplite._arguments import named
from hoplite._channel import Channel
from hoplite._core import ObjectId
from hoplite._futures import Futures
from hoplite._keeping import Keeping
from hoplite._metadata import Fold
from hoplite._register import Register
from hoplite._under_way import Draft, Reduction
from hoplite.errors import InvalidArgumentError

if TYPE_CHECKING:
    from typing import Unpack  # of Python 3.11

# How long a worker waits for its node to answer at all.
CONNECT_TIMEOUT = 5.0


@named
def connect(
    socket: str | os.PathLike[str] | None = None, timeout: float = CONNECT_TIMEOUT
) -> Client:
    """A client of the node at this Unix socket; of ``$HOPLITE_SOCKET`` if none is given.

    UnavailableError: no node listens there. InvalidArgumentError: neither is given. ProtocolError:
    the node is of another version.
    """
    path = os.fspath(socket) if socket is not None else os.environ.get("HOPLITE_SOCKET", "")
    if not path:
        raise InvalidArgumentError("no socket was given, and HOPLITE_SOCKET is not set")
    return Client(_core.Client.connect(path, timeout), path)


class Owning(TypedDict, total=False):
    """How a put or a reduction stands to owners (``Client.own``): False, None and False."""

    #: This client owns what is made, as soon as it is accepted.
    owned: bool
    #: For so many seconds after its process died (``own``); None: as the directory says.
    grace: float | None
    #: A put: only if somebody owns the id. A reduction: as in ``get``, of its sources.
    only_if_owned: bool


class Client(Keeping):
    """A connection to the node of this host. Made by ``connect`` or ``LocalCluster.connect``."""

    def __init__(self, core: _core.Client, socket: str) -> None:
        super().__init__(core)
        self._socket = socket
        self._closed = False
        self._futures = Futures()

    @named
    def put(
        self,
        value: Any,
        id: ObjectId | None = None,
        timeout: float | None = None,
        *,
        metadata: dict[str, Any] | None = None,
        **owning: Unpack[Owning],
    ) -> ObjectId:
        """Stores a copy of `value`; when it returns, every node can get it.

        It comes back as pickle brings it back, so ``get`` only what people you trust have put; but
        bytes come back as a memoryview. Arrays and tensors of PyTorch, also inside other values,
        are copied once and come back as views. It stays until ``delete``; with ``owned=True`` this
        client owns it (``own``) as soon as it is accepted. What pickle refuses raises what pickle
        raises. `metadata`, a dict that JSON can write in 2,048 bytes, lies beside the value:
        ``info(id).user_metadata``.

        AlreadyExistsError, ObjectDeletedError: of this id. NotFoundError: nobody owns it, and
        ``only_if_owned=True`` was asked. ResourceExhaustedError: the node's store has no room.
        """
        encoded = _encoding.encode(value, _metadata.beside(metadata))
        return self._put_encoded(encoded, id, timeout, **owning)

    @named
    async def aput(
        self,
        value: Any,
        id: ObjectId | None = None,
        timeout: float | None = None,
        *,
        metadata: dict[str, Any] | None = None,
        **owning: Unpack[Owning],
    ) -> ObjectId:
        """``put``. The value is read until this is done: leave it as it is. (What is not contiguous
        is packed, and what is no array pickled, at once.)"""
        encoded = _encoding.encode(value, _metadata.beside(metadata))
        begun = self._put_later(encoded, id, timeout, **owning)
        return await self._waiting.answer(begun)

    def _put_encoded(
        self,
        encoded: _encoding.Encoded,
        id: ObjectId | None,
        timeout: float | None,
        **owning: Unpack[Owning],
    ) -> ObjectId:
        return self._core.put(
            encoded.pieces, id, encoded.metadata, timeout, dtype=encoded.dtype, **owning
        )

    def _put_later(
        self,
        encoded: _encoding.Encoded,
        id: ObjectId | None,
        timeout: float | None,
        **owning: Unpack[Owning],
    ) -> _core.PutLater:
        return self._core.put_later(
            encoded.pieces, id, encoded.metadata, timeout, dtype=encoded.dtype, **owning
        )

    @named
    def fail(
        self,
        id: ObjectId,
        error: str | BaseException,
        timeout: float | None = None,
        **owning: Unpack[Owning],
    ) -> None:
        """The object will not come: whoever waits for it, or asks later, is told `error`.

        An error of this package is raised there as it is; of another exception, or a text,
        ObjectFailedError says what it says (the first 4,000 bytes). Else it is a ``put``: the first
        of several counts, and the same errors.
        """
        code, message = errors.in_words(error)
        self._core.fail(id, code, message, timeout, **owning)

    @named
    def create(
        self,
        shape: int | Sequence[int],
        dtype: Any = np.float64,
        id: ObjectId | None = None,
        timeout: float | None = None,
        *,
        metadata: dict[str, Any] | None = None,
        **owning: Unpack[Owning],
    ) -> Draft:
        """An array in the node's store, to be filled in place: a ``put`` without the copy. With a
        dtype of PyTorch it is a tensor: fill ``draft.tensor``.

        >>> with client.create((1000, 1000), np.float32) as draft:
        ...     draft.array[:] = 1.5
        >>> client.get(draft.id).sum()
        np.float32(1.5e+06)

        InvalidArgumentError: its elements would be Python objects, or an extent is negative. The
        errors of ``put``, here or of ``Draft.seal``.
        """
        empty = _arrays.empty(dtype, _arrays.extents(shape))
        said = _arrays.metadata_of(empty, _metadata.beside(metadata))
        noted = _dtypes.noted(empty.elements.dtype)
        core = self._core.create(
            id or ObjectId.random(), _arrays.size_of(empty), said, timeout, dtype=noted, **owning
        )
        return Draft(core, _arrays.put_together(empty, memoryview(core)))

    @named
    def get(
        self,
        id: ObjectId,
        timeout: float | None = None,
        out: Any = None,
        writable: bool = False,
        *,
        only_if_owned: bool = False,
    ) -> Any:
        """Waits until the object exists, brings it to this node, and gives its value.

        An array or memoryview is a read-only view of shared memory, not copied, which pins the
        object while it lives. With `out`, an array or a tensor of the object's dtype and shape, the
        elements are copied there while they arrive, whatever the order of both, and `out` is
        returned. Bytes go into any `out` of their size, and an array's elements, in C order, into
        writable bytes. After an error `out` may hold anything.

        With `writable` the view may be written to, and nobody else sees that: each page that is
        written to is copied for this process when it is first, and takes memory of its own. (Of
        some 16 KiB and less, all of it is copied at once.) A tensor is always such a view.

        With `only_if_owned` the caller knows that somebody owned the id (``own``) before this call:
        if the object does not exist and nobody owns it, it was deleted, however long ago.

        TimeoutError names what was missing; ObjectDeletedError; ObjectFailedError, or another one:
        the error that was put in its place (``fail``), or that of the reduction that was to make
        it; ResourceExhaustedError: the store has no room for it; InvalidArgumentError: it is not of
        the dtype and shape of `out`. What its unpickling raises comes out as it is, with a note
        that names the object.
        """
        if out is None:
            with _sources.explaining(self._core):
                view = self._core.get(id, timeout, only_if_owned)
            return _encoding.value_of(view, writable)
        self._get_into([id], _out.Rooms.one(out), timeout, only_if_owned)
        return out

    def _get_into(
        self, ids: list[ObjectId], rooms: _out.Rooms, timeout: float | None, only_if_owned: bool
    ) -> None:
        with _sources.explaining(self._core):
            self._core.get_into(ids, rooms.offer, timeout, only_if_owned)
        rooms.settle()

    @named
    async def aget(
        self,
        id: ObjectId,
        timeout: float | None = None,
        out: Any = None,
        writable: bool = False,
        *,
        only_if_owned: bool = False,
    ) -> Any:
        """``get``, for coroutines. Cancelling it cancels the request.

        With `out` the object is copied once all of it is at this node, more than 1 MiB by a thread
        of the loop's executor. Nothing is written to `out` after this has returned or raised.

        ResourceExhaustedError: also with `out`, the object is larger than the node's store.
        """
        rooms = None if out is None else _out.Rooms.one(out)
        begun = self._core.get_later(id, timeout, only_if_owned)
        try:
            view = await self._waiting.answer(begun)
        except InvalidArgumentError as error:
            raise await asyncio.to_thread(_sources.explained, self._core, error) from None
        if rooms is None:
            return _encoding.value_of(view, writable)
        await rooms.take(view)
        return out

    @named
    def put_future(
        self,
        value: Any,
        id: ObjectId | None = None,
        timeout: float | None = None,
        *,
        metadata: dict[str, Any] | None = None,
        **owning: Unpack[Owning],
    ) -> Future[ObjectId]:
        """``aput`` for programs without an event loop: the value is read until it has a result."""
        encoded = _encoding.encode(value, _metadata.beside(metadata))
        begun = self._put_later(encoded, id, timeout, **owning)
        return self._futures.of(begun, lambda made: made, "a put")

    @named
    def get_future(
        self,
        id: ObjectId,
        timeout: float | None = None,
        writable: bool = False,
        *,
        only_if_owned: bool = False,
    ) -> Future[Any]:
        """``aget`` for programs without an event loop: ``result()``, ``add_done_callback``,
        ``concurrent.futures.wait``. Cancelling it cancels the request."""
        begun = self._core.get_later(id, timeout, only_if_owned)
        read = functools.partial(_encoding.value_of, writable=writable)
        return self._futures.of(begun, read, f"a get of {id}")

    @named
    def get_many(
        self,
        ids: Iterable[ObjectId],
        timeout: float | None = None,
        out: Iterable[Any] | None = None,
        *,
        only_if_owned: bool = False,
    ) -> list[Any]:
        """The values of all, under one timeout, in the order of `ids`; one may be there twice.

        With `out`, an array or tensor for each id, as in ``get``, all are asked for at once, copied
        there as they come, and `out` is returned as a list. They need not fit into the store
        together. Each is contiguous (C order), and no two overlap: parts of one array or tensor,
        for example. After an error they may hold anything.

        ResourceExhaustedError: they have no room in the store together; get them into `out`, or one
        after the other. InvalidArgumentError names the element of `out` that does not fit, by its
        index, as ``out[3]``.
        """
        if out is not None:
            listed, outs = list(ids), list(out)
            self._get_into(listed, _out.Rooms.many(outs, len(listed)), timeout, only_if_owned)
            return outs
        with _sources.explaining(self._core):
            views = self._core.get_many(list(ids), timeout, only_if_owned)
        return [_encoding.value_of(view) for view in views]

    @named
    def reduce(
        self,
        ids: Iterable[ObjectId],
        op: str = "sum",
        num_objects: int | None = None,
        dtype: Any = None,
        target: ObjectId | None = None,
        timeout: float | None = None,
        *,
        everyone_reads: bool = False,
        **owning: Unpack[Owning],
    ) -> Reduction:
        """Makes one array of several, folded element by element on the nodes that hold them.

        `op`: sum, prod, min, max; of integers also and, or, xor; of floats also mean, divided by
        how many are in it. `num_objects`: how many of the sources, those that come first; None:
        all. `dtype`, of NumPy or torch: None takes that of a source that exists already. All
        sources have to be of that dtype, and of one shape and order, whenever they come; bytes,
        which have none, are taken as they are. Dicts, lists and tuples of arrays, nested ones too,
        are folded array by array: all arrays of one dtype, all sources of one structure, `dtype`
        None. Returns at once; anybody may get the target meanwhile. With ``owned=True`` this client
        owns the target (``own``) as soon as it is final. With ``only_if_owned=True`` (as in
        ``get``) a source that does not exist and that nobody owns was deleted.

        With ``everyone_reads=True`` every node that holds a source reads the target, too: an
        allreduce. They divide the work, and all have it after about 2 (n - 1) / n times size /
        bandwidth, instead of 2. Say it only if they read it: each gets a copy whether somebody asks
        there or not, and needs room for three times the size. The result is the same.

        InvalidArgumentError, here or by ``wait``, names what does not fit: two sources, and what
        they are, or the part in which they differ. ObjectDeletedError: fewer sources are left
        than it needs.
        """
        sources = _sources.listed(ids)
        fold = _sources.fold_of(self._core, sources, dtype)
        return self._reduce(
            sources, op, fold, num_objects, target, timeout, everyone_reads=everyone_reads, **owning
        )

    def _reduce(
        self,
        sources: list[ObjectId],
        op: str,
        fold: Fold,
        num_objects: int | None,
        target: ObjectId | None,
        timeout: float | None = None,
        *,
        everyone_reads: bool,
        **owning: Unpack[Owning],
    ) -> Reduction:
        begun = self._core.reduce(
            sources,
            op,
            fold.dtype,
            num_objects,
            target,
            fold.alike,
            folded_bytes=fold.nbytes,
            everyone_reads=everyone_reads,
            timeout=timeout,
            **owning,
        )
        return Reduction(begun, self._waiting, lambda error: _sources.explained(self._core, error))

    @named
    async def areduce(
        self,
        ids: Iterable[ObjectId],
        op: str = "sum",
        num_objects: int | None = None,
        dtype: Any = None,
        target: ObjectId | None = None,
        timeout: float | None = None,
        *,
        everyone_reads: bool = False,
        **owning: Unpack[Owning],
    ) -> Reduction:
        """``reduce``: gives a Reduction under way; ``await`` that, too, until it is final.

        Without a `dtype` another thread asks for it.
        """
        sources = _sources.listed(ids)
        asked = functools.partial(_sources.fold_of, self._core, sources, dtype)
        fold = await asyncio.to_thread(asked) if dtype is None else asked()
        return self._reduce(
            sources, op, fold, num_objects, target, timeout, everyone_reads=everyone_reads, **owning
        )

    @named
    def register(self, name: str, timeout: float | None = None) -> Register:
        """A register by its name, which need not exist: a small value with a number.

        >>> with client.register("leader") as leader:
        ...     number = leader.compare_and_set(expected=0, value=b"me", writer=True)
        ...     leader.get().value
        b'me'

        ResourceExhaustedError: this client has as many things pinned as its node allows.
        """
        opened = self._core.open_register(name, timeout)
        return Register(opened, name, self._waiting, self._futures)

    @named
    def channel(
        self,
        name: str,
        keep: int = 2,
        take_over: bool = False,
        timeout: float | None = None,
        *,
        deltas: bool = False,
    ) -> Channel:
        """A channel by its name, to publish or to read: one publishes versions of a value, such as
        the weights of a model, and everybody has the newest.

        >>> with client.channel("policy") as trainer, client.channel("policy") as worker:
        ...     version = trainer.publish({"w": np.ones(3)}, version=7)
        ...     weights = worker.get(timeout=5.0)
        ...     (weights.version, weights["w"].sum())
        (7, np.float64(3.0))

        `keep`: so many versions a publisher keeps, from 2 on the oldest while somebody fetches
        it. With `take_over` this becomes the publisher now, and whoever was so before can't
        publish any more; what that one published stays until this one publishes. With `deltas`
        a publisher sends of an array of which few elements changed, as of bfloat16 weights from
        step to step, these alone: it keeps the last version in memory of its own, a reader puts
        such arrays together in its own, and one that comes late gets up to half as much again.

        InvalidArgumentError: a register of that name holds no channel, or `keep` is below 1.
        """
        if keep < 1:
            raise InvalidArgumentError(f"channel {name!r}: keep is {keep}, at least 1 is kept")
        opened = _core.open_channel(self._core, name, keep, take_over, deltas, timeout)
        return Channel(opened, self._waiting, name)

    @named
    def drain(self, timeout: float | None) -> _core.DrainOutcome:
        """Takes this client's node out of the cluster: it hands on what only it has.

        From now on the node takes no new object, for good: ``put``, ``reduce``, and ``get`` of what
        is not there raise UnavailableError at each of its clients. Puts and reductions that go on
        may end. Returns when nothing is left that only this node has, or after `timeout` seconds
        (None: it has as long as it needs): `handed_on` counts the objects that another node has
        now, `left_count` those that are left; `left` names the first thousand of these, each with
        its `id` and `why`, an exception (ResourceExhaustedError: no other node has room).
        """
        return self._core.drain(timeout)

    def close(self) -> None:
        """Cancels what waits, disowns all and refuses later calls; views stay readable.
        Idempotent."""
        self._closed = True
        self._core.close()

    def __repr__(self) -> str:
        closed = ", closed" if self._closed else ""
        return f"<Client of node {self.node_name} at {self._socket}{closed}>"

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError(
            "a Client is a connection of this process: hand over its socket and connect there"
        )
