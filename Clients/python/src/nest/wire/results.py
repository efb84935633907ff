"""States of results, and how snapshots and diffs change them.

A state is never changed: a new one shares with it the rows and sections that are the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ..errors import ProtocolError
from . import hash
from .bodies import Diff, Path, SectionHead, SnapshotHead
from .bytes import malformed
from .rows import Key, Position, WireRow


class DiffMismatch(ProtocolError):
    """Why a diff does not apply: the client must drop the state and subscribe again.

    `reason` is revision, coordinates, property, total or digest.
    """

    def __init__(self, reason: str, text: str) -> None:
        super().__init__("PROTOCOL", text)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class WireSection:
    key: Key
    rows: tuple[WireRow, ...]


@dataclass(frozen=True, slots=True)
class State:
    """The rows of a view at a revision."""

    revision: int
    projection: tuple[int, ...]
    sections: tuple[WireSection, ...]
    position: Position | None

    @property
    def row_count(self) -> int:
        return sum(len(section.rows) for section in self.sections)


def digest(sections: Iterable[WireSection]) -> int:
    """The digest of a state's sections. O(n)."""
    return hash.digest((section.key.hash, (row.id for row in section.rows)) for section in sections)


def _check_digest(sections: Sequence[WireSection], expected: int) -> None:
    if digest(sections) != expected:
        raise DiffMismatch("digest", f"the digest of the rows is not {expected:016x}")


class SnapshotAssembler:
    """Puts the frames of a snapshot together."""

    __slots__ = ("_head", "_projection", "_keys", "_counts", "_rows", "_rows_left")

    def __init__(self, head: SnapshotHead, projection: Sequence[int]) -> None:
        self._head = head
        self._projection = tuple(projection)
        self._keys: list[Key] = []
        self._counts: list[int] = []
        self._rows: list[WireRow] = []
        position: Position = head["position"]
        self._rows_left = position.total - position.row
        self.add_sections(head["sections"])

    def add_sections(self, sections: Sequence[SectionHead]) -> None:
        if self._rows:
            raise malformed("sections come after a row")
        if len(self._keys) + len(sections) > self._head["section_count"]:
            raise malformed("there are too many sections")
        for section in sections:
            self._rows_left -= section["row_count"]
            if self._rows_left < 0:
                raise malformed("its sections have more rows than the result")
            self._keys.append(section["key"])
            self._counts.append(section["row_count"])

    def add_rows(self, rows: Sequence[WireRow]) -> None:
        if rows and len(self._keys) != self._head["section_count"]:
            raise malformed("rows come before the last section")
        if len(self._rows) + len(rows) > sum(self._counts):
            raise malformed("it has more rows than its sections")
        self._rows += rows

    def finish(self) -> State:
        """The state, when the last frame has come. Raises DiffMismatch if the digest differs."""
        if len(self._keys) != self._head["section_count"] or len(self._rows) != sum(self._counts):
            raise malformed("a snapshot is not complete")
        sections = []
        at = 0
        for key, count in zip(self._keys, self._counts, strict=True):
            sections.append(WireSection(key, tuple(self._rows[at : at + count])))
            at += count
        _check_digest(sections, self._head["digest"])
        return State(self._head["revision"], self._projection, tuple(sections), self._head["position"])


def _wrong(what: str) -> DiffMismatch:
    return DiffMismatch("coordinates", what)


def _take_out(sections: list[tuple[Key, list[WireRow]]], diff: Diff) -> dict[Path, WireRow]:
    """Takes out what leaves, by its old path, from the last to the first. Returns the moved rows by their new path."""
    held: dict[Path, WireRow] = {}
    leaving: list[tuple[Path, int | None, Path | None]] = []
    leaving += [(gone["at"], gone["id"], None) for gone in diff["deleted_rows"]]
    leaving += [(move["from"], None, move["to"]) for move in diff["moves"]]
    leaving.sort(key=lambda one: one[0], reverse=True)
    previous: Path | None = None
    for (section, index), id, target in leaving:
        if section >= len(sections) or index >= len(sections[section][1]) or previous == (section, index):
            raise _wrong(f"no row at {section}, {index}")
        previous = (section, index)
        row = sections[section][1].pop(index)
        if target is not None:
            if target in held:
                raise _wrong(f"two rows move to {target}")
            held[target] = row
        elif row.id != id:
            raise _wrong(f"the row at {section}, {index} is not {id}")
    return held


def _change_sections(sections: list[tuple[Key, list[WireRow]]], diff: Diff) -> None:
    previous = len(sections)
    for index in reversed(diff["deleted_sections"]):
        if index >= previous:
            raise _wrong(f"no section {index} to delete")
        if sections[index][1]:
            raise _wrong(f"the deleted section {index} has rows")
        previous = index
        del sections[index]
    last = -1
    for inserted in diff["inserted_sections"]:
        if not last < inserted["at"] <= len(sections):
            raise _wrong(f"no place for section {inserted['at']}")
        last = inserted["at"]
        sections.insert(last, (inserted["key"], []))


def _put_in(sections: list[tuple[Key, list[WireRow]]], diff: Diff, held: dict[Path, WireRow], width: int) -> None:
    arriving: list[tuple[Path, WireRow]] = [(new["at"], new["row"]) for new in diff["inserted_rows"]]
    arriving += held.items()
    arriving.sort(key=lambda one: one[0])
    previous: Path | None = None
    for (section, index), row in arriving:
        if section >= len(sections) or index > len(sections[section][1]) or previous == (section, index):
            raise _wrong(f"no place for a row at {section}, {index}")
        if len(row.values) != width:
            raise _wrong(f"the row at {section}, {index} has other values than the view")
        previous = (section, index)
        sections[section][1].insert(index, row)


def _update(sections: list[tuple[Key, list[WireRow]]], diff: Diff, projection: Sequence[int]) -> None:
    slots = {property: slot for slot, property in enumerate(projection)}
    for update in diff["updates"]:
        section, index = update["at"]
        if section >= len(sections) or index >= len(sections[section][1]):
            raise _wrong(f"no row to update at {section}, {index}")
        row = sections[section][1][index]
        values = list(row.values)
        for one in update["values"]:
            if one["property"] not in slots:
                raise DiffMismatch("property", f"the view has no property {one['property']}")
            values[slots[one["property"]]] = one["value"]
        sections[section][1][index] = WireRow(row.id, tuple(values))


def apply_diff(state: State, diff: Diff, is_answer: bool = False) -> State:
    """The state after a diff (protocol.md, section 11). Raises DiffMismatch, and then nothing has changed.

    `is_answer`: the diff answers RESUBSCRIBE or SET_EXPANDED. Only then may it begin and end at one revision.
    """
    start, to = diff["from"], diff["to"]
    fits = state.revision <= to if is_answer and start == to else start <= state.revision < to
    if not fits:
        raise DiffMismatch("revision", f"a diff from {start} to {to} does not fit revision {state.revision}")
    sections = [(section.key, list(section.rows)) for section in state.sections]
    held = _take_out(sections, diff)
    _change_sections(sections, diff)
    _put_in(sections, diff, held, len(state.projection))
    _update(sections, diff, state.projection)
    total = sum(len(rows) for _, rows in sections)
    if total != diff["total"]:
        raise DiffMismatch("total", f"{total} rows instead of {diff['total']}")
    changed = tuple(WireSection(key, tuple(rows)) for key, rows in sections)
    _check_digest(changed, diff["digest"])
    # A diff that answers RESUBSCRIBE may end the window.
    position = diff["position"] if is_answer else diff["position"] or state.position
    return replace(state, revision=to, sections=changed, position=position)
