"""What the machine reports to its driver. `call` and `subscription` are the numbers that the machine gave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import NestError
from ..wire.bodies import ChangeSet, Diff, Since, Welcome
from ..wire.results import State


@dataclass(frozen=True, slots=True)
class Ready:
    """The server has accepted the client."""

    welcome: Welcome


@dataclass(frozen=True, slots=True)
class Lost:
    """The connection was lost; the machine asks for another one after `pause` seconds."""

    error: NestError
    pause: float


@dataclass(frozen=True, slots=True)
class Closed:
    """The client has ended for good; `error` is None if its program closed it."""

    error: NestError | None


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer of a call: the fields of a message, or the State of a FETCH."""

    call: int
    answer: Any


@dataclass(frozen=True, slots=True)
class Failed:
    call: int
    error: NestError


@dataclass(frozen=True, slots=True)
class ValueBegan:
    """What a download is: the fields of VALUE."""

    call: int
    value: Any


@dataclass(frozen=True, slots=True)
class PieceCame:
    """The next bytes of a download. The program reports what it has taken, so that the server sends more."""

    call: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Granted:
    """An upload may send so many bytes of pieces more, each with one byte for its packing."""

    call: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Replaced:
    """The whole state of a subscription is new."""

    subscription: int
    state: State
    reason: str


@dataclass(frozen=True, slots=True)
class Changed:
    """A DIFF. `own`: the revisions in it that this connection wrote."""

    subscription: int
    before: State
    state: State
    diff: Diff
    own: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PositionChanged:
    """A window begins elsewhere in the whole, or the whole has another size; its rows are the same."""

    subscription: int
    state: State


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The connection was lost: the state may be old until Resumed or Replaced."""

    subscription: int
    error: NestError


@dataclass(frozen=True, slots=True)
class Resumed:
    """The subscription goes on from the state that it holds. What changed meanwhile follows as one Changed."""

    subscription: int
    state: State


@dataclass(frozen=True, slots=True)
class Ended:
    """Nothing more comes for this subscription; `error` is None if its program ended it."""

    subscription: int
    error: NestError | None


@dataclass(frozen=True, slots=True)
class FeedBegan:
    """A change feed begins after `at`, or goes on there after an interruption."""

    subscription: int
    at: Since


@dataclass(frozen=True, slots=True)
class ChangesCame:
    """A CHANGE_SET: a transaction, or a part of one. `at` is the point after it; `size` its bytes."""

    subscription: int
    changes: ChangeSet
    at: Since
    size: int


@dataclass(frozen=True, slots=True)
class FeedAdvanced:
    """A feed has nothing more up to `at`."""

    subscription: int
    at: Since


SubscriptionEvent = (
    Replaced | Changed | PositionChanged | Interrupted | Resumed | FeedBegan | ChangesCame | FeedAdvanced | Ended
)
TransferEvent = ValueBegan | PieceCame | Granted
Event = Ready | Lost | Closed | Answered | Failed | TransferEvent | SubscriptionEvent
