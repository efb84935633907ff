"""The body of MODEL (protocol.md, section 9)."""

from __future__ import annotations

from . import limits
from .bytes import Reader, Writer
from .codec import Codec, Fields, choice, flags, list_of, number16, object_id, or_none, string, struct, value, varint

ATTRIBUTE_TYPES = (
    *("string", "integer", "double", "boolean", "date", "data"),
    *("uuid", "integer16", "integer32", "float", "decimal", "uri", "largeData", "largeText"),
)
_MAX = limits.PROPERTIES_PER_ENTITY_MAX

_attribute = struct(
    number=number16,
    name=string,
    type=choice(*ATTRIBUTE_TYPES, first=1),
    _flags=flags("is_optional", "defaults_to_now"),
    default=value,
    minimum=value,
    maximum=value,
)
_relationship = struct(
    number=number16,
    name=string,
    destination=number16,
    inverse=number16,
    _flags=flags("is_to_many", "is_ordered", "is_optional"),
    delete_rule=choice("nullify", "cascade", "deny", first=1),
    minimum_count=varint,
    maximum_count=varint,
    join=or_none(number16),
)
_roots = list_of(struct(object=object_id, relationship=number16), 2, 1)


def _read_root(r: Reader) -> Fields | None:
    roots: list[Fields] = _roots.read(r)
    return roots[0] if roots else None


def _write_root(w: Writer, root: Fields | None) -> None:
    _roots.write(w, [root] if root else [])


_expressions = list_of(struct(entity=number16, attribute=number16, pattern=string), 3, limits.PATTERNS_PER_MODEL_MAX)
_requests = list_of(
    struct(name=string, source=or_none(number16), entity=number16, predicate=string, sort=string),
    5,
    limits.REQUESTS_PER_MODEL_MAX,
)


def _read_added(r: Reader) -> Fields:
    """What later versions added: a model without any of it ends before."""
    if r.left == 0:
        return {}
    return {"expressions": _expressions.read(r), "requests": _requests.read(r)}


def _write_added(w: Writer, added: Fields) -> None:
    expressions, requests = added.get("expressions") or [], added.get("requests") or []
    if expressions or requests:
        _expressions.write(w, expressions)
        _requests.write(w, requests)


_properties = list_of(list_of(number16, 1, _MAX), 1, _MAX)
model = struct(
    entities=list_of(
        struct(
            number=number16,
            name=string,
            parent=or_none(number16),
            _flags=flags("is_abstract"),
            attributes=list_of(_attribute, 7, _MAX),
            relationships=list_of(_relationship, 9, _MAX),
            uniqueness_constraints=_properties,
            indexes=_properties,
            label=or_none(number16),
            root=Codec(_read_root, _write_root),
        ),
        10,
        limits.ENTITIES_PER_MODEL_MAX,
    ),
    _added=Codec(_read_added, _write_added),
)
