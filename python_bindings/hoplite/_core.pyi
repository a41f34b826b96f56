"""Types of the extension (python_bindings/src)."""

from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np

from hoplite.errors import HopliteError

__version__: str
DTYPES: tuple[str, ...]

@final
class ObjectId:
    """The name of an object: 20 bytes, hashable, picklable, prints as 40 hexadecimal digits. May be
    handed around before the object exists."""

    def __init__(self, text: str) -> None:
        """From 40 hexadecimal digits, or "name:TEXT".

        InvalidArgumentError: it is neither.
        """
    @staticmethod
    def random() -> ObjectId:
        """160 random bits of the operating system."""
    @staticmethod
    def from_name(name: str) -> ObjectId:
        """The same text gives the same id on every machine."""
    @staticmethod
    def from_bytes(bytes: bytes) -> ObjectId:
        """From the 20 raw bytes. InvalidArgumentError: there are more or fewer."""
    def hex(self) -> str:
        """40 hexadecimal digits."""
    def __bytes__(self) -> bytes: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: object) -> bool: ...
    def __lt__(self, other: ObjectId) -> bool: ...

@final
class View:
    @property
    def id(self) -> ObjectId: ...
    @property
    def metadata(self) -> bytes: ...
    def map_private(self) -> PrivateView: ...
    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

@final
class PrivateView:
    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...

@final
class Draft:
    @property
    def id(self) -> ObjectId: ...
    @property
    def advanced(self) -> int: ...
    @property
    def state(self) -> str: ...
    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def advance(self, prefix_bytes: int) -> None: ...
    def seal(self, timeout: float | None = None) -> None: ...
    def abort(self) -> None: ...

@final
class ReduceOutcome:
    @property
    def target(self) -> ObjectId: ...
    @property
    def used(self) -> list[ObjectId]: ...
    @property
    def unused(self) -> list[ObjectId]: ...

@final
class Reduction:
    @property
    def target(self) -> ObjectId: ...
    def ready(self) -> bool: ...
    def wait(self, timeout: float | None = None) -> ReduceOutcome: ...
    def tell(self, arrivals: Arrivals, number: int) -> None: ...
    def cancel(self) -> None: ...

@final
class RegisterEntry:
    @property
    def number(self) -> tuple[int, int]: ...
    @property
    def value(self) -> bytes: ...
    @property
    def has_writer(self) -> bool: ...

@final
class RegisterWrite:
    @property
    def written(self) -> bool: ...
    @property
    def entry(self) -> RegisterEntry: ...

@final
class RegisterLater:
    def wait(self) -> RegisterEntry: ...
    def ready(self) -> bool: ...
    def tell(self, arrivals: Arrivals, number: int) -> None: ...
    def cancel(self) -> None: ...

@final
class RegisterWriteLater:
    def wait(self) -> RegisterWrite: ...
    def ready(self) -> bool: ...
    def tell(self, arrivals: Arrivals, number: int) -> None: ...
    def cancel(self) -> None: ...

@final
class Register:
    def get_later(self, timeout: float | None = None) -> RegisterLater: ...
    def changed_later(
        self, after: tuple[int, int], only_later: bool, timeout: float | None = None
    ) -> RegisterLater: ...
    def write_later(
        self, expected: tuple[int, int], value: bytes, writer: bool, timeout: float | None = None
    ) -> RegisterWriteLater: ...

# Name, dtype, shape, metadata.
PartSaid = tuple[str, str, list[int], bytes]

@final
class ChannelSnapshot:
    @property
    def id(self) -> ObjectId: ...
    @property
    def version(self) -> int: ...
    @property
    def metadata(self) -> bytes: ...
    @property
    def objects(self) -> list[View]: ...
    @property
    def parts(self) -> list[tuple[PartSaid, int | None, int, int]]: ...
    def own_part(self, index: int) -> OwnPart: ...

@final
class OwnPart:
    def __buffer__(self, flags: int, /) -> memoryview: ...

@final
class SnapshotLater:
    def wait(self) -> ChannelSnapshot: ...
    def ready(self) -> bool: ...
    def tell(self, arrivals: Arrivals, number: int) -> None: ...
    def cancel(self) -> None: ...

