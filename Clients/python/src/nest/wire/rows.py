"""Rows, snapshots and diffs (protocol.md, sections 10 and 11)."""

from __future__ import annotations

from dataclasses import dataclass

from . import limits
from .bytes import Reader, Writer, malformed
from .codec import Codec, Fields, choice, list_of, number16, object_id, struct, u64, value, varint
from .hash import fnv1a
from .values import Value, read_value, value_bytes, write_value


@dataclass(frozen=True, slots=True)
class WireRow:
    """An object and its values, in the order of the view's projection."""

    id: int
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Key:
    """The key of a section, and the hash of its value form."""

    value: Value
    hash: int


def make_key(value: Value) -> Key:
    return Key(value, fnv1a(value_bytes(value)))


def _read_row(r: Reader) -> WireRow:
    return WireRow(r.object(), tuple([read_value(r) for _ in range(r.width)]))


def _write_row(w: Writer, row: WireRow) -> None:
    w.varint(row.id)
    for v in row.values:
        write_value(w, v)


row = Codec(_read_row, _write_row)


def _read_rows(r: Reader) -> Fields:
    return {"rows": [_read_row(r) for _ in range(r.count(1 + r.width))]}


def _write_rows(w: Writer, fields: Fields) -> None:
    list_of(row).write(w, fields["rows"])


rows = Codec(_read_rows, _write_rows)
key = Codec(lambda r: make_key(read_value(r)), lambda w, v: write_value(w, v.value))
_section = struct(key=key, row_count=varint)


@dataclass(frozen=True, slots=True)
class Position:
    """Where the rows shown are in the whole result."""

    total: int
    section_total: int
    row: int
    section: int
    row_in_section: int
    anchor: int | None


def _read_position(r: Reader) -> Position:
    numbers = [r.varint() for _ in range(6)]
    total, section_total, row, section, row_in_section, anchor = numbers
    if row > total or row_in_section > row:
        raise malformed("a window begins after its end")
    return Position(total, section_total, row, section, row_in_section, anchor or None)


def _write_position(w: Writer, p: Position) -> None:
    for number in (p.total, p.section_total, p.row, p.section, p.row_in_section, p.anchor or 0):
        w.varint(number)


position = Codec(_read_position, _write_position)
SNAPSHOT_REASONS = ("first", "large change", "too far behind")
_head = struct(
    reason=choice(*SNAPSHOT_REASONS),
    revision=varint,
    digest=u64,
    position=position,
    section_count=varint,
    sections=list_of(_section, 2),
)


def _read_snapshot(r: Reader) -> Fields:
    head: Fields = _head.read(r)
    at: Position = head["position"]
    if head["section_count"] > at.section_total or len(head["sections"]) > head["section_count"]:
        raise malformed("there are too many sections")
    if at.row + sum(section["row_count"] for section in head["sections"]) > at.total:
        raise malformed("its sections have more rows than the result")
    return head


snapshot = Codec(_read_snapshot, _head.write)
snapshot_sections = struct(sections=list_of(_section, 2))
totals = struct(revision=varint, position=position)


def _write_path(w: Writer, at: tuple[int, int]) -> None:
    w.varint(at[0])
    w.varint(at[1])


_at = Codec(lambda r: (r.varint(), r.varint()), _write_path)
_why = choice("deleted", "unmatched", "outOfWindow", first=1)
_changes = struct(
    deleted_rows=list_of(struct(at=_at, id=object_id, reason=_why), 4),
    deleted_sections=list_of(varint),
    inserted_sections=list_of(struct(at=varint, key=key), 2),
    moves=list_of(struct(**{"from": _at, "to": _at}), 4),
    inserted_rows=list_of(struct(at=_at, row=row), 3),
    updates=list_of(
        struct(at=_at, values=list_of(struct(property=number16, value=value), 2, limits.PROJECTION_MAX)), 3
    ),
)


def _read_diff(r: Reader) -> Fields:
    to = r.varint()
    span = r.varint()
    if span > to:
        raise malformed("a diff begins before revision 0")
    fields: Fields = {"from": to - span, "to": to, "total": r.varint(), "digest": r.uint(8), **_changes.read(r)}
    return {**fields, "position": position.read(r) if r.has_window else None}


def _write_diff(w: Writer, fields: Fields) -> None:
    w.varint(fields["to"])
    w.varint(fields["to"] - fields["from"])
    w.varint(fields["total"])
    w.uint(fields["digest"], 8)
    _changes.write(w, fields)
    if fields["position"]:
        position.write(w, fields["position"])


#: {from, to, total, digest, deleted_rows, …, position}; position is None for a view without a window.
diff = Codec(_read_diff, _write_diff)
