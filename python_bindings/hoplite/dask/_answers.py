"""A worker's answer to who asks for values of keys: their large frames as objects."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from distributed.comm.utils import OFFLOAD_THRESHOLD
from distributed.protocol.compression import decompress
from distributed.protocol.serialize import (
    Serialize,
    Serialized,
    merge_and_deserialize,
    serialize,
)
from distributed.sizeof import safe_sizeof
from distributed.utils import nbytes, offload

from hoplite._core import ObjectId
from hoplite.dask._share import Share

T = TypeVar("T")

# In a value's header: which of its frames are objects, as [index, id, size].
OBJECTS = "hoplite"


@dataclass
class Answer:
    """What is sent: ``{"status": "OK", "data": {key: value}}``."""

    message: dict[str, Any]
    #: Of distributed's ``serialize``.
    how: dict[str, Any]
    #: What the objects were made of has to live until the reader owns them.
    frames: list[Any] = field(default_factory=list)
    ids: list[ObjectId] = field(default_factory=list)

    async def with_objects(self, share: Share, least: int) -> dict[str, Any]:
        """The same, with objects in the place of all frames of at least so many bytes that can be
        put."""
        values = self.message["data"]
        large = {
            key: value
            for key, value in values.items()
            if isinstance(value, Serialize) and safe_sizeof(value.data) >= least
        }
        serialized = await _off_the_loop(
            sum(safe_sizeof(value.data) for value in large.values()),
            lambda: {key: serialize(value, **self.how) for key, value in large.items()},
        )
        put = [self._put(share, least, key, *parts) for key, parts in serialized.items()]
        replaced = dict(zip(serialized, await asyncio.gather(*put), strict=True))
        return {**self.message, "data": {**values, **replaced}}

    async def _put(
        self, share: Share, least: int, key: Any, header: dict[str, Any], frames: list[Any]
    ) -> Serialized:
        self.frames += frames
        large = [index for index, frame in enumerate(frames) if nbytes(frame) >= least]
        ids = await asyncio.gather(*(share.put(key, memoryview(frames[n])) for n in large))
        objects, left = [], list(frames)
        for index, id in zip(large, ids, strict=True):
            if id is not None:
                objects.append([index, bytes(id), nbytes(frames[index])])
                self.ids.append(id)
                left[index] = b""
        return Serialized({**header, OBJECTS: objects}, left)


def objects_in(value: Serialized) -> list[tuple[int, ObjectId, int]]:
    """Which of its frames are objects: the index, the id, and the size."""
    return [
        (index, ObjectId.from_bytes(id), size) for index, id, size in value.header.get(OBJECTS, ())
    ]


def objects_of(message: Any) -> list[ObjectId]:
    """All that stand in an answer, in the place of frames."""
    return [id for value in _values(message).values() for _, id, _ in objects_in(value)]


async def bring(message: Any, share: Share) -> None:
    """Puts the bytes of its objects, which this process owns, in their places. The errors of
    ``Client.get``."""
    places = [
        (key, value.frames, *where)
        for key, value in _values(message).items()
        for where in objects_in(value)
    ]
    getting = [asyncio.ensure_future(share.get(key, id, size)) for key, _, _, id, size in places]
    try:
        views = await asyncio.gather(*getting)
    except BaseException:
        for (_, _, _, id, _), task in zip(places, getting, strict=True):
            if task.cancel() or task.cancelled() or task.exception() is not None:
                share.drop([id])
        raise
    for (_, frames, index, _, _), view in zip(places, views, strict=True):
        frames[index] = view


async def deserialized(message: Any, deserializers: Any) -> Any:
    """As Dask reads an answer."""
    size = sum(nbytes(frame) for value in _values(message).values() for frame in value.frames)
    return await _off_the_loop(size, lambda: _restored(message, deserializers))


def _restored(value: Any, deserializers: Any) -> Any:
    if isinstance(value, dict):
        return {key: _restored(one, deserializers) for key, one in value.items()}
    if not isinstance(value, Serialized):
        return value
    header, frames = value.header, value.frames
    if "compression" in header:
        frames = decompress(header, frames)
    return merge_and_deserialize(header, frames, deserializers=deserializers)


def _values(message: Any) -> dict[Any, Serialized]:
    data = message.get("data") if isinstance(message, dict) else None
    values = data.items() if isinstance(data, dict) else ()
    return {key: value for key, value in values if isinstance(value, Serialized)}


async def _off_the_loop(size: int, work: Callable[[], T]) -> T:
    """As Dask does with much: by another thread, so that the loop goes on."""
    return await offload(work) if size > OFFLOAD_THRESHOLD else work()