@final
class SnapshotStream:
    @property
    def version(self) -> int: ...
    def next(self, timeout: float | None = None) -> tuple[PartSaid, bytearray] | None: ...

@final
class Channel:
    def publish(
        self,
        parts: list[tuple[str, str, tuple[int, ...], bytes, Any]],
        metadata: bytes,
        version: int | None = None,
        timeout: float | None = None,
    ) -> int: ...
    def latest(self, timeout: float | None = None) -> int | None: ...
    def get_later(
        self,
        at_least: int = 0,
        exactly: int | None = None,
        after: ObjectId | None = None,
        wait_for_successor: bool = False,
        timeout: float | None = None,
    ) -> SnapshotLater: ...
    def stream(
        self, at_least: int = 0, exactly: int | None = None, timeout: float | None = None
    ) -> SnapshotStream: ...
    def close(self) -> None: ...

def open_channel(
    client: Client,
    name: str,
    keep: int,
    take_over: bool,
    deltas: bool,
    timeout: float | None = None,
) -> Channel: ...

@final
class Arrivals:
    def __init__(self) -> None: ...
    @property
    def descriptor(self) -> int: ...
    def take(self) -> list[int]: ...

@final
class GetLater:
    def wait(self) -> View: ...
    def ready(self) -> bool: ...
    def tell(self, arrivals: Arrivals, number: int) -> None: ...
    def cancel(self) -> None: ...

@final
class DoneLater:
    def wait(self) -> None: ...
    def ready(self) -> bool: ...
    def tell(self, arrivals: Arrivals, number: int) -> None: ...
    def cancel(self) -> None: ...

@final
class PutLater:
    def wait(self) -> ObjectId: ...
    def ready(self) -> bool: ...
    def tell(self, arrivals: Arrivals, number: int) -> None: ...
    def cancel(self) -> None: ...

@final
class Ending:
    def wait(self) -> None: ...

@final
class HolderInfo:
    """A copy of an object."""

    @property
    def node(self) -> str:
        """The name of the node that has it."""
    @property
    def complete(self) -> bool:
        """Whether it has all bytes."""
    @property
    def valid_bytes(self) -> int:
        """How many it has, as last reported."""

@final
class TransferInfo:
    """An object on its way between two nodes."""

    @property
    def object(self) -> ObjectId:
        """Whose bytes these are."""
    @property
    def from_node(self) -> str:
        """The name of the sender."""
    @property
    def to_node(self) -> str:
        """The name of the receiver."""
    @property
    def valid_bytes(self) -> int:
        """How many bytes the receiver has."""

@final
class WaiterInfo:
    """A node whose clients wait for an object."""

    @property
    def node(self) -> str:
        """Its name."""
    @property
    def why(self) -> str:
        """What it waits for: "it does not exist", "its last copy was lost, on n2"."""

@final
class NodeStatus:
    """A node of the cluster, as the directory sees it."""

    @property
    def name(self) -> str:
        """Unique in the cluster."""
    @property
    def address(self) -> str:
        """HOST:PORT of its data plane."""
    @property
    def alive(self) -> bool:
        """False: its session with the directory is interrupted."""
    @property
    def memory_bytes(self) -> int:
        """The size of its store; 0 where the asked node does not know."""
    @property
    def used_bytes(self) -> int:
        """What of the store is taken; 0 where the asked node does not know."""
    @property
    def bytes_per_second(self) -> int:
        """The measured rate of its link; 0: not measured yet."""
    @property
    def rate_age(self) -> float:
        """Seconds since the directory heard that rate last."""
    @property
    def round_trip(self) -> float:
        """Seconds to its peers and back; 0: not measured yet."""
    @property
    def corrupt_blocks(self) -> int:
        """Blocks that failed their checksum on arrival since its start. They were fetched again."""

@final
class ShardStatus:
    """What a shard of the directory keeps."""

    @property
    def objects(self) -> int:
        """How many objects it knows."""
    @property
    def inline_bytes(self) -> int:
        """Bytes of the small objects that the shard itself holds."""
    @property
    def inline_total_bytes(self) -> int:
        """The most that these may be."""
    @property
    def away(self) -> str:
        """Why it did not answer, so that objects of it are missing; empty: it did."""

