"""What has been written, what can be undone, and one object with all it has."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .model import Attribute, Model, from_wire, to_datetime
from .wire.bodies import HistoryEntryBody, ObjectBody, UndoEntryBody, UndoStateBody
from .wire.values import Date


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """A committed transaction."""

    revision: int
    time: datetime.datetime | Date
    #: write, undo, redo or revert
    kind: str
    #: What an undo, redo or revert took back.
    reverted: int | None
    #: The public number of the session that wrote it.
    session_number: int
    name: str
    is_mine: bool
    is_next_undo: bool
    is_next_redo: bool
    #: Nothing in it can be undone any more.
    is_blocked: bool
    user: str | None
    is_user_claimed: bool


def make_entry(fields: HistoryEntryBody) -> HistoryEntry:
    return HistoryEntry(
        fields["revision"],
        to_datetime(fields["time"]),
        fields["kind"],
        fields["reverted"],
        fields["session_number"],
        fields["name"],
        fields["is_mine"],
        fields["is_next_undo"],
        fields["is_next_redo"],
        fields["is_blocked"],
        fields["user"],
        fields["user_claimed"],
    )


@dataclass(frozen=True, slots=True)
class UndoEntry:
    """What one undo or redo takes back. `revision`: of its newest transaction, for `expected`."""

    revision: int
    transaction_count: int
    name: str


@dataclass(frozen=True, slots=True)
class UndoState:
    """What the next undo and redo of the session take back."""

    undo: UndoEntry | None
    redo: UndoEntry | None
    undo_count: int
    redo_count: int


def make_undo_state(fields: UndoStateBody) -> UndoState:
    def entry(one: UndoEntryBody | None) -> UndoEntry | None:
        return UndoEntry(one["revision"], one["transaction_count"], one["name"]) if one else None

    return UndoState(entry(fields["undo"]), entry(fields["redo"]), fields["undo_count"], fields["redo_count"])


@dataclass(frozen=True, slots=True)
class Object:
    """One object with all it has."""

    id: int
    entity: str
    #: Of its last change: for `expect` of a transaction.
    revision: int
    #: Attributes and to-one relationships by name.
    values: Mapping[str, Any] = field(hash=False)
    #: How many objects each to-many relationship leads to.
    counts: Mapping[str, int] = field(hash=False)


def make_object(fields: ObjectBody, model: Model) -> Object:
    entity = model.by_number[fields["entity"]]
    values = {}
    for one in fields["values"]:
        name = entity.name_of(one["property"])
        property = entity.properties.get(name)
        values[name] = from_wire(property.type if isinstance(property, Attribute) else None, one["value"])
    counts = {entity.name_of(one["property"]): one["count"] for one in fields["counts"]}
    return Object(fields["id"], entity.name, fields["revision"], values, counts)
