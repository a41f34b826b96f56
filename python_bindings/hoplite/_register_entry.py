"""What a register holds, for `_register` and for the error that says so."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RegisterEntry:
    """What a register holds."""

    #: Of the write that it is of: each is above all of its register before it. 0: nobody wrote yet.
    number: int
    #: At most 1,024 bytes.
    value: bytes
    #: Whoever claimed the register last (``writer=True``) has it open, and did not die.
    has_writer: bool