@final
class ClusterStatus:
    """A picture of the cluster, drawn in pages: it is not of one moment."""

    @property
    def nodes(self) -> list[NodeStatus]:
        """All that the directory knows."""
    @property
    def objects(self) -> list[ObjectInfo]:
        """In the order of ids; as many as were asked for."""
    @property
    def shards(self) -> list[ShardStatus]:
        """Of the directory."""
    @property
    def object_count(self) -> int:
        """Of all objects, also those that are not listed."""
    def _repr_html_(self) -> str: ...

@final
class LocationChange:
    """One change of an object's locations."""

    @property
    def kind(self) -> str:
        """What the node has from now on: "partial", "complete" or "gone"; or "in_directory"."""
    @property
    def node(self) -> str:
        """Its name; empty: the directory."""
    @property
    def version(self) -> str:
        """Which attempt to create the object, "incarnation.sequence"."""

@final
class Subscription:
    """The changes of an object's locations, in order, from ``Client.subscribe`` on."""

    def next(self, timeout: float | None = None) -> LocationChange:
        """The next change; waits for one if there is none.

        TimeoutError: nothing changed within `timeout` seconds. ResourceExhaustedError: more than
        4096 changes were not fetched, and the subscription has ended. UnavailableError: the
        connection to the node has ended.
        """

@final
class ObjectInfo:
    """What the directory knows of an object: ``Client.info``."""

    @property
    def id(self) -> ObjectId:
        """Its name."""
    @property
    def size_bytes(self) -> int:
        """Of all of it; 0 if it is not known."""
    @property
    def version(self) -> str:
        """Which attempt to create it, "incarnation.sequence"; empty: none yet."""
    @property
    def dtype(self) -> str | None:
        """Of its elements, as ``Client.put`` noted it, like "float32"; None: it noted none."""
    @property
    def in_directory(self) -> bool:
        """Whether it is so small that the directory itself holds the bytes."""
    @property
    def holders(self) -> list[HolderInfo]:
        """The nodes that have it, or a part."""
    @property
    def transfers(self) -> list[TransferInfo]:
        """Who fetches it from whom."""
    @property
    def waiters(self) -> list[WaiterInfo]:
        """Who can't fetch it yet, and why."""
    @property
    def metadata(self) -> bytes:
        """What this package or another creator noted of the value, at most 4 KiB."""
    @property
    def user_metadata(self) -> dict[str, Any]:
        """The dict that ``Client.put`` was given for `metadata`; empty: none."""
    @property
    def ever_owned(self) -> bool:
        """Whether it is deleted when its last owner is gone."""
    @property
    def owners(self) -> int:
        """How many nodes have clients that own it."""
    @property
    def grace(self) -> float | None:
        """For how many seconds after the death of these it is owned; None: the directory's time."""
    @property
    def failure(self) -> HopliteError | None:
        """The error in place of its bytes (``Client.fail``); None: it did not fail."""
    @property
    def as_register(self) -> RegisterInfo | None:
        """The register of that name (``Client.register``); None: no node has one open."""

@final
class RegisterInfo:
    """A register."""

    @property
    def number(self) -> int:
        """Of its last write; 0: nobody wrote it yet."""
    @property
    def value(self) -> bytes:
        """What it holds."""
    @property
    def writer(self) -> str:
        """The node of the client that claimed it last; empty: there is none."""
    @property
    def nodes(self) -> int:
        """How many nodes have it open."""

@final
class LeftObject:
    """An object that a drained node did not hand on."""

    @property
    def id(self) -> ObjectId:
        """Its id."""
    @property
    def why(self) -> HopliteError:
        """Why it is left."""

@final
class DrainOutcome:
    """The outcome of a drain."""

    @property
    def handed_on(self) -> int:
        """How many objects only the drained node had, and another has now."""
    @property
    def left_count(self) -> int:
        """How many objects only the drained node may have, or still makes."""
    @property
    def left(self) -> list[LeftObject]:
        """The first thousand of these."""

