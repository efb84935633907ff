"""The messages of the protocol (section 6): name -> type and body. Those between nodes (section 23) are not here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, overload

from ..errors import Fault, NestError, name_of, number_of
from . import bodies, limits, rare, writes
from .bytes import Reader, Writer, malformed
from .codec import (
    Codec,
    Field,
    Fields,
    boolean,
    checked,
    choice,
    decode_with,
    encode_with,
    i64,
    id128,
    list_of,
    number16,
    object_id,
    optional,
    or_none,
    raw,
    rest,
    string,
    struct,
    tagged,
    text,
    trailing,
    u8,
    u64,
    varint,
)
from .model import model
from .requests import properties, request
from .rows import diff, rows, snapshot, snapshot_sections, totals

_name = text(limits.NAME_BYTES_MAX)
_address = text(limits.NODE_ADDRESS_BYTES_MAX)
_empty = struct()
_code = Codec(lambda r: name_of(r.uint(2)), lambda w, v: w.uint(number_of(v), 2))
_id32 = Codec(lambda r: r.varint(2**32 - 1), Writer.varint)
_view = checked(varint, lambda id: limits.VIEW_ID_MIN <= id <= limits.VIEW_ID_MAX, "there is no such view")


def _at_least(r: Reader) -> int:
    revision = r.size()
    if limits.OBJECT_ID_MAX < revision < limits.VARINT_MAX:
        raise malformed("a revision is out of its range")
    return revision


#: A revision, or 2^62-1 for the newest state.
at_least = Codec(_at_least, Writer.varint)

_hello = tagged(
    {
        1: Field("client_name", _name, ""),
        2: Field("features", u64, 0),
        3: Field("session", id128),
        4: Field("expected_history", id128, None),
        5: Field("expected_model_hash", u64, None),
        6: Field("token", struct(number=varint, secret=raw(32)), None),
        8: Field("peer", struct(node=id128, secret=raw(32)), None),
        9: Field("user", _name, ""),
    }
)
_welcome = tagged(
    {
        1: Field("server_name", _name, ""),
        2: Field("features", u64, 0),
        3: Field("frame_bytes_max", varint, limits.FRAME_BYTES_MAX),
        4: Field("history_id", id128),
        5: Field("revision", varint, 0),
        6: Field("oldest_revision", varint, 0),
        7: Field("model_hash", u64, 0),
        8: Field("session_number", varint, None),
        9: Field("ping_interval_milliseconds", varint, 20_000),
        10: Field("requests_in_flight_max", varint, limits.REQUESTS_IN_FLIGHT_PER_CONNECTION_MAX),
        11: Field("subscriptions_max", varint, 256),
        12: Field("credit_bytes_initial", varint, 1_048_576),
        13: Field("role", choice(*rare.roles, first=1, other="read"), "admin"),
        14: Field("confinement", rare.confinement, None),
        15: Field("store", _name, None),
        16: Field("node_role", choice("leader", "follower", first=1, other="follower"), None),
        17: Field("leader", _address, None),
        18: Field("user", _name, None),
        19: Field("token_expires", varint, None),
    }
)

_FAULT_REASONS = (
    *("other", "required", "type", "tooLarge", "text", "range", "notUnique", "destination"),
    *("unknownProperty", "setTwice"),
)
_fault = struct(
    entity=number16,
    property=or_none(number16),
    object=or_none(varint),
    reason=choice(*_FAULT_REASONS, other="other"),
    message=string,
)
_error = struct(
    code=_code,
    retry=u8,
    retry_after=varint,
    message=string,
    _details=tagged(
        {
            1: Field("object", object_id, None),
            2: Field("faults", list_of(_fault, 5, limits.FAULTS_PER_ERROR_MAX), []),
            3: Field("leader", _address, None),
            4: Field("column", varint, None),
        }
    ),
)
_ping = struct(payload=raw(8))
_resume = optional(struct(history_id=id128, revision=varint))


def _increase(numbers: Sequence[int]) -> bool:
    return len(numbers) > 0 and all(a < b for a, b in zip(numbers, numbers[1:], strict=False))


def _increasing(most: int) -> Codec:
    return checked(list_of(varint, 1, most), _increase, "its revisions do not increase")


_author_list = checked(
    list_of(struct(revision=varint, session_number=varint, user=or_none(_name, "")), 3, limits.HISTORY_PAGE_MAX),
    lambda all: _increase([one["revision"] for one in all]),
    "its revisions do not increase",
)


def _read_authors(r: Reader) -> Fields:
    authors: list[Fields] = _author_list.read(r)
    claims = _increasing(len(authors)).read(r) if r.left > 0 else []
    for one in authors:
        one["user_claimed"] = one["user"] is not None and one["revision"] in claims
    if sum(one["user_claimed"] for one in authors) != len(claims):
        raise malformed("a claim is of no author")
    return {"authors": authors}


def _write_authors(w: Writer, fields: Fields) -> None:
    _author_list.write(w, fields["authors"])
    claims = [one["revision"] for one in fields["authors"] if one.get("user_claimed")]
    if claims:
        list_of(varint).write(w, claims)


_some_id = checked(varint, lambda id: 0 < id <= limits.REQUEST_ID_MAX, "a request id is not possible")
_own = checked(
    struct(
        revisions=_increasing(limits.REQUESTS_IN_FLIGHT_PER_CONNECTION_MAX),
        _requests=trailing(
            struct(requests=list_of(_some_id, 0, limits.REQUESTS_IN_FLIGHT_PER_CONNECTION_MAX)), {"requests": None}
        ),
    ),
    lambda own: own.get("requests") is None or len(own["requests"]) == len(own["revisions"]),
    "a revision has no request",
)
_reserved_count = checked(
    checked(varint, lambda n: n <= limits.RESERVED_IDS_PER_REQUEST_MAX, "too many ids", "LIMIT_EXCEEDED"),
    lambda n: n > 0,
    "no ids",
)
_reserved_ids = checked(
    struct(first=object_id, count=_reserved_count),
    lambda ids: ids["count"] - 1 <= limits.OBJECT_ID_MAX - ids["first"],
    "an id is too large",
)
_since = optional(struct(history_id=id128, revision=varint, place=varint))
_FIRST = ("snapshot", "difference", "current", "alreadySubscribed")

#: name -> (type, codec of the body)
MESSAGES: dict[str, tuple[int, Codec]] = {
    "hello": (0x01, _hello),
    "welcome": (0x02, _welcome),
    "error": (0x04, _error),
    "goAway": (0x05, struct(code=_code, last_request_id=_id32, retry_after=varint, message=string)),
    "ping": (0x06, _ping),
    "pong": (0x07, _ping),
    "cancel": (0x09, _empty),
    "credit": (0x0A, struct(bytes=varint)),
    "done": (0x0B, _empty),
    "reserve": (0x4E, struct(count=_reserved_count)),
    "reserved": (0x4F, _reserved_ids),
    "transaction": (0x10, writes.transaction),
    "receipt": (0x11, writes.receipt),
    "undo": (0x12, writes.undo),
    "redo": (0x13, writes.undo),
    "getHistory": (0x14, writes.get_history),
    "history": (0x15, writes.history),
    "fetch": (0x18, struct(at_least=at_least, request=request)),
    "getObject": (0x1A, struct(id=object_id)),
    "object": (0x1B, rare.object_body),
    "fetchSubtree": (0x20, rare.fetch_subtree),
    "importSubtree": (0x21, rare.import_subtree),
    "subtreeStart": (0x22, rare.subtree_start),
    "subtreeChunk": (0x23, rare.subtree_chunk),
    "subtreeEnd": (0x24, rare.subtree_end),
    "putValue": (0x25, rare.put_value),
    "getValue": (0x26, rare.get_value),
    "value": (0x27, rare.large_value),
    "subscribe": (0x30, struct(resume=_resume, at_least=at_least, request=request)),
    "subscribed": (
        0x31,
        struct(view=_view, first=choice(*_FIRST), revision=varint, reason=string, projection=properties),
    ),
    "diff": (0x32, diff),
    "snapshot": (0x33, snapshot),
    "snapshotRows": (0x34, rows),
    "progress": (0x35, struct(revision=varint)),
    "unsubscribe": (0x36, struct(view=_view)),
    "subscriptionEnd": (0x37, struct(code=_code, message=string)),
    "subscribeChanges": (
        0x38,
        struct(since=_since, entities=list_of(number16, 1, limits.CHANGES_ENTITIES_MAX)),
    ),
    "changeSet": (0x39, writes.change_set),
    "snapshotSections": (0x3A, snapshot_sections),
    "totals": (0x3B, totals),
    "resubscribe": (0x3C, struct(view=_view, request=request)),
    "setExpanded": (0x3D, struct(view=_view, states=rare.states)),
    "getModel": (0x40, _empty),
    "model": (0x41, model),
    "getStatistics": (0x42, _empty),
    "statistics": (0x43, rare.statistics),
    "explain": (0x44, struct(request=request)),
    "explanation": (0x45, rare.explanation),
    "parsePredicate": (
        0x46,
        struct(
            entity=number16,
            text=text(limits.PREDICATE_TEXT_BYTES_MAX),
            now=i64,
            zone=text(limits.ZONE_NAME_BYTES_MAX),
        ),
    ),
    "predicate": (0x47, struct(predicate=rest)),
    "getCluster": (0x48, struct(mark=varint)),
    "cluster": (0x49, rare.cluster),
    "verifyCluster": (0x4A, _empty),
    "clusterMark": (0x4B, struct(position=varint)),
    "moveLeader": (0x4C, rare.move_leader),
    "drainNode": (0x4D, struct(drains=boolean)),
    "revert": (0x50, writes.revert),
    "beginGroup": (0x51, struct(name=or_none(_name, ""), joined=or_none(varint))),
    "group": (0x52, struct(number=varint)),
    "endGroup": (0x53, _empty),
    "previewUndo": (0x54, writes.preview_undo),
    "undoPreview": (0x55, writes.undo_preview),
    "getUndoState": (0x56, struct(follows=boolean)),
    "undoState": (0x57, writes.undo_state),
    "setPresence": (0x58, rare.set_presence),
    "present": (0x59, struct(number=varint)),
    "followPresence": (0x5A, rare.follow_presence),
    "backup": (0x60, _empty),
    "backupStart": (0x61, rare.backup_start),
    "backupChunk": (0x62, rare.backup_chunk),
    "backupEnd": (0x63, rare.backup_end),
    "check": (0x64, _empty),
    "checkProgress": (0x65, rare.check_progress),
    "checked": (0x66, rare.checked_store),
    "createToken": (0x70, rare.create_token),
    "tokenCreated": (0x71, struct(number=varint)),
    "listTokens": (0x72, _empty),
    "tokenList": (0x73, rare.token_list),
    "revokeToken": (0x74, struct(number=varint)),
    "getClients": (0x78, struct(after=varint, limit=varint)),
    "clients": (0x79, rare.clients),
    "kick": (0x7A, struct(number=varint)),
    "applyModel": (0x7B, rare.apply_model),
    "modelApplied": (0x7C, rare.model_applied),
    "own": (0xB0, _own),
    "presence": (0xB1, rare.presence),
    "authors": (0xB2, Codec(_read_authors, _write_authors)),
    "resultTotals": (0xB4, rare.result_totals),
    "modelChanged": (0xB5, struct(model_hash=u64, _model=model)),
}
NAMES = {type: name for name, (type, _) in MESSAGES.items()}
#: The types of frames that a server may compress.
COMPRESSIBLE = frozenset({0x33, 0x3A, 0x34, 0x15, 0x1B, 0x41, 0x43, 0x45, 0x55, 0x39, 0xB5})
#: `at least` of the newest state.
NEWEST = limits.VARINT_MAX


def encode(name: str, fields: Mapping[str, Any] | None = None) -> bytes:
    """The body of a message. Raises NestError if the fields cannot be encoded, or are over a limit."""
    return encode_with(MESSAGES[name][1], fields or {})


@overload
def decode(name: Literal["welcome"], body: bytes) -> bodies.Welcome: ...
@overload
def decode(name: Literal["error"], body: bytes) -> bodies.ErrorBody: ...
@overload
def decode(name: Literal["goAway"], body: bytes) -> bodies.GoAway: ...
@overload
def decode(name: Literal["ping"], body: bytes) -> bodies.Ping: ...
@overload
def decode(name: Literal["own"], body: bytes) -> bodies.Own: ...
@overload
def decode(name: Literal["progress"], body: bytes) -> bodies.Progress: ...
@overload
def decode(name: Literal["snapshot"], body: bytes, width: int = ...) -> bodies.SnapshotHead: ...
@overload
def decode(name: Literal["snapshotSections"], body: bytes, width: int = ...) -> bodies.SnapshotSections: ...
@overload
def decode(name: Literal["snapshotRows"], body: bytes, width: int = ...) -> bodies.SnapshotRows: ...
@overload
def decode(name: Literal["diff"], body: bytes, width: int, has_window: bool) -> bodies.Diff: ...
@overload
def decode(name: Literal["totals"], body: bytes) -> bodies.Totals: ...
@overload
def decode(name: Literal["subscriptionEnd"], body: bytes) -> bodies.SubscriptionEnd: ...
@overload
def decode(name: Literal["changeSet"], body: bytes) -> bodies.ChangeSet: ...
@overload
def decode(name: str, body: bytes, width: int = ..., has_window: bool = ...) -> Any: ...
def decode(name: str, body: bytes, width: int = 0, has_window: bool = False) -> Any:
    """The fields of a body. `width` is the length of the view's projection, for rows and diffs."""
    return decode_with(MESSAGES[name][1], body, width, has_window)


def error_of(fields: bodies.ErrorBody) -> NestError:
    """What an ERROR says, as the error that a program gets."""
    faults = tuple(Fault(f["entity"], f["property"], f["object"], f["reason"], f["message"]) for f in fields["faults"])
    retry = fields["retry"]
    return NestError(
        fields["code"],
        fields["message"],
        retry=retry if retry <= 4 else 3,
        retry_after=fields["retry_after"] / 1000,
        object=fields["object"],
        faults=faults,
        leader=fields["leader"],
        column=fields["column"],
    )
