"""A client of nest: live lists of a shared object graph.

`nest.connect` is for asyncio; `nest.sync.connect` has the same names for programs that block.
"""

from . import sync
from .aio import Client, connect
from .changes import ChangedObject, ChangePoint, Changes, ChangeSet, FeedEvent, Following, Progress
from .entities import Entity, TypedEntity
from .errors import Fault, NestError, ProtocolError
from .history import HistoryEntry, Object, UndoEntry, UndoState
from .model import Attribute, EntityDescription, LargeValue, Model, Relationship
from .predicates import quote
from .requests import FetchRequest
from .rows import (
    Change,
    Deleted,
    Diff,
    Inserted,
    Interrupted,
    Moved,
    PositionChange,
    Resumed,
    Row,
    RowEvent,
    RowList,
    Rows,
    Section,
    SectionDeleted,
    SectionInserted,
    Snapshot,
    Updated,
)
from .subscription import Subscription
from .transactions import FIRST, LAST, Conflict, HasID, ObjectLike, Place, Receipt, Step, after, at, before, near
from .typed import Path, Typed, path
from .wire.rows import Position
from .wire.values import Date, Reference

__all__ = [
    "FIRST",
    "LAST",
    "Attribute",
    "Change",
    "ChangePoint",
    "ChangeSet",
    "ChangedObject",
    "Changes",
    "Client",
    "Conflict",
    "Date",
    "Deleted",
    "Diff",
    "Entity",
    "EntityDescription",
    "Fault",
    "FeedEvent",
    "FetchRequest",
    "Following",
    "HasID",
    "HistoryEntry",
    "Inserted",
    "Interrupted",
    "LargeValue",
    "Model",
    "Moved",
    "NestError",
    "Object",
    "ObjectLike",
    "Path",
    "Place",
    "Position",
    "PositionChange",
    "Progress",
    "ProtocolError",
    "Receipt",
    "Reference",
    "Relationship",
    "Resumed",
    "Row",
    "RowEvent",
    "RowList",
    "Rows",
    "Section",
    "SectionDeleted",
    "SectionInserted",
    "Snapshot",
    "Step",
    "Subscription",
    "Typed",
    "TypedEntity",
    "UndoEntry",
    "UndoState",
    "Updated",
    "after",
    "at",
    "before",
    "connect",
    "near",
    "path",
    "quote",
    "sync",
]
