"""The types of the bodies that the client reads, as the codecs of messages.py make them."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

from .rows import Key, Position, WireRow
from .values import Value

Path = tuple[int, int]


class Token(TypedDict):
    number: int
    secret: bytes


class Welcome(TypedDict):
    server_name: str
    features: int
    frame_bytes_max: int
    history_id: bytes
    revision: int
    oldest_revision: int
    model_hash: int
    session_number: int | None
    ping_interval_milliseconds: int
    requests_in_flight_max: int
    subscriptions_max: int
    credit_bytes_initial: int
    role: str
    confinement: dict[str, int] | None
    store: str | None
    node_role: str | None
    leader: str | None
    user: str | None
    token_expires: int | None


class FaultBody(TypedDict):
    entity: int
    property: int | None
    object: int | None
    reason: str
    message: str


class ErrorBody(TypedDict):
    code: str
    retry: int
    #: Milliseconds.
    retry_after: int
    message: str
    object: int | None
    faults: list[FaultBody]
    leader: str | None
    column: int | None


class GoAway(TypedDict):
    code: str
    last_request_id: int
    #: Milliseconds.
    retry_after: int
    message: str


class Ping(TypedDict):
    payload: bytes


class Own(TypedDict):
    revisions: list[int]
    requests: list[int] | None


class Progress(TypedDict):
    revision: int


class Subscribed(TypedDict):
    view: int
    #: snapshot, difference, current or alreadySubscribed
    first: str
    revision: int
    reason: str
    projection: list[int]


class SubscriptionEnd(TypedDict):
    code: str
    message: str


class SectionHead(TypedDict):
    key: Key
    row_count: int


class SnapshotHead(TypedDict):
    reason: str
    revision: int
    digest: int
    position: Position
    section_count: int
    sections: list[SectionHead]


class SnapshotSections(TypedDict):
    sections: list[SectionHead]


class SnapshotRows(TypedDict):
    rows: list[WireRow]


class Totals(TypedDict):
    revision: int
    position: Position


class DeletedRow(TypedDict):
    at: Path
    id: int
    reason: str


class InsertedSection(TypedDict):
    at: int
    key: Key


Move = TypedDict("Move", {"from": Path, "to": Path})


class InsertedRow(TypedDict):
    at: Path
    row: WireRow


class PropertyValue(TypedDict):
    property: int
    value: Value


class Update(TypedDict):
    at: Path
    values: list[PropertyValue]


Diff = TypedDict(
    "Diff",
    {
        "from": int,
        "to": int,
        "total": int,
        "digest": int,
        "deleted_rows": list[DeletedRow],
        "deleted_sections": list[int],
        "inserted_sections": list[InsertedSection],
        "moves": list[Move],
        "inserted_rows": list[InsertedRow],
        "updates": list[Update],
        #: None for a view without a window.
        "position": Position | None,
    },
)


class ChangedObject(TypedDict):
    #: inserted, updated or deleted
    change: str
    entity: int
    id: int
    properties: list[int]


class ChangeSet(TypedDict):
    revision: int
    #: Microseconds since 1970.
    time: int
    session_number: int
    kind: str
    reverted: int | None
    name: str
    #: 0 in the last part of a change set.
    place: int
    objects: list[ChangedObject]
    user: str | None
    user_claimed: bool


class Run(TypedDict):
    first: int
    count: int
    is_found: bool


class ConflictBody(TypedDict):
    reason: str
    entity: int
    object: int
    property: int | None
    revision: int | None
    session_number: int | None
    label: str
    user: str | None
    user_claimed: bool


class Conflicts(TypedDict):
    count: int
    listed: list[ConflictBody]


class Receipt(TypedDict):
    revision: int
    is_changed: bool
    is_replayed: bool
    results: list[Run]
    name: str
    conflicts: Conflicts | None


class PropertyCount(TypedDict):
    property: int
    count: int


class ObjectBody(TypedDict):
    entity: int
    id: int
    revision: int
    values: list[PropertyValue]
    counts: list[PropertyCount]


class HistoryEntryBody(TypedDict):
    revision: int
    time: int
    session_number: int
    kind: str
    reverted: int | None
    is_mine: bool
    is_next_undo: bool
    is_next_redo: bool
    is_blocked: bool
    name: str
    entry: int | None
    user: str | None
    user_claimed: bool


class History(TypedDict):
    entries: list[HistoryEntryBody]


class UndoEntryBody(TypedDict):
    revision: int
    transaction_count: int
    name: str


class UndoStateBody(TypedDict):
    undo: UndoEntryBody | None
    redo: UndoEntryBody | None
    undo_count: int
    redo_count: int
    blocked_count: int
    dropped_count: int
    group: int | None


class Predicate(TypedDict):
    predicate: bytes


class AttributeBody(TypedDict):
    number: int
    name: str
    type: str
    is_optional: bool
    defaults_to_now: bool
    default: Value
    minimum: Value
    maximum: Value


class RelationshipBody(TypedDict):
    number: int
    name: str
    destination: int
    inverse: int
    is_to_many: bool
    is_ordered: bool
    is_optional: bool
    delete_rule: str
    minimum_count: int
    maximum_count: int
    join: int | None


class RootBody(TypedDict):
    object: int
    relationship: int


class EntityBody(TypedDict):
    number: int
    name: str
    parent: int | None
    is_abstract: bool
    attributes: list[AttributeBody]
    relationships: list[RelationshipBody]
    uniqueness_constraints: list[list[int]]
    indexes: list[list[int]]
    label: int | None
    root: RootBody | None


class RequestBody(TypedDict):
    name: str
    source: int | None
    entity: int
    predicate: str
    sort: str


class ModelBody(TypedDict):
    entities: list[EntityBody]
    requests: NotRequired[list[RequestBody]]


class Source(TypedDict):
    object: int
    relationship: int


class Range(TypedDict):
    offset: int
    limit: int


class Around(TypedDict):
    anchor: int
    before: int
    after: int


class Request(TypedDict, total=False):
    """A fetch request in the numbers of a model. What is left out is what protocol.md says of it (section 9)."""

    entity: int
    source: Source | None
    projection: list[int]
    sort: list[dict[str, Any]]
    #: In the form of the wire; empty: all objects.
    predicate: bytes | None
    columns: list[dict[str, Any]]
    section: dict[str, Any] | None
    range: Range | None
    around: Around | None
    outline: dict[str, Any] | None
    totals: list[dict[str, Any]]


class Since(TypedDict):
    history_id: bytes
    revision: int
    place: int
