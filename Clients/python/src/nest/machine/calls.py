"""One request, and what its refusal means."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ..errors import NestError
from ..wire.results import SnapshotAssembler

MODEL_CHANGED = (
    "the server has another model now, with other numbers for entities and properties: call entity() again, then "
    "repeat requests and subscriptions"
)


@dataclass(slots=True, eq=False)
class Call:
    """One request.

    It may be sent again: writes have a key, and the others change nothing. Only transfers of large values are not.
    """

    message: str
    body: bytes
    #: The name of the message that answers it.
    answer: str
    is_write: bool = False
    key: bytes | None = None
    #: The hash of the model that its numbers are of; None: it has none.
    model: int | None = None
    #: Of FETCH: the properties whose values the rows carry.
    projection: tuple[int, ...] = ()
    has_window: bool = False
    #: The number for the program. Numbers grow: a write with a smaller one is sent first.
    number: int = 0
    #: Whether a server may have executed it on an earlier connection.
    may_be_executed: bool = False
    #: The program no longer waits for the answer.
    is_abandoned: bool = False
    assembler: SnapshotAssembler | None = None
    #: Whether it has a stream of pieces.
    transfer: Literal["upload", "download"] | None = None
    #: Bytes that may still be sent, by this side of an upload or by the server.
    credit: int = 0
    #: Bytes of a download that the program has taken, and that were not granted again.
    taken: int = 0
    #: Bytes of the pieces so far, and the checksum over them; None: another one protects them.
    count: int = 0
    checksum: int | None = None
    #: What takes the answer, or the refusal, of a request that the machine itself makes.
    answered: Callable[[Any], None] | None = None
    refused: Callable[[NestError], None] | None = None

    @property
    def is_own(self) -> bool:
        """Whether the machine made it. A lost connection ends it: the next one begins with other requests."""
        return self.answered is not None


def call_of(
    message: str,
    answer: str,
    body: bytes,
    fields: Mapping[str, Any],
    *,
    model: int | None = None,
    is_write: bool = False,
    projection: tuple[int, ...] = (),
    has_window: bool = False,
    transfer: Literal["upload", "download"] | None = None,
    checksum: int | None = None,
) -> Call:
    """A request of the program."""
    call = Call(message, body, answer, is_write, fields.get("key"), model, projection, has_window)
    call.transfer, call.checksum = transfer, checksum
    return call


def refusal(call: Call, error: NestError) -> NestError:
    """What a refusal means for a call that an earlier connection may have executed.

    Access, limits and the size of a frame are checked before the key: such a refusal says nothing about the earlier
    sending.
    """
    is_blind = error.retry != 0 or error.code >> 8 in (1, 2, 5)
    if call.may_be_executed and error.retry != 3 and is_blind:
        why = f"the connection was lost before the answer, and now the server refuses ({error.text})"
        return unknown_outcome(call, why)
    if call.is_write and error.retry == 3:
        error.key = call.key
    return error


def unknown_outcome(call: Call, why: str) -> NestError:
    text = f"{why}: the change may have been made; check before you retry, or send it again with the key of this error"
    return NestError("OUTCOME_UNKNOWN", text, key=call.key)
