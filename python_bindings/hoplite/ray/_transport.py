"""Ray's tensor transports of this package: what the tensors of one ObjectRef are in Hoplite.

They are one object, by an id that Ray's own id gives, so that whoever has the ObjectRef knows it
before the tensors exist. The process that made the tensors owns it until Ray says that nobody has
the ObjectRef any more.
"""

from __future__ import annotations

import importlib
import select
import threading
from dataclasses import dataclass
from typing import Any

from ray._private import ray_constants
from ray.experimental.rdt import (
    CommunicatorMetadata,
    TensorTransportManager,
    TensorTransportMetadata,
)
from ray.experimental.rdt.tensor_transport_manager import FetchRequest
from ray.experimental.rdt.util import TransportManagerInfo

from hoplite import _core, _encoding, _torch, errors
from hoplite.errors import AlreadyExistsError, CancelledError, ObjectDeletedError
from hoplite.ray import _calls, _errands, _job
from hoplite.ray._object_refs import id_of_tensors

# Of the time after which Ray gives a transfer up: an error of ours says what was missing.
SHARE_OF_TIMEOUT = 0.9


class Metadata(TensorTransportMetadata):
    """Of this package: a worker that is handed an ObjectRef imports it, and so knows the rest."""


@dataclass
class Fetch(FetchRequest):
    """The tensors of one ObjectRef on their way here, into `tensors` if it has some. Who drops it
    cancels it."""

    count: int = 0
    request: _core.GetLater | None = None

    def cancel(self) -> None:
        if self.request is not None:
            self.request.cancel()

    def __del__(self) -> None:
        self.cancel()


class Transport(TensorTransportManager):
    """What Ray asks of a transport.

    Decides when a receive ends early: when Ray aborts it, or shortly before Ray gives it up. Must
    never wait for the node in ``garbage_collect``: Ray's thread there also receives.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._receiving: dict[str, Fetch] = {}
        self._aborted: set[str] = set()  # before they began

    @staticmethod
    def is_one_sided() -> bool:
        return True

    @staticmethod
    def can_abort_transport() -> bool:
        return True

    def actor_has_tensor_transport(self, actor: Any) -> bool:
        return True

    def extract_tensor_transport_metadata(self, obj_id: str, rdt_object: list[Any]) -> Metadata:
        """Puts them: a copy, so that the actor may change its own at once."""
        devices = {_device_of(tensor) for tensor in rdt_object} - {"cpu"}
        if rdt_object and not devices:
            _put(obj_id, rdt_object)
        # Ray refuses other devices than the processor.
        device = min(devices, default="cpu")
        return Metadata([(one.shape, one.dtype) for one in rdt_object], device)

    def get_communicator_metadata(
        self, src_actor: Any, dst_actor: Any, backend: str | None = None
    ) -> CommunicatorMetadata:
        return CommunicatorMetadata()

    def recv_multiple_tensors(
        self,
        obj_id: str,
        tensor_transport_metadata: TensorTransportMetadata,
        communicator_metadata: CommunicatorMetadata,
        target_buffers: list[Any] | None = None,
    ) -> list[Any]:
        with self._lock:
            if obj_id in self._aborted:
                self._aborted.remove(obj_id)
                raise _was_aborted(obj_id)
            fetch = self.fetch_multiple_tensors(
                obj_id, tensor_transport_metadata, communicator_metadata, target_buffers
            )
            self._receiving[obj_id] = fetch
        try:
            return self.wait_fetch_complete(fetch)
        finally:
            with self._lock:
                del self._receiving[obj_id]

    def abort_transport(self, obj_id: str, communicator_metadata: CommunicatorMetadata) -> None:
        """On a thread of its own. Another receive may be under way, and this one wait for it."""
        with self._lock:
            if obj_id in self._receiving:
                self._receiving[obj_id].cancel()
            else:
                self._aborted.add(obj_id)

    def fetch_multiple_tensors(
        self,
        obj_id: str,
        tensor_transport_metadata: TensorTransportMetadata,
        communicator_metadata: CommunicatorMetadata,
        target_buffers: list[Any] | None = None,
    ) -> Fetch:
        fetch = Fetch(obj_id, target_buffers or [], len(tensor_transport_metadata.tensor_meta))
        if fetch.count:
            timeout = SHARE_OF_TIMEOUT * ray_constants.RDT_FETCH_FAIL_TIMEOUT_SECONDS
            fetch.request = _job.client()._core.get_later(
                id_of_tensors(obj_id), timeout, only_if_owned=True
            )
        return fetch

    def wait_fetch_complete(self, fetch_request: Fetch, timeout: float = -1) -> list[Any]:
        """ObjectDeletedError says what that means here."""
        if fetch_request.request is None:
            return []
        ray_id, targets = fetch_request.obj_id, fetch_request.tensors
        try:
            value = _encoding.value_of(_answer(fetch_request.request, timeout), writable=True)
        except CancelledError:
            raise _was_aborted(ray_id) from None
        except ObjectDeletedError as error:
            raise ObjectDeletedError(
                f"ObjectRef({ray_id}): {error}: the process that made its tensors has died"
            ) from None
        arrived = [value] if fetch_request.count == 1 else value
        for tensor, target in zip(arrived, targets, strict=False):
            target[...] = tensor
        return targets or arrived

    def send_multiple_tensors(self, *arguments: Any) -> None:
        raise NotImplementedError("hoplite: who receives asks for it")

    def garbage_collect(
        self, obj_id: str, tensor_transport_meta: TensorTransportMetadata, tensors: list[Any]
    ) -> None:
        if tensors:
            owned, id = _job.owned(), id_of_tensors(obj_id)
            _errands.run(lambda: owned.end(id))


class Tensors(Transport):
    """Of PyTorch."""

    def tensor_transport_backend(self) -> str:
        return "HOPLITE"


class Arrays(Transport):
    """Of NumPy."""

    def tensor_transport_backend(self) -> str:
        return "HOPLITE_NUMPY"


class InfoOfTensors(TransportManagerInfo):
    """What Ray knows of `Tensors`: torch is imported when a tensor travels, not with this package,
    which every worker has."""

    __slots__ = ()

    @property
    def data_type(self) -> Any:
        return importlib.import_module("torch").Tensor


def _put(ray_id: str, tensors: list[Any]) -> None:
    """One alone as itself, so that a reduction makes a tensor of several."""
    _errands.start()
    owned, id = _job.owned(), id_of_tensors(ray_id)
    plain = [one.detach() if _torch.is_tensor(one) else one for one in tensors]
    encoded = _calls._encoded(plain[0] if len(plain) == 1 else plain)
    with owned.beginning(id):
        try:
            owned.client._put_encoded(encoded, id, None, owned=True)
        except AlreadyExistsError:  # the task ran before: Ray takes its first result
            owned.client.own(id)


def _answer(request: _core.GetLater, timeout: float) -> _core.View:
    """Within so many seconds; below 0, until the deadline that it has."""
    if timeout >= 0 and not request.ready():
        arrivals, poll = _core.Arrivals(), select.poll()
        poll.register(arrivals.descriptor, select.POLLIN)
        request.tell(arrivals, 0)
        if not poll.poll(1000 * timeout):
            raise errors.TimeoutError(f"the tensors did not arrive within {timeout} s")
    return request.wait()


def _device_of(tensor: Any) -> str:
    return str(tensor.device.type) if _torch.is_tensor(tensor) else "cpu"


def _was_aborted(ray_id: str) -> CancelledError:
    return CancelledError(f"ObjectRef({ray_id}): Ray has aborted the transfer")
