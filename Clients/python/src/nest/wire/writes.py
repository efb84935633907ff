"""The bodies of writes and of their answers (protocol.md, section 8)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import limits
from .bytes import Reader, Writer, malformed
from .codec import (
    Codec,
    Fields,
    boolean,
    checked,
    choice,
    flags,
    i64,
    id128,
    list_of,
    number16,
    object_id,
    optional,
    or_none,
    struct,
    text,
    trailing,
    value,
    variant,
    varint,
)
from .requests import properties

name = text(limits.NAME_BYTES_MAX)
or_nothing = or_none(varint)
key = optional(id128, "MALFORMED")

#: An object, or -k: the object of the k-th insert or find-or-create of the transaction.
reference = checked(
    Codec(Reader.zigzag, Writer.zigzag),
    lambda id: id != 0 and -limits.MUTATIONS_PER_TRANSACTION_MAX <= id <= limits.OBJECT_ID_MAX,
    "there is no such object",
)
_neighbour: Codec = checked(
    Codec(lambda r: r.zigzag() or None, lambda w, id: w.zigzag(id or 0)),
    lambda id: id is None or -limits.MUTATIONS_PER_TRANSACTION_MAX <= id <= limits.OBJECT_ID_MAX,
    "there is no such object",
)
place = variant(
    **{
        "last": None,
        "first": None,
        "before": reference,
        "after": reference,
        "at": varint,
        "near": struct(left=_neighbour, right=_neighbour),
    }
)
placement = struct(relationship=number16, owner=reference, place=place)
_assignment = struct(property=number16, what=variant(value=value, reference=reference))
_values = list_of(_assignment, 3, limits.PROPERTIES_PER_ENTITY_MAX)
_placements = list_of(placement, 3, limits.PROPERTIES_PER_ENTITY_MAX)
_objects = list_of(reference, 1, limits.RELATED_PER_MUTATION_MAX)

#: (name, operand)
mutation = variant(
    1,
    insert=struct(entity=number16, values=_values, placements=_placements),
    update=struct(object=reference, values=_values),
    move=struct(object=reference, placement=placement),
    delete=struct(object=reference),
    relate=struct(owner=reference, relationship=number16, object=reference, place=place),
    unrelate=struct(owner=reference, relationship=number16, object=reference),
    setRelated=struct(owner=reference, relationship=number16, objects=_objects),
    findOrCreate=struct(entity=number16, match=_values, values=_values, placements=_placements),
    insertAs=struct(object=object_id, entity=number16, values=_values, placements=_placements),
)

_coalescing = struct(
    key=checked(text(limits.COALESCE_KEY_BYTES_MAX), bool, "a key is empty"),
    milliseconds=checked(
        varint, lambda n: n <= limits.COALESCE_MILLISECONDS_MAX, "a time is too long", "LIMIT_EXCEEDED"
    ),
)
transaction = struct(
    key=key,
    name=or_none(name, ""),
    preconditions=list_of(struct(object=object_id, revision=varint), 2, limits.PRECONDITIONS_PER_TRANSACTION_MAX),
    mutations=list_of(mutation, 2, limits.MUTATIONS_PER_TRANSACTION_MAX),
    _coalescing=trailing(struct(coalescing=_coalescing), {"coalescing": None}),
)

policies = choice("keep", "force", "strict")
rehomes = flags("rehomes", strict=True)
undo = struct(
    key=key,
    _options=trailing(
        struct(policy=policies, _flags=rehomes, expected=or_nothing),
        {"policy": "keep", "rehomes": False, "expected": None},
    ),
)
revert = struct(key=key, policy=policies, _flags=rehomes, revision=varint, of_anyone=boolean)

# Users at the end of a body


def _read_user(r: Reader) -> Fields:
    label = name.read(r)
    is_claimed = r.u8() != 0
    return {"user": label or None, "user_claimed": is_claimed and label != ""}


def _write_user(w: Writer, fields: Fields) -> None:
    name.write(w, fields.get("user") or "")
    w.u8(1 if fields.get("user_claimed") else 0)


#: The label of a user, None if none is known, and whether it is a claim that no server has checked.
user = Codec(_read_user, _write_user)


def read_each(r: Reader, items: Sequence[Fields], of: Codec, each: int, absent: Fields) -> None:
    """Reads what follows a list at the end of a body, one for each item, which grows by it."""
    parts = list_of(of, each, len(items)).read(r) if r.left > 0 else None
    if parts is not None and len(parts) != len(items):
        raise malformed("the users of a list are of another list")
    for index, item in enumerate(items):
        item.update(parts[index] if parts else absent)


def with_users(of: Codec, items_of: Callable[[Any], Any]) -> Codec:
    """A body that ends with the users of a list in it."""

    def read(r: Reader) -> Fields:
        fields: Fields = of.read(r)
        read_each(r, items_of(fields), user, 2, {"user": None, "user_claimed": False})
        return fields

    def write(w: Writer, fields: Fields) -> None:
        of.write(w, fields)
        items = items_of(fields)
        if any(item.get("user") for item in items):
            list_of(user).write(w, items)

    return Codec(read, write)


# Receipts

CONFLICT_REASONS = ("edited", "moved", "deleted", "present", "ownerGone", "rehomed", "overwritten", "lost")
_conflict = struct(
    reason=choice(*CONFLICT_REASONS, other="other"),
    entity=number16,
    object=object_id,
    property=or_none(number16),
    revision=or_nothing,
    session_number=or_nothing,
    label=name,
)


def _read_conflicts(r: Reader) -> Fields:
    count = r.varint()
    return {"count": count, "listed": list_of(_conflict, 7, min(count, limits.UNDO_CONFLICTS_MAX)).read(r)}


def _write_conflicts(w: Writer, fields: Fields) -> None:
    w.varint(fields["count"])
    list_of(_conflict).write(w, fields["listed"])


conflicts = Codec(_read_conflicts, _write_conflicts)


def _are_runs(runs: Sequence[Fields]) -> bool:
    return (
        all(run["count"] > 0 and run["count"] - 1 <= limits.OBJECT_ID_MAX - run["first"] for run in runs)
        and sum(run["count"] for run in runs) <= limits.OBJECT_ID_MAX
    )


_runs = checked(
    list_of(struct(first=object_id, count=varint, is_found=choice(False, True, code="MALFORMED")), 3, limits.RUNS_MAX),
    _are_runs,
    "a run of results is not possible",
)
receipt = with_users(
    struct(
        revision=varint,
        _flags=flags("is_changed", "is_replayed"),
        results=_runs,
        name=name,
        _conflicts=trailing(struct(conflicts=conflicts), {"conflicts": None}),
    ),
    lambda fields: fields["conflicts"]["listed"] if fields.get("conflicts") else (),
)

# History, undo states, change sets

kind = choice("write", "undo", "redo", "revert")
_entry_flags = flags("is_mine", "is_next_undo", "is_next_redo", "is_blocked", "has_entry")


def _read_entry_end(r: Reader) -> Fields:
    state: Fields = _entry_flags.read(r)
    has_entry = state.pop("has_entry")
    return {**state, "name": name.read(r), "entry": r.varint() if has_entry else None}


def _write_entry_end(w: Writer, fields: Fields) -> None:
    has_entry = fields.get("entry") is not None
    _entry_flags.write(w, {**fields, "has_entry": has_entry})
    name.write(w, fields["name"])
    if has_entry:
        w.varint(fields["entry"])


_entry = struct(
    revision=varint,
    time=i64,
    session_number=varint,
    kind=kind,
    reverted=or_nothing,
    _end=Codec(_read_entry_end, _write_entry_end),
)
history = with_users(struct(entries=list_of(_entry, 14, limits.HISTORY_PAGE_MAX)), lambda fields: fields["entries"])
get_history = struct(
    before=varint,
    limit=checked(varint, lambda n: n <= limits.HISTORY_PAGE_MAX, "a page is too long", "LIMIT_EXCEEDED"),
    only_mine=boolean,
    _object=trailing(struct(object=varint), {"object": None}),
)


def _read_undo_entry(r: Reader) -> Fields | None:
    revision = r.varint()
    return {"revision": revision, "transaction_count": r.varint(), "name": name.read(r)} if revision else None


def _write_undo_entry(w: Writer, entry: Fields | None) -> None:
    w.varint(entry["revision"] if entry else 0)
    if entry:
        w.varint(entry["transaction_count"])
        name.write(w, entry["name"])


_undo_entry = Codec(_read_undo_entry, _write_undo_entry)
undo_state = struct(
    undo=_undo_entry,
    redo=_undo_entry,
    undo_count=varint,
    redo_count=varint,
    blocked_count=varint,
    dropped_count=varint,
    group=or_nothing,
)

_of_any = struct(revision=varint, of_anyone=boolean)


def _read_preview_undo(r: Reader) -> Fields:
    what = choice("undo", "redo", "revert").read(r)
    options: Fields = {"policy": policies.read(r), **rehomes.read(r)}
    return {"what": (what, _of_any.read(r) if what == "revert" else None), **options}


def _write_preview_undo(w: Writer, fields: Fields) -> None:
    what, operand = fields["what"]
    choice("undo", "redo", "revert").write(w, what)
    policies.write(w, fields["policy"])
    rehomes.write(w, fields)
    if what == "revert":
        _of_any.write(w, operand)


preview_undo = Codec(_read_preview_undo, _write_preview_undo)
_change_kinds = choice("inserted", "updated", "deleted", first=1)


def _read_changed(r: Reader) -> Fields:
    fields: Fields = {"change": _change_kinds.read(r), "entity": number16.read(r), "id": r.object()}
    return {**fields, "properties": properties.read(r) if fields["change"] == "updated" else []}


def _write_changed(w: Writer, fields: Fields) -> None:
    _change_kinds.write(w, fields["change"])
    w.varint(fields["entity"])
    w.varint(fields["id"])
    if fields["change"] == "updated":
        properties.write(w, fields["properties"])


_changed = Codec(_read_changed, _write_changed)
undo_preview = with_users(
    struct(
        name=name,
        conflicts=conflicts,
        inserted_count=varint,
        updated_count=varint,
        deleted_count=varint,
        changes=list_of(
            struct(
                _object=_changed,
                label=name,
                values=list_of(
                    struct(property=number16, before=value, after=value), 3, limits.PROPERTIES_PER_ENTITY_MAX
                ),
            ),
            5,
            limits.PREVIEW_OBJECTS_MAX,
        ),
    ),
    lambda fields: fields["conflicts"]["listed"],
)
change_set = struct(
    revision=varint,
    time=i64,
    session_number=varint,
    kind=kind,
    reverted=or_nothing,
    name=name,
    place=varint,
    objects=list_of(_changed, 3),
    _user=trailing(user, {"user": None, "user_claimed": False}),
)
