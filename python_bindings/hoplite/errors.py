"""The exceptions of the package: one class per error code, with the C++ library's own sentence.

Every class has ``code``, the name that logs and the command line show too. They pickle.
"""

from __future__ import annotations

import builtins
import traceback

from hoplite._register_entry import RegisterEntry


class HopliteError(Exception):
    """An operation failed; ``str(error)`` is one sentence that names what was wrong."""

    #: The name that logs and the command line show too, such as "not_found".
    code = ""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else self.code


class InvalidArgumentError(HopliteError, ValueError):
    """Correct the call."""

    code = "invalid_argument"


class NotFoundError(HopliteError):
    """The thing named isn't there; waiting won't help."""

    code = "not_found"


class AlreadyExistsError(HopliteError):
    """Choose another id, or get what is there."""

    code = "already_exists"


class ObjectDeletedError(HopliteError):
    """The object was deleted; the message says for how long the id is blocked."""

    code = "deleted"


class TimeoutError(HopliteError, builtins.TimeoutError):
    """The deadline passed; the message says what was missing."""

    code = "timeout"


class CancelledError(HopliteError):
    """The caller itself cancelled, or the client was closed."""

    code = "cancelled"


class ResourceExhaustedError(HopliteError):
    """Free memory, or start the node with more; both sizes are named."""

    code = "resource_exhausted"


class UnavailableError(HopliteError, ConnectionError):
    """The node or the directory can't be reached now."""

    code = "unavailable"


class PeerLostError(HopliteError):
    """A named member died; put the object again."""

    code = "peer_lost"


class DataLossError(HopliteError):
    """Bytes failed their checksum everywhere they were."""

    code = "data_loss"


class ProtocolError(HopliteError):
    """The other side broke the protocol; report a bug."""

    code = "protocol"


class RecalledError(HopliteError):
    """The bytes belong to a version that was replaced; open the object again."""

    code = "recalled"


class ObjectFailedError(HopliteError):
    """Whoever was to make the object put this error in its place (``Client.fail``)."""

    code = "failed"


class ConflictError(HopliteError):
    """A register had another number than a write expected, or a channel has another publisher; read
    again, or give up."""

    code = "conflict"

    def __init__(self, message: str, entry: RegisterEntry | None = None) -> None:
        super().__init__(message, entry)
        #: What the register holds; of a channel it does not say that.
        self.entry = entry or RegisterEntry(0, b"", True)

    @property
    def number(self) -> int:
        """The register's number; of a channel: 0."""
        return self.entry.number


class PublisherGoneError(HopliteError):
    """A channel's publisher is gone, and what was asked for will not come from it."""

    code = "publisher_gone"


class InternalError(HopliteError):
    """A bug of Hoplite."""

    code = "internal"


def in_words(error: str | BaseException) -> tuple[str, str]:
    """The code and the sentence by which others are told of this error."""
    if isinstance(error, HopliteError) and error.code:
        return error.code, str(error)
    if isinstance(error, str):
        return ObjectFailedError.code, error
    if not isinstance(error, BaseException):
        raise TypeError(f"fail: error: a text or an exception expected, not {error!r:.100}")
    said = "".join(traceback.format_exception_only(error)).strip()
    return ObjectFailedError.code, said


BY_CODE = {
    one.code: one
    for one in (
        InvalidArgumentError,
        NotFoundError,
        AlreadyExistsError,
        ObjectDeletedError,
        TimeoutError,
        CancelledError,
        ResourceExhaustedError,
        UnavailableError,
        PeerLostError,
        DataLossError,
        ProtocolError,
        RecalledError,
        InternalError,
        ObjectFailedError,
        ConflictError,
        PublisherGoneError,
    )
}
