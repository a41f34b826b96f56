"""hoplite://, Dask's TCP, by which workers answer with objects.

Who asks a worker for the values of keys says in which Hoplite cluster it is. A worker of the same
cluster puts the large frames of its answer and sends their ids. The reader owns and gets the
objects, and then says OK to Dask's protocol. All else is Dask's own.
"""

from __future__ import annotations

import asyncio
import functools
import weakref
from collections.abc import Coroutine
from typing import Any

from distributed.comm import tcp
from distributed.comm.core import CommClosedError

from hoplite._core import ObjectId
from hoplite.dask import _answers, _share
from hoplite.dask._answers import Answer
from hoplite.dask._share import Share
from hoplite.errors import HopliteError

# In a request for values: the cluster of who asks, and from how many bytes on it takes objects.
ASKS = "hoplite"
# Below, an object would take longer than the bytes.
LEAST = 64 << 10
# Said instead of OK by a reader that can't get the objects: the bytes themselves are to come.
PLAIN = "hoplite: send the bytes"


class HopliteTCP(tcp.TCP):
    """Decides which answers travel as objects. Must never let a request fail that TCP serves."""

    #: Of what is asked for next: from how many bytes on it comes as objects.
    least = LEAST
    #: Whether their bytes are got, too. If not, the reader finds ids in the values' headers, owned
    #: by the Share of its loop.
    brings = True

    def __init__(self, stream: Any, local: str, peer: str, deserialize: bool = True) -> None:
        super().__init__(stream, local, peer, deserialize)
        self._awaits_answer = False
        self._asked: list[Any] | None = None
        self._answer: Answer | None = None
        self._bringing: asyncio.Future[bool] | None = None
        stream.set_close_callback(functools.partial(_on_close, weakref.ref(self)))

    async def write(self, msg: Any, serializers: Any = None, on_error: str = "message") -> int:
        share = _share.here()
        if share is not None and self.deserialize and share.works and _is(msg, op="get_data"):
            self._awaits_answer = True
            msg = {**msg, ASKS: [share.cluster, self.least]}
        elif share is not None and self._asked is not None and _is(msg, status="OK"):
            msg = await self._with_objects(msg, serializers, on_error, share)
        written: int = await super().write(msg, serializers, on_error)
        return written

    async def _with_objects(self, msg: Any, serializers: Any, on_error: str, share: Share) -> Any:
        (cluster, least), self._asked = self._asked or ("", 0), None
        if cluster != share.cluster or not isinstance(msg.get("data"), dict):
            return msg
        context = {
            "sender": self.local_info,
            "recipient": self.remote_info,
            **self.handshake_options,
        }
        how = {"serializers": serializers, "on_error": on_error, "context": context}
        self._answer = Answer(msg, how)
        return await self._answer.with_objects(share, least)

    async def read(self, deserializers: Any = None) -> Any:
        if self._awaits_answer:
            self._awaits_answer = False
            return await self._read_answer(deserializers)
        try:
            msg = await super().read(deserializers)
            if self._answer is not None and isinstance(msg, str) and msg == PLAIN:
                await self._send_plain(self._answer)
                msg = await super().read(deserializers)
        finally:
            self._answer = None
        if isinstance(msg, dict):
            self._asked = msg.pop(ASKS, None)
        return msg

    async def _send_plain(self, answer: Answer) -> None:
        share = _share.here()
        if share is not None:
            share.forget(answer.ids)
        await super().write(answer.message, answer.how["serializers"], answer.how["on_error"])

    async def _read_answer(self, deserializers: Any) -> Any:
        self.deserialize = False
        try:
            answer = await super().read(deserializers)
        finally:
            self.deserialize = True
        ids = _answers.objects_of(answer)
        if ids and not await self._while_open(self._have(answer, ids)):
            await super().write(PLAIN)
            return await super().read(deserializers)
        return await _answers.deserialized(answer, deserializers) if self.brings else answer

    async def _have(self, answer: Any, ids: list[ObjectId]) -> bool:
        """Whether the objects could be had."""
        share = _share.here()
        if share is None:  # since it was asked for
            return False
        try:
            await share.own(ids)
            if self.brings:
                await _answers.bring(answer, share)
        except HopliteError as error:
            share.failed(error)
            return False
        return True

    async def _while_open(self, having: Coroutine[Any, Any, bool]) -> bool:
        """CommClosedError: the peer has died meanwhile, as TCP would say."""
        self._bringing = asyncio.ensure_future(having)
        try:
            return await self._bringing
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self.closed() and task is not None and not task.cancelling():
                raise CommClosedError(f"in {self}: closed while its objects came") from None
            self.abort()
            raise
        finally:
            self._bringing = None


def _on_close(comm: weakref.ref[HopliteTCP]) -> None:
    """The stream has ended."""
    tcp._close_comm(comm)
    closed = comm()
    if closed is not None and closed._bringing is not None:
        closed._bringing.cancel()


def _is(msg: Any, **wanted: str) -> bool:
    return isinstance(msg, dict) and all(msg.get(key) == value for key, value in wanted.items())


class _NoEncryption:
    """Of what listens, and what connects."""

    def _check_encryption(self, address: str, connection_args: dict[str, Any]) -> None:
        """RuntimeError: Dask's configuration requires encryption."""
        if connection_args.get("require_encryption"):
            raise RuntimeError(
                f"hoplite://{address}: Hoplite does not encrypt, and Dask's configuration requires "
                "encryption: use tls://, or Security(require_encryption=False)"
            )


class Connector(_NoEncryption, tcp.TCPConnector):
    """Of hoplite://."""

    prefix = "hoplite://"
    comm_class = HopliteTCP


class Listener(_NoEncryption, tcp.TCPListener):
    """Of hoplite://."""

    prefix = "hoplite://"
    comm_class = HopliteTCP


class Backend(tcp.TCPBackend):
    """What distributed finds by the scheme, as the entry point says."""

    _connector_class = Connector
    _listener_class = Listener
