"""The server's model by names: entities, properties, and what values are in Python."""

from __future__ import annotations

import datetime
import decimal
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .errors import NestError
from .named import NamedRequest
from .wire.bodies import EntityBody, ModelBody
from .wire.values import Date, Reference, Value

#: The name of an object's own entity among the properties of rows.
ENTITY = "@entity"
#: The name of the inverse that a server has added to a relationship without one.
HIDDEN = "nest_inverse_"
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_LARGE = ("largeData", "largeText")
_MICROSECOND = datetime.timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class LargeValue:
    """What a row has of a value of the type largeData or largeText. Its bytes are outside the row."""

    #: The number of the value in its store.
    id: int
    #: The number of bytes.
    length: int
    #: The SHA-256 of the bytes, in hexadecimal digits.
    sha256: str

    @classmethod
    def from_bytes(cls, data: bytes) -> LargeValue:
        """The value of the 48 bytes that stand for it on the wire."""
        return cls(int.from_bytes(data[:8], "big"), int.from_bytes(data[8:16], "big"), data[16:].hex())

    def to_bytes(self) -> bytes:
        """What stands for it on the wire."""
        return self.id.to_bytes(8, "big") + self.length.to_bytes(8, "big") + bytes.fromhex(self.sha256)


@dataclass(frozen=True, slots=True)
class Attribute:
    number: int
    name: str
    #: string, integer, double, boolean, date, data, uuid, integer16, integer32, float, decimal, uri, largeData
    #: or largeText
    type: str
    is_optional: bool
    defaults_to_now: bool
    default: Any
    minimum: Any
    maximum: Any


@dataclass(frozen=True, slots=True)
class Relationship:
    number: int
    name: str
    #: The number of the entity that it leads to.
    destination: int
    inverse: int
    is_to_many: bool
    is_ordered: bool
    is_optional: bool
    #: nullify, cascade or deny
    delete_rule: str
    minimum_count: int
    maximum_count: int


Property = Attribute | Relationship


@dataclass(frozen=True, slots=True, eq=False)
class EntityDescription:
    """An entity with all that it has, also what it has inherited."""

    number: int
    name: str
    parent: int | None
    is_abstract: bool
    #: The object that owns every object inserted without an owner, if there is one.
    root: int | None
    properties: Mapping[str, Property] = field(repr=False)
    _names: Mapping[int, str] = field(repr=False)

    def name_of(self, number: int) -> str:
        """The name of a property by its number; its digits if the entity does not have it."""
        return self._names.get(number) or str(number)

    def property(self, name: str) -> Property:
        found = self.properties.get(name)
        if found is None:
            known = ", ".join(sorted(self.properties))
            raise NestError("UNKNOWN_PROPERTY", f"{self.name} has no property '{name}', only {known}")
        return found

    def relationship(self, name: str) -> Relationship:
        found = self.property(name)
        if not isinstance(found, Relationship):
            raise NestError("UNKNOWN_PROPERTY", f"{self.name}.{name} is no relationship")
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """All entities by name. `hash` names the model: numbers of one model mean nothing in another."""

    hash: int
    entities: Mapping[str, EntityDescription]
    by_number: Mapping[int, EntityDescription] = field(repr=False)
    #: The requests that the model names: `client.named_request`.
    requests: Mapping[str, NamedRequest] = field(repr=False)

    def entity(self, name: str) -> EntityDescription:
        found = self.entities.get(name)
        if found is None:
            raise NestError("UNKNOWN_ENTITY", f"the model has no entity '{name}', only {', '.join(self.entities)}")
        return found

    def has_kinds(self, entity: EntityDescription) -> bool:
        """Whether entities inherit from it."""
        return any(one.parent == entity.number for one in self.entities.values())


