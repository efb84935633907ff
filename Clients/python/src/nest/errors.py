"""Errors: one class for all of them, with the codes of protocol.md (section 14)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["CODES", "Fault", "NestError", "ProtocolError", "number_of", "name_of"]

# Each class of codes from its first number on; a digit after a name is what the client may do (`retry`, if not 0). A
# dash is a number that is not used.
_TABLE = {
    0x100: "PROTOCOL4 FRAME_TOO_LARGE UNSUPPORTED_MESSAGE UNSUPPORTED_FLAG MALFORMED REQUEST_ID FLOW_CONTROL4 CHECKSUM4"
    " UNSUPPORTED VERSION_MISMATCH",
    0x201: "UNAUTHENTICATED FORBIDDEN NOT_PERMITTED TOKEN_EXPIRED",
    0x300: "INVALID UNKNOWN_ENTITY UNKNOWN_PROPERTY VALIDATION_FAILED INVALID_TEXT VALUE_TOO_LARGE INVALID_PREDICATE"
    " SCHEMA_CHANGED4 INDEX_OUT_OF_RANGE",
    0x400: "CONFLICT CYCLE DELETE_DENIED UNDO_CONFLICT NOT_FOUND NOTHING_TO_UNDO KEY_REUSED DEPTH_LIMIT ROOT_OBJECT"
    " NOTHING_TO_REDO NOT_UNIQUE REVISION_NOT_REACHED2 REVISION_DROPPED OWNER_GONE",
    0x500: "BUSY2 - LIMIT_EXCEEDED SLOW_CONSUMER4 TIMED_OUT3 CANCELLED1 DISK_FULL2 SHUTTING_DOWN4 LOG_UNAVAILABLE2"
    " NOT_LEADER4",
    0x600: "INTERNAL3 STORAGE_FAILURE3 STORAGE_CORRUPT",
    # Class 07 is never sent: only clients use it.
    0x700: "UNREACHABLE2 CONNECTION_LOST4 OUTCOME_UNKNOWN3 CLOSED UNTRUSTED",
}


def _codes() -> dict[str, tuple[int, int]]:
    codes: dict[str, tuple[int, int]] = {}
    for first, names in _TABLE.items():
        for index, entry in enumerate(names.split()):
            name = entry.rstrip("0123456789")
            if name != "-":
                codes[name] = (first + index, int(entry[len(name) :] or 0))
    return codes


#: name -> (number, retry)
CODES = _codes()
_NAMES = {number: name for name, (number, _) in CODES.items()}


def name_of(number: int) -> str:
    """The name of a code, such as NOT_FOUND; `ERROR_4f0` for one that protocol.md does not have."""
    return _NAMES.get(number) or f"ERROR_{number:x}"


def number_of(name: str) -> int:
    if name in CODES:
        return CODES[name][0]
    return int(name.removeprefix("ERROR_"), 16)


@dataclass(frozen=True, slots=True)
class Fault:
    """One mistake in the state that a transaction would leave."""

    entity: int
    property: int | None
    object: int | None
    reason: str
    text: str


class NestError(Exception):
    """A refusal of the server, or a mistake that the client found itself.

    `code` is the number and `name` the name of the code. `retry`: 0 it would fail again; 1 not executed, send it again
    at once; 2 the same after a pause; 3 it may have been executed; 4 not executed, connect again first.
    """

    def __init__(
        self,
        name: str,
        text: str,
        *,
        retry: int | None = None,
        retry_after: float = 0.0,
        object: int | None = None,
        faults: Sequence[Fault] = (),
        leader: str | None = None,
        column: int | None = None,
        key: bytes | None = None,
    ) -> None:
        super().__init__(text)
        self.name = name
        self.code = number_of(name)
        self.text = text
        self.retry = CODES.get(name, (0, 3))[1] if retry is None else retry
        #: Seconds that the server asks to wait first.
        self.retry_after = retry_after
        #: The id of the object that the error is about.
        self.object = object
        self.faults = tuple(faults)
        #: With NOT_LEADER: the address of the node that takes writes, HOST:PORT.
        self.leader = leader
        #: With INVALID_PREDICATE: the column of the mistake in the text, from 1.
        self.column = column
        #: The idempotency key of the write. The same write with this key is executed at most once.
        self.key = key

    def __str__(self) -> str:
        return f"{self.name}: {self.text}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.text!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        # An exception is copied with its `args` alone, which are not what it is made of.
        return _again, (type(self), self.__dict__)


def _again(kind: type[NestError], state: dict[str, Any]) -> NestError:
    error = kind.__new__(kind)
    error.args = (state["text"],)
    error.__dict__.update(state)
    return error


class ProtocolError(NestError):
    """Bytes that are not what the protocol requires, or a diff that does not fit the state."""
