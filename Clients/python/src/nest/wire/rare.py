"""The bodies of what operators and programs with special needs send: statistics, tokens, clusters, transfers, presence.

The client of this package sends few of them. They are here so that every vector is read.
"""

from __future__ import annotations

from ..errors import ProtocolError
from . import limits
from .bytes import Reader, Writer, malformed
from .codec import (
    Codec,
    Field,
    Fields,
    block,
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
    raw,
    rest,
    string,
    struct,
    tagged,
    text,
    trailing,
    u64,
    value,
    varint,
    varint_any,
)
from .model import model
from .requests import properties
from .writes import key, name, placement, read_each, user, with_users

_address = text(limits.NODE_ADDRESS_BYTES_MAX)
roles = ("read", "write", "admin")
confinement = struct(root=object_id, entity=number16, relationship=number16)

# Statistics and explanations

statistics = struct(values=list_of(struct(name=string, value=varint_any), 2, limits.STATISTICS_MAX))
_long = text(limits.EXPLANATION_TEXT_BYTES_MAX)


def _some(of: Codec, each: int) -> Codec:
    return list_of(of, each, limits.EXPLANATION_LIST_MAX)


explanation = struct(
    revision=varint,
    request=_some(struct(name=_long, text=_long), 2),
    routing=choice("value", "pair", "table", first=1),
    route=_long,
    reading=choice("ordered", "sorted", "examined", first=1),
    candidates=_long,
    paths=_some(struct(text=_long, tables=_some(_long, 1)), 2),
    subtrees=_some(struct(text=_long, objects=or_none(varint)), 2),
    _flags=flags("is_in_journal"),
    live=optional(
        struct(
            rows=varint,
            sections=varint,
            bytes=varint,
            views=varint,
            subscriptions=varint,
            evaluations=varint,
            changes=varint,
        )
    ),
)

# Changes of the model

apply_model = struct(is_dry_run=choice(False, True), _model=model)
_change = text(limits.MODEL_CHANGE_BYTES_MAX)
model_applied = struct(
    outcome=choice("unchanged", "applied", "possible", "refused"),
    model_hash=u64,
    rows=varint,
    changes=list_of(struct(text=_change, obstacle=_change), 2, limits.MODEL_CHANGES_MAX),
)

# Tokens and connections


def _read_within(r: Reader) -> Fields | None:
    at = r.at
    if r.varint() == 0:
        return None
    r.at = at
    fields: Fields = confinement.read(r)
    if not fields["entity"] or not fields["relationship"]:
        raise malformed("a root has no entity or relationship")
    return fields


def _write_within(w: Writer, fields: Fields | None) -> None:
    if fields is None:
        w.varint(0)
    else:
        confinement.write(w, fields)


_grant = struct(
    name=name,
    role=choice(*roles, first=1, code="MALFORMED"),
    confinement=Codec(_read_within, _write_within),
    connections=varint,
    requests_in_flight=varint,
    subscriptions=varint,
    output_bytes=varint,
)
# The user label of a token (None: its name), and when it expires in microseconds (0: never).
_holder = struct(user=or_none(name, ""), expires=varint)
_NO_HOLDER: Fields = {"user": None, "expires": 0}
create_token = struct(hash=raw(32), grant=struct(_grant=_grant, _holder=trailing(_holder, _NO_HOLDER)))
_token = struct(number=varint, grant=_grant, created=i64, last_used=i64, connections=varint)


def _read_tokens(r: Reader) -> Fields:
    tokens = list_of(_token, 20, limits.TOKENS_MAX).read(r)
    read_each(r, [token["grant"] for token in tokens], _holder, 2, _NO_HOLDER)
    return {"tokens": tokens}


def _write_tokens(w: Writer, fields: Fields) -> None:
    list_of(_token).write(w, fields["tokens"])
    grants = [token["grant"] for token in fields["tokens"]]
    if any(grant.get("user") or grant.get("expires") for grant in grants):
        list_of(_holder).write(w, grants)


token_list = Codec(_read_tokens, _write_tokens)
_connection = struct(
    number=varint,
    address=name,
    name=name,
    session=varint,
    connected_at=varint,
    subscriptions=varint,
    requests=varint,
    requests_in_flight=varint,
    bytes_in=varint,
    bytes_out=varint,
    bytes_queued=varint,
)
clients = with_users(
    struct(clients=list_of(_connection, 11, limits.CLIENTS_PAGE_MAX)), lambda fields: fields["clients"]
)

# Clusters


def _read_one_more(r: Reader) -> int | None:
    n = r.varint()
    return n - 1 if n else None