def make_model(hash: int, fields: ModelBody) -> Model:
    """The model from the fields of MODEL."""
    entities = [_entity(one) for one in fields["entities"]]
    requests = [NamedRequest(**one) for one in fields.get("requests", [])]
    return Model(
        hash,
        {one.name: one for one in entities},
        {one.number: one for one in entities},
        {one.name: one for one in requests},
    )


def _entity(fields: EntityBody) -> EntityDescription:
    properties: dict[str, Property] = {}
    for one in fields["attributes"]:
        default, least, greatest = (from_wire(one["type"], v) for v in (one["default"], one["minimum"], one["maximum"]))
        properties[one["name"]] = Attribute(
            one["number"],
            one["name"],
            one["type"],
            one["is_optional"],
            one["defaults_to_now"],
            default,
            least,
            greatest,
        )
    for other in fields["relationships"]:
        properties[other["name"]] = Relationship(
            other["number"],
            other["name"],
            other["destination"],
            other["inverse"],
            other["is_to_many"],
            other["is_ordered"],
            other["is_optional"],
            other["delete_rule"],
            other["minimum_count"],
            other["maximum_count"],
        )
    root = fields["root"]["object"] if fields["root"] else None
    names = {one.number: name for name, one in properties.items()}
    return EntityDescription(
        fields["number"], fields["name"], fields["parent"], fields["is_abstract"], root, properties, names
    )


def object_id(object: Any) -> int:
    """The id of an object: a number, a reference, or a row."""
    id = getattr(object, "id", object)
    if isinstance(id, bool) or not isinstance(id, int) or not 0 < id < 2**53:
        raise NestError("INVALID", f"{object!r} is no object: give an id or a row")
    return id


def from_wire(type: str | None, value: Value) -> Any:
    """A value of the wire in Python. `type` is that of the attribute; None if it is not known."""
    if isinstance(value, Date):
        return to_datetime(value.microseconds)
    if type == "decimal" and isinstance(value, str):
        try:
            return decimal.Decimal(value)
        except decimal.InvalidOperation:
            return value
    if type in _LARGE and isinstance(value, bytes):
        return LargeValue.from_bytes(value)
    return value


def to_datetime(microseconds: int) -> datetime.datetime | Date:
    """A datetime in UTC; the Date itself outside the years 1 to 9999."""
    try:
        return _EPOCH + datetime.timedelta(microseconds=microseconds)
    except OverflowError:
        return Date(microseconds)


def to_wire(property: Property, value: Any) -> Value:
    """A value of Python for an attribute. INVALID if its type does not fit; the server checks the rest."""
    if value is None:
        return None
    if isinstance(property, Relationship):
        return Reference(object_id(value))
    made = _wire_value(property.type, value)
    if made is None:
        text = f"{property.name} takes no {type(value).__name__}: it is of the type {property.type}"
        raise NestError("INVALID", text)
    return made


def _wire_value(type: str, value: Any) -> Value:
    match type:
        case "string" | "uri" if isinstance(value, str):
            return value
        case "boolean" if isinstance(value, bool):
            return value
        case "integer" | "integer16" | "integer32" if isinstance(value, int) and not isinstance(value, bool):
            return value
        case "double" | "float" if isinstance(value, int | float) and not isinstance(value, bool):
            try:
                return float(value)
            except OverflowError:
                raise NestError("INVALID", "an integer is too large for a double") from None
        case "decimal" if isinstance(value, decimal.Decimal | int | str) and not isinstance(value, bool):
            return str(value)
        case "data" if isinstance(value, bytes | bytearray | memoryview):
            return bytes(value)
        case "largeData" | "largeText" if isinstance(value, LargeValue):
            return value.to_bytes()
        case "uuid" if isinstance(value, uuid.UUID):
            return value
        case "date" if isinstance(value, Date):
            return value
        case "date" if isinstance(value, datetime.datetime):
            if value.tzinfo is None:
                raise NestError("INVALID", "a date needs a zone: use datetime.now(UTC), for example")
            return Date((value - _EPOCH) // _MICROSECOND)
    return None
