"""The requests of a program: they wait, are in flight, and are sent again after a lost connection."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ..errors import NestError
from ..wire import limits
from ..wire.results import SnapshotAssembler

MODEL_CHANGED = (
    "the server has another model now, with other numbers for entities and properties: call entity() again, then "
    "repeat requests and subscriptions"
)


@dataclass(slots=True, eq=False)
class Call:
    """One request. Every request of this client may be sent again: writes have a key, and the others change nothing."""

    #: The number for the program; None if only the machine waits for the answer.
    number: int | None
    message: str
    body: bytes
    #: The name of the message that answers it.
    answer: str
    is_write: bool = False
    #: The hash of the model that its numbers are of; None: it has none.
    model: int | None = None
    #: Of FETCH: the properties whose values the rows carry.
    projection: tuple[int, ...] = ()
    has_window: bool = False
    #: Whether a server may have executed it on an earlier connection.
    may_be_executed: bool = False
    assembler: SnapshotAssembler | None = None
    #: What takes the answer of a request that the machine itself made.
    answered: Callable[[Any], None] | None = None
    refused: Callable[[NestError], None] | None = None


@dataclass(slots=True)
class CallTable:
    """Which requests wait, and which are in flight by their request id."""

    waiting: deque[Call] = field(default_factory=deque)
    in_flight: dict[int, Call] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Call]:
        yield from self.in_flight.values()
        yield from self.waiting

    @property
    def is_full(self) -> bool:
        return len(self.waiting) >= limits.CLIENT_REQUESTS_WAITING_MAX

    def put_back(self, calls: list[Call]) -> None:
        """Lets calls that were in flight wait again, before all others and in their order."""
        for call in calls:
            call.assembler = None
        self.waiting.extendleft(reversed(calls))

    def not_executed(self, after: int) -> None:
        """The server has said that it executed no request with a higher id."""
        ids = sorted(id for id in self.in_flight if id > after)
        self.put_back([self.in_flight.pop(id) for id in ids])

    def lost(self) -> None:
        """The connection was lost: what was in flight may have been executed."""
        calls = [call for _, call in sorted(self.in_flight.items())]
        self.in_flight.clear()
        for call in calls:
            call.may_be_executed = call.may_be_executed or call.is_write
        # A subscription begins anew with the state that it holds.
        self.put_back([call for call in calls if call.number is not None])
        self.waiting = deque(call for call in self.waiting if call.number is not None)

    def remove_if(self, test: Callable[[Call], bool]) -> list[Call]:
        """Takes out those of the waiting for which this is true."""
        removed = [call for call in self.waiting if test(call)]
        if removed:
            self.waiting = deque(call for call in self.waiting if call not in removed)
        return removed

    def find(self, number: int) -> tuple[int | None, Call] | None:
        for id, call in self.in_flight.items():
            if call.number == number:
                return id, call
        for call in self.waiting:
            if call.number == number:
                return None, call
        return None


def refusal(call: Call, error: NestError) -> NestError:
    """What a refusal means for a call that an earlier connection may have executed.

    Access, limits and the size of a frame are checked before the key: such a refusal says nothing about the earlier
    sending.
    """
    is_blind = error.retry != 0 or error.code >> 8 in (1, 2, 5)
    if not call.may_be_executed or error.retry == 3 or not is_blind:
        return error
    return unknown_outcome(f"the connection was lost before the answer, and now the server refuses ({error.text})")


def unknown_outcome(why: str) -> NestError:
    return NestError("OUTCOME_UNKNOWN", f"{why}: the change may have been made; check before you retry")
