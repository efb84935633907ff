"""Rows by names, and the changes of a subscription."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Generic, overload

from .errors import NestError
from .model import LargeValue, from_wire
from .requests import Shape
from .typed import Named, R_co
from .wire import results
from .wire.bodies import Diff as DiffBody
from .wire.bodies import PropertyValue
from .wire.results import State, WireSection
from .wire.rows import Position, WireRow
from .wire.values import Date, Reference

Path = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Row(Named[str, str]):
    """An object of a result: its id, and its values by name."""

    id: int
    _row: WireRow = field(repr=False)
    _shape: Shape = field(repr=False)

    def __getitem__(self, name: str) -> Any:
        slot = self._shape.slots.get(name)
        if slot is None:
            raise KeyError(f"the rows have no '{name}', only {', '.join(self._shape.names)}")
        return self._shape.value(slot, self._row.values[slot])

    def keys(self) -> Sequence[str]:
        return self._shape.names

    def to_dict(self) -> dict[str, Any]:
        return {name: self[name] for name in self._shape.names}

    def __repr__(self) -> str:
        return f"Row({self.id}, {', '.join(f'{name}={value!r}' for name, value in self.to_dict().items())})"


def make_row(row: WireRow, shape: Shape) -> Any:
    """A row by names, or an object of a generated class."""
    made = Row(row.id, row, shape)
    return shape.kind.of(made) if shape.kind else made


class RowList(Sequence[R_co]):
    """Rows that are made when they are asked for."""

    __slots__ = ("_rows", "_shape")

    def __init__(self, rows: Sequence[WireRow], shape: Shape) -> None:
        self._rows = rows
        self._shape = shape

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> R_co: ...
    @overload
    def __getitem__(self, index: slice) -> RowList[R_co]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return RowList(self._rows[index], self._shape)
        return make_row(self._rows[index], self._shape)

    def __iter__(self) -> Iterator[R_co]:
        shape = self._shape
        kind: Any = shape.kind
        rows: Iterator[Any] = (Row(row.id, row, shape) for row in self._rows)
        return map(kind.of, rows) if kind else rows


@dataclass(frozen=True, slots=True)
class Section(Generic[R_co]):
    """Consecutive rows with the same key."""

    #: The value of the section key; "" in a result without sections.
    key: Any
    rows: RowList[R_co]


class Rows(RowList[R_co]):
    """The rows of a result at one revision. It never changes."""

    __slots__ = ("_state",)

    def __init__(self, state: State, shape: Shape) -> None:
        sections = state.sections
        is_one = len(sections) == 1
        super().__init__(sections[0].rows if is_one else [row for one in sections for row in one.rows], shape)
        self._state = state

    @property
    def revision(self) -> int:
        return self._state.revision

    @property
    def sections(self) -> tuple[Section[R_co], ...]:
        return tuple(self._section(section) for section in self._state.sections)

    def _section(self, section: WireSection) -> Section[R_co]:
        return Section(from_wire(None, section.key.value), RowList(section.rows, self._shape))

    @property
    def position(self) -> Position | None:
        """Where a window is in the whole; None without a window."""
        return self._state.position

    @property
    def total(self) -> int:
        """The number of rows of the whole result, in the window or not."""
        return self._state.position.total if self._state.position else len(self)

    @property
    def digest(self) -> int:
        """A hash of order, sections and membership (protocol.md, section 12). O(n)."""
        return results.digest(self._state.sections)

    def to_polars(self) -> Any:
        """The rows as a polars DataFrame; `id` is the first column. Needs the package polars.

        References are ids, UUIDs are text, large values are structs of id, length and SHA-256.
        """
        try:
            import polars
        except ImportError:
            raise NestError("UNSUPPORTED", "install polars first: pip install nest-client[frames]") from None
        columns: dict[str, list[Any]] = {"id": [row.id for row in self._rows]}
        for slot, name in enumerate(self._shape.names):
            columns[name] = [_plain(self._shape.value(slot, row.values[slot])) for row in self._rows]
        return polars.DataFrame(columns, strict=False)

    def __repr__(self) -> str:
        return f"<{len(self)} rows at revision {self.revision}>"


def _plain(value: Any) -> Any:
    """A value that a column of a table can have."""
    if isinstance(value, Reference):
        return value.id
    if isinstance(value, Date):
        return value.microseconds
    if isinstance(value, LargeValue):
        return asdict(value)
    return str(value) if isinstance(value, uuid.UUID) else value


@dataclass(frozen=True, slots=True)
class Inserted(Generic[R_co]):
    """A row has come: its position after the diff."""

    at: Path
    row: R_co


@dataclass(frozen=True, slots=True)
class Deleted:
    """A row has left: its position before the diff. `why`: deleted, unmatched or outOfWindow."""

    at: Path
    id: int
    why: str


@dataclass(frozen=True, slots=True)
class Moved(Generic[R_co]):
    """A row has moved, from its position before the diff to the one after it."""

    source: Path
    target: Path
    row: R_co


@dataclass(frozen=True, slots=True)
class Updated(Generic[R_co]):
    """Values of a row have changed: its position after the diff, and only the values that changed."""

    at: Path
    row: R_co
    values: Mapping[str, Any] = field(hash=False)


@dataclass(frozen=True, slots=True)
class SectionInserted:
    """A section has come: its index after the diff."""

    at: int
    key: Any


@dataclass(frozen=True, slots=True)
class SectionDeleted:
    """A section has left: its index before the diff."""

    at: int
    key: Any


RowEvent = Inserted[R_co] | Deleted | Moved[R_co] | Updated[R_co] | SectionInserted | SectionDeleted


@dataclass(frozen=True, slots=True)
class Snapshot(Generic[R_co]):
    """The whole state is new. `reason`: first, large change, too far behind."""

    rows: Rows[R_co]
    reason: str
    events: tuple[RowEvent[R_co], ...] = ()


@dataclass(frozen=True, slots=True)
class Diff(Generic[R_co]):
    """Rows were deleted, moved, inserted, updated: the events, in the order in which toolkits apply them.

    `own`: the revisions in it that this client wrote.
    """

    rows: Rows[R_co]
    events: tuple[RowEvent[R_co], ...]
    own: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PositionChange(Generic[R_co]):
    """A window begins elsewhere in the whole, or the whole has another size. The rows are the same."""

    rows: Rows[R_co]
    events: tuple[RowEvent[R_co], ...] = ()


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The connection was lost. The rows are those before; Resumed or a Snapshot follows."""

    error: NestError
    events: tuple[RowEvent[Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Resumed(Generic[R_co]):
    """The connection is back, and the rows go on. What changed meanwhile follows as one Diff."""

    rows: Rows[R_co]
    events: tuple[RowEvent[R_co], ...] = ()


Change = Snapshot[R_co] | Diff[R_co] | PositionChange[R_co] | Interrupted | Resumed[R_co]


def row_events(diff: DiffBody, before: State, after: State, shape: Shape) -> tuple[RowEvent[Any], ...]:
    """The events of a diff."""
    numbers = {number: slot for slot, number in enumerate(after.projection)}

    def row_at(path: Path) -> Any:
        return make_row(after.sections[path[0]].rows[path[1]], shape)

    def named(values: Sequence[PropertyValue]) -> dict[str, Any]:
        slots = [(numbers[one["property"]], one["value"]) for one in values]
        return {shape.names[slot]: shape.value(slot, value) for slot, value in slots}

    events: list[RowEvent[Any]] = [Deleted(gone["at"], gone["id"], gone["reason"]) for gone in diff["deleted_rows"]]
    for index in diff["deleted_sections"]:
        events.append(SectionDeleted(index, from_wire(None, before.sections[index].key.value)))
    for section in diff["inserted_sections"]:
        events.append(SectionInserted(section["at"], from_wire(None, section["key"].value)))
    events += [Moved(move["from"], move["to"], row_at(move["to"])) for move in diff["moves"]]
    events += [Inserted(new["at"], row_at(new["at"])) for new in diff["inserted_rows"]]
    events += [Updated(one["at"], row_at(one["at"]), named(one["values"])) for one in diff["updates"]]
    return tuple(events)