#: A number is written as one more; 0 is None.
one_more = Codec(_read_one_more, lambda w, v: w.varint(0 if v is None else v + 1))
_node = struct(
    id=id128,
    name=_address,
    address=_address,
    version=name,
    role=choice("stopped", "leader", "follower", other="stopped"),
    position=one_more,
    clients=one_more,
    drained=boolean,
)
_cluster_text = text(limits.CLUSTER_TEXT_BYTES_MAX)
cluster = tagged(
    {
        1: Field("store", name, None),
        2: Field("node", _address, None),
        3: Field("role", choice("leader", "follower", first=1, other="follower"), None),
        4: Field("epoch", varint, None),
        5: Field("position", varint, None),
        6: Field("head", varint, None),
        7: Field("lag", varint, None),
        8: Field("base", varint, 0),
        9: Field("log", _cluster_text, ""),
        10: Field("log_fault", _cluster_text, None),
        11: Field("snapshot", struct(position=varint, made=varint, bytes=varint), None),
        12: Field("nodes", list_of(_node, 16, limits.CLUSTER_NODES_MAX), []),
        13: Field("verifications", list_of(struct(node=id128, digest=id128), 32, limits.CLUSTER_NODES_MAX), []),
        14: Field("drained", boolean, False),
    }
)
move_leader = struct(node=_address)

# Objects and transfers. A chunk is raw: chunks.py reads its rows.


def _per_property(of: Codec) -> Codec:
    return list_of(of, 2, limits.PROPERTIES_PER_ENTITY_MAX)


object_body = struct(
    entity=number16,
    id=object_id,
    revision=varint,
    values=_per_property(struct(property=number16, value=value)),
    counts=_per_property(struct(property=number16, count=varint)),
)
_large_type = choice("largeData", "largeText", first=13, code="MALFORMED")
_large_length = checked(varint, lambda n: n <= limits.LARGE_VALUE_BYTES_MAX, "a value is too large", "LIMIT_EXCEEDED")
#: Number and length, in eight bytes each, then the digest.
_large_value = checked(
    raw(48),
    lambda v: (
        0 < int.from_bytes(v[:8], "big") < 1 << 63
        and int.from_bytes(v[8:16], "big") <= limits.LARGE_VALUE_BYTES_MAX
    ),
    "a large value is not possible",
)
put_value = struct(type=_large_type, length=_large_length, digest=raw(32))
get_value = struct(at_least=varint_any, object=object_id, property=number16, offset=varint)
large_value = struct(revision=varint, type=_large_type, value=_large_value)
fetch_subtree = struct(
    at_least=varint_any, root=object_id, relationship=number16, depth_limit=one_more, properties=properties
)
import_subtree = struct(key=key, name=or_none(name, ""), entity=number16, placement=placement, properties=properties)
subtree_start = struct(revision=varint, entity=number16, row_count=varint, byte_count=varint, properties=properties)
subtree_chunk = struct(packed=rest)
subtree_end = struct(row_count=varint, checksum=u64)
backup_start = struct(revision=varint, history_id=id128, file_bytes=varint, byte_count=varint)
backup_chunk = struct(offset=varint, packed=block)
backup_end = struct(file_bytes=varint, checksum=u64)
check_progress = struct(name=text(limits.CHECK_PROBLEM_BYTES_MAX), number=varint, count=varint)
checked_store = struct(
    revision=varint,
    object_count=varint,
    problem_count=varint,
    problems=list_of(text(limits.CHECK_PROBLEM_BYTES_MAX), 1, limits.CHECK_PROBLEMS_MAX),
)

# Presence, outlines, totals

_flag = choice(False, True)


def _read_shown(r: Reader) -> bytes:
    size = r.size()
    if size > limits.PRESENCE_BYTES_MAX:
        raise _too_long(size)
    return r.raw(size)


def _write_shown(w: Writer, data: bytes) -> None:
    if len(data) > limits.PRESENCE_BYTES_MAX:
        raise _too_long(len(data))
    w.block(data)


def _too_long(size: int) -> ProtocolError:
    return ProtocolError("LIMIT_EXCEEDED", f"a presence of {size} bytes is longer than {limits.PRESENCE_BYTES_MAX}")


_shown = Codec(_read_shown, _write_shown)
_presence = struct(number=varint, session_number=varint, _user=user, is_gone=_flag, bytes=_shown)
set_presence = struct(scope=object_id, bytes=optional(_shown))
follow_presence = struct(scope=object_id, follows=boolean)
presence = struct(
    scope=object_id,
    is_whole=_flag,
    changes=checked(
        list_of(_presence, 6, limits.PRESENCE_CHANGES_MAX),
        lambda all: (
            all == sorted(all, key=lambda one: int(one["number"])) and len({one["number"] for one in all}) == len(all)
        ),
        "its numbers do not increase",
    ),
)
states = checked(
    list_of(struct(object=object_id, is_expanded=_flag), 2, limits.OUTLINE_EXCEPTIONS_MAX),
    bool,
    "nothing is folded or unfolded",
)
_totals = list_of(value, 1, limits.TOTALS_MAX)


def _are_totals(fields: Fields) -> bool:
    sections = fields["sections"]
    indexes = [section["index"] for section in sections]
    return all(len(s["values"]) == len(fields["values"]) for s in sections) and all(
        a < b for a, b in zip(indexes, indexes[1:], strict=False)
    )


result_totals = checked(
    struct(
        revision=varint, is_before_rows=_flag, values=_totals, sections=list_of(struct(index=varint, values=_totals), 2)
    ),
    _are_totals,
    "totals of sections do not fit",
)
