"""The change feed on asyncio: what every transaction changes, in order and without gaps."""

from __future__ import annotations

import datetime
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from . import machine as m
from .entities import TypedEntity
from .errors import NestError
from .model import Model, to_datetime
from .rows import Interrupted
from .stream import Owner, Stream
from .typed import Typed
from .wire import bodies, limits
from .wire.values import Date

_HISTORY = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """A point in the changes of a store, to be stored beside what a program makes of them.

    `history`: the history id in hexadecimal digits. `place`: 0 between two transactions, or where to go on inside the
    one after `revision`; it has no other meaning.
    """

    history: str
    revision: int
    place: int = 0


@dataclass(frozen=True, slots=True)
class ChangedObject:
    """An object that a transaction has changed. `change`: inserted, updated or deleted."""

    change: str
    entity: str
    id: int
    #: The names of the attributes and relationships that an update has changed.
    properties: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """What a transaction has changed, or a part of it: a large one comes in several, of which `is_last` ends it."""

    revision: int
    objects: tuple[ChangedObject, ...]
    is_last: bool
    time: datetime.datetime | Date
    #: The public number of the session that wrote it.
    session_number: int
    user: str | None
    #: Whether no server has checked `user`.
    is_user_claimed: bool
    #: write, undo, redo or revert
    kind: str
    #: The revision that an undo, redo or revert has taken back.
    reverted: int | None
    #: The name of the undo entry.
    name: str
    #: The point after it.
    at: ChangePoint


@dataclass(frozen=True, slots=True)
class Following:
    """The feed begins after `at`; after an Interrupted it goes on there."""

    at: ChangePoint


@dataclass(frozen=True, slots=True)
class Progress:
    """There are no more changes up to `at`."""

    at: ChangePoint


#: An entity: its name, what `client.entity` returns, or a generated class.
EntityName: TypeAlias = str | TypedEntity[Any, Any] | type[Typed[Any, Any, Any]]
FeedEvent = Following | ChangeSet | Progress | Interrupted


class Changes(Stream[FeedEvent]):
    """What every transaction changes: an asynchronous iterator, which begins with a Following.

    If its loop is slow, the server keeps what follows. No revision is skipped: where the server cannot go on, the loop
    raises an error, such as REVISION_DROPPED.
    """

    def __init__(
        self,
        client: Owner,
        since: ChangePoint | None,
        entities: Sequence[EntityName],
        model: Callable[[], Awaitable[Model]],
        newest: Callable[[Model], Model],
    ) -> None:
        super().__init__(client)
        if since is not None and not _HISTORY.fullmatch(since.history):
            raise NestError("INVALID", "the history of a point has 32 hexadecimal digits")
        self._entities = entities
        self._get_model = model
        self._newest = newest
        self._model: Model | None = None
        self._bytes = 0
        self._is_paused = False
        #: The point after what the loop has taken: `client.changes(since=feed.at)` continues there.
        self.at = since

    def __repr__(self) -> str:
        return f"<Changes at {self.at!r}>"

    async def _prepare(self) -> Callable[[m.Machine], int]:
        model = self._model = await self._get_model()
        numbers = [model.entity(_name(one)).number for one in self._entities]
        since = _since(self.at) if self.at else None
        return lambda machine: machine.follow_changes(since, numbers, model.hash)

    def _take(self) -> FeedEvent:
        one = super()._take()
        if not isinstance(one, Interrupted):
            self.at = one.at
        if not self._waiting:
            self._bytes = 0
            self._pause(False)
        return one

    def _receive(self, event: m.SubscriptionEvent) -> None:
        match event:
            case m.FeedBegan(_, at):
                self._add(Following(_point(at)))
            case m.ChangesCame(_, changes, at, size):
                self._bytes += size
                self._add(self._change_set(changes, _point(at)))
                if self._bytes > limits.CHANGE_BYTES_WAITING_MAX or len(self._waiting) > limits.CHANGES_WAITING_MAX:
                    self._pause(True)
            case m.FeedAdvanced(_, at):
                # Only the newest counts.
                if self._waiting and isinstance(self._waiting[-1], Progress):
                    self._waiting[-1] = Progress(_point(at))
                else:
                    self._add(Progress(_point(at)))
            case m.Interrupted(_, error):
                self._add(Interrupted(error))
            case _:
                super()._receive(event)

    def _pause(self, is_paused: bool) -> None:
        if self._is_paused != is_paused and self._driver and self._number is not None and not self._is_ended:
            self._is_paused = is_paused
            self._driver.pause_changes(self._number, is_paused)

    def _change_set(self, fields: bodies.ChangeSet, at: ChangePoint) -> ChangeSet:
        return ChangeSet(
            fields["revision"],
            tuple(self._object(one) for one in fields["objects"]),
            fields["place"] == 0,
            to_datetime(fields["time"]),
            fields["session_number"],
            fields["user"],
            fields["user_claimed"],
            fields["kind"],
            fields["reverted"],
            fields["name"],
            at,
        )

    def _object(self, fields: bodies.ChangedObject) -> ChangedObject:
        assert self._model
        entity = self._newest(self._model).by_number.get(fields["entity"])
        if entity is None:
            return ChangedObject(fields["change"], str(fields["entity"]), fields["id"], ())
        names = tuple(entity.name_of(number) for number in fields["properties"])
        return ChangedObject(fields["change"], entity.name, fields["id"], names)


def _name(entity: EntityName) -> str:
    if isinstance(entity, str):
        return entity
    return entity.name if isinstance(entity, TypedEntity) else entity.entity


def _point(at: bodies.Since) -> ChangePoint:
    return ChangePoint(at["history_id"].hex(), at["revision"], at["place"])


def _since(point: ChangePoint) -> bodies.Since:
    return {"history_id": bytes.fromhex(point.history), "revision": point.revision, "place": point.place}