@final
class Client:
    @staticmethod
    def connect(socket: str, timeout: float | None = None) -> Client: ...
    def put(
        self,
        pieces: Sequence[memoryview | np.ndarray[Any, Any]],
        id: ObjectId | None = None,
        metadata: bytes = b"",
        timeout: float | None = None,
        owned: bool = False,
        grace: float | None = None,
        only_if_owned: bool = False,
        dtype: str | None = None,
    ) -> ObjectId: ...
    def put_later(
        self,
        pieces: Sequence[memoryview | np.ndarray[Any, Any]],
        id: ObjectId | None = None,
        metadata: bytes = b"",
        timeout: float | None = None,
        owned: bool = False,
        grace: float | None = None,
        only_if_owned: bool = False,
        dtype: str | None = None,
    ) -> PutLater: ...
    def create(
        self,
        id: ObjectId,
        size_bytes: int,
        metadata: bytes = b"",
        timeout: float | None = None,
        owned: bool = False,
        grace: float | None = None,
        only_if_owned: bool = False,
        dtype: str | None = None,
    ) -> Draft: ...
    def get(
        self, id: ObjectId, timeout: float | None = None, only_if_owned: bool = False
    ) -> View: ...
    def get_later(
        self, id: ObjectId, timeout: float | None = None, only_if_owned: bool = False
    ) -> GetLater: ...
    def get_many(
        self, ids: list[ObjectId], timeout: float | None = None, only_if_owned: bool = False
    ) -> list[View]: ...
    def get_into(
        self,
        ids: list[ObjectId],
        room_for: Callable[[int, bytes, int], memoryview],
        timeout: float | None = None,
        only_if_owned: bool = False,
    ) -> None: ...
    def reduce(
        self,
        sources: list[ObjectId],
        op: str,
        dtype: str,
        num_objects: int | None = None,
        target: ObjectId | None = None,
        alike: bytes = b"",
        fixed_order: bool = False,
        everyone_reads: bool = False,
        timeout: float | None = None,
        owned: bool = False,
        grace: float | None = None,
        only_if_owned: bool = False,
        folded_bytes: int = 0,
    ) -> Reduction: ...
    def delete(self, ids: list[ObjectId], timeout: float | None = None) -> None: ...
    def fail(
        self,
        id: ObjectId,
        code: str,
        message: str,
        timeout: float | None = None,
        owned: bool = False,
        grace: float | None = None,
        only_if_owned: bool = False,
    ) -> None: ...
    def own(
        self, ids: list[ObjectId], timeout: float | None = None, grace: float | None = None
    ) -> None: ...
    def disown(self, ids: list[ObjectId], timeout: float | None = None) -> None: ...
    def disown_soon(self, ids: list[ObjectId]) -> None: ...
    def delete_later(self, ids: list[ObjectId], timeout: float | None = None) -> DoneLater: ...
    def own_later(
        self, ids: list[ObjectId], timeout: float | None = None, grace: float | None = None
    ) -> DoneLater: ...
    def info(self, id: ObjectId, timeout: float | None = None) -> ObjectInfo: ...
    def why(self, id: ObjectId, timeout: float | None = None) -> str: ...
    def infos(
        self, ids: list[ObjectId], timeout: float | None = None
    ) -> list[ObjectInfo | HopliteError]: ...
    def until_end(self, timeout: float | None = None) -> Ending: ...
    def status(
        self, timeout: float | None = None, max_objects: int | None = None
    ) -> ClusterStatus: ...
    def drain(self, timeout: float | None) -> DrainOutcome: ...
    def subscribe(self, id: ObjectId, timeout: float | None = None) -> Subscription: ...
    def open_register(self, name: str, timeout: float | None = None) -> Register: ...
    def wait_exists(
        self,
        ids: list[ObjectId],
        count: int,
        timeout: float | None = None,
        only_if_owned: bool = False,
    ) -> list[ObjectId]: ...
    def wait_gone(
        self, ids: list[ObjectId], timeout: float | None = None, only_if_owned: bool = False
    ) -> list[ObjectId]: ...
    @property
    def node_name(self) -> str: ...
    @property
    def cluster_id(self) -> str: ...
    def close(self) -> None: ...
