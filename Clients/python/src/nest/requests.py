"""Fetch requests as a program builds them. Each is immutable: every method returns another one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, overload

from .errors import NestError
from .model import ENTITY, Attribute, EntityDescription, Model, from_wire, object_id
from .typed import K, N, Named, Path, R_co, Typed
from .wire.bodies import Request
from .wire.codec import Fields
from .wire.requests import ENTITY_PROPERTY, FIRST_COLUMN, FUNCTIONS
from .wire.values import Value

if TYPE_CHECKING:
    from .rows import Row

T = TypeVar("T", bound=Typed[Any, Any, Any])
SectionFunction = Literal["value", "firstCharacter", "year", "month", "day"]
_SORT = re.compile(r"([-+]?)([^:\s]*)(?::(c|d|cd|dc))?")


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """The names of the values of rows, how each becomes a value of Python, and the type that rows have."""

    names: tuple[str, ...]
    types: tuple[str | None, ...]
    slots: Mapping[str, int] = field(repr=False)
    model: Model = field(repr=False)
    kind: type[Typed[Any, Any, Any]] | None = None

    def named_by(self, model: Model) -> Shape:
        """The shape with the entities of a model that extends its own."""
        return self if model is self.model else replace(self, model=model)

    def value(self, slot: int, value: Value) -> Any:
        if self.names[slot] == ENTITY and isinstance(value, int):
            entity = self.model.by_number.get(value)
            return entity.name if entity else value
        return from_wire(self.types[slot], value)


@dataclass(frozen=True, slots=True)
class Lowered:
    """A request in the numbers of the model, and the shape of its rows."""

    wire: Request
    shape: Shape
    projection: tuple[int, ...]

    @property
    def has_window(self) -> bool:
        return bool(self.wire.get("range") or self.wire.get("around"))


def read_path(model: Model, entity: EntityDescription, text: str) -> tuple[Fields, str | None]:
    """A path such as `employer.name`, `tags.@count` or `phones.@sum.minutes`, and the type of its values."""
    names = text.split(".")
    function = names[-2][1:] if len(names) > 1 and names[-2].startswith("@") else None
    is_count = names[-1] == "@count"
    end = names[:-1] if is_count else names
    if function is not None:
        if function not in FUNCTIONS:
            raise NestError("UNKNOWN_PROPERTY", f"{text}: there is no function @{function}")
        end = names[:-2]
    steps: list[int] = []
    for index, name in enumerate(end):
        property = entity.property(name)
        is_last = index == len(end) - 1
        if isinstance(property, Attribute):
            if not is_last or is_count or function:
                raise NestError("UNKNOWN_PROPERTY", f"{text}: nothing can follow {name}")
            return {"steps": steps, "leaf": 1, "property": property.number}, property.type
        if property.is_to_many:
            if is_last and is_count:
                return {"steps": steps, "leaf": 2, "property": property.number}, "integer"
            if is_last and function:
                attribute = model.by_number[property.destination].property(names[-1])
                kind = getattr(attribute, "type", None)
                path: Fields = {"steps": steps, "leaf": 3, "function": function, "property": property.number}
                is_exact = kind in ("integer", "integer16", "integer32") and function == "avg"
                return path | {"attribute": attribute.number}, "decimal" if is_exact else kind
            raise NestError("UNKNOWN_PROPERTY", f"{text}: {name} leads to many objects")
        steps.append(property.number)
        entity = model.by_number[property.destination]
    if is_count or function:
        raise NestError("UNKNOWN_PROPERTY", f"{text}: nothing leads to many objects")
    return {"steps": steps, "leaf": 0, "property": 0}, None


def read_sort(model: Model, entity: EntityDescription, text: str) -> list[Fields]:
    """Sort keys such as `name:c,-createdAt`, or `order`."""
    keys: list[Fields] = []
    for part in text.split(","):
        key = part.strip()
        if key == "order" and key not in entity.properties:
            keys.append({"path": None, "descending": False, "folding": 0})
            continue
        found = _SORT.fullmatch(key)
        if not found:
            raise NestError("INVALID", f"'{key}' is no sort key: write path, -path, path:c, path:d or path:cd")
        folding = (1 if "c" in (found[3] or "") else 0) + (2 if "d" in (found[3] or "") else 0)
        path, _ = read_path(model, entity, found[2])
        keys.append({"path": path, "descending": found[1] == "-", "folding": folding})
    return keys


@dataclass(frozen=True, slots=True, repr=False)
class FetchRequest(Generic[R_co]):
    """Which objects, in which order, in which sections, with which values, and which rows of the result.

    The texts are those of the query language (docs/query-language.md); the server reads predicates. Rows are objects
    of a generated class, or a Row if there is none.
    """

    model: Model = field(repr=False)
    description: EntityDescription = field(repr=False)
    _kind: type[Typed[Any, Any, Any]] | None = None
    source: tuple[int, int] | None = None
    predicates: tuple[str, ...] = ()
    sort_keys: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    section_key: tuple[str, str] | None = None
    range: tuple[int, int] | None = None
    anchor: tuple[int, int, int] | None = None

    def __repr__(self) -> str:
        names = [name for name in self.__dataclass_fields__ if name not in ("model", "description", "_kind")]
        parts = [f"{name}={getattr(self, name)!r}" for name in names if getattr(self, name)]
        return f"<{' '.join((self.description.name, *parts))}>"

    def where(self, text: str) -> FetchRequest[R_co]:
        """Only objects for which this is true; several are combined with AND. Values of users: nest.quote."""
        return replace(self, predicates=(*self.predicates, text)) if text.strip() else self

    def sorted(self: FetchRequest[Named[N, K]], *keys: K | Path | Literal["order"]) -> FetchRequest[R_co]:
        """The order: `sorted("name:c", "-createdAt")` or `sorted("order")`. Replaces an earlier one."""
        for key in keys:
            read_sort(self.model, self.description, key)
        return self._with(sort_keys=keys)

    def properties(self: FetchRequest[Named[N, K]], *names: N | Path | Literal["@entity"]) -> FetchRequest[Row]:
        """The values to send: attributes, to-one relationships, `@entity`, and paths. None: all that are stored.

        Each row is a Row, also in a request of a generated class.
        """
        request: FetchRequest[Row] = self._with(names=names, _kind=None)
        request.lower()
        return request

    def section(
        self: FetchRequest[Named[N, K]], path: N | Path, by: SectionFunction = "value"
    ) -> FetchRequest[R_co]:
        """Rows in sections. Without an order, rows are sorted by the path."""
        read_path(self.model, self.description, path)
        return self._with(section_key=(by, path), sort_keys=self.sort_keys or (path,))

    def window(self, offset: int, limit: int) -> FetchRequest[R_co]:
        """Some rows: at most `limit` from `offset` on."""
        for name, number in (("offset", offset), ("limit", limit)):
            if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 1 << 63:
                raise NestError("INVALID", f"the {name} of a window is a number from 0 on, not {number!r}")
        return replace(self, range=(offset, limit), anchor=None)

    def around(self, object: Any, before: int, after: int) -> FetchRequest[R_co]:
        """An object, and rows before and after it, wherever it moves."""
        return replace(self, anchor=(object_id(object), before, after), range=None)

    def _with(self, **changes: Any) -> FetchRequest[Any]:
        return replace(self, **changes)

    @overload
    def of(self, object: Any, name: str) -> FetchRequest[Row]: ...
    @overload
    def of(self, object: Any, name: str, kind: type[T]) -> FetchRequest[T]: ...
    def of(self, object: Any, name: str, kind: type[Typed[Any, Any, Any]] | None = None) -> FetchRequest[Any]:
        """The objects of a to-many relationship of an object of this entity. `kind`: their generated class."""
        parts = (self.source, self.predicates, self.sort_keys, self.names, self.section_key, self.range, self.anchor)
        if any(parts):
            raise NestError("INVALID", f"begin with entity.of(object, '{name}')")
        relationship = self.description.relationship(name)
        if not relationship.is_to_many:
            raise NestError("UNKNOWN_PROPERTY", f"{self.description.name}.{name} does not lead to many objects")
        destination = self.model.by_number[relationship.destination]
        source = (object_id(object), relationship.number)
        request: FetchRequest[Any] = FetchRequest(self.model, destination, kind, source=source)
        request._check_kind()
        return request

    def _check_kind(self) -> None:
        """Refuses a generated class that does not fit the server's model."""
        if self._kind is None:
            return
        if self._kind.entity != self.description.name:
            raise NestError("INVALID", f"{self._kind.__name__} is of {self._kind.entity}, not {self.description.name}")
        self.lower()

    def stored_names(self) -> tuple[str, ...]:
        """The names of what rows have without `properties`."""
        stored = [one for one in self.description.properties.values() if not getattr(one, "is_to_many", False)]
        stored.sort(key=lambda one: one.number)
        # Without any, the server would send all properties that it has by then.
        kinds = (ENTITY,) if not stored or self.model.has_kinds(self.description) else ()
        return (*kinds, *(one.name for one in stored))

    def lower(self, predicate: bytes = b"") -> Lowered:
        """The request in numbers. `predicate` is what the server has made of the texts."""
        model, entity = self.model, self.description
        columns: list[Fields] = []
        values: dict[int, tuple[str, str | None]] = {}
        for name in dict.fromkeys(self.names or (self._kind and self._kind.columns) or self.stored_names()):
            property = entity.properties.get(name)
            if name == ENTITY:
                values[ENTITY_PROPERTY] = (name, None)
            elif property and not getattr(property, "is_to_many", False):
                values[property.number] = (name, getattr(property, "type", None))
            else:
                path, type = read_path(model, entity, name)
                values[FIRST_COLUMN + len(columns)] = (name, type)
                columns.append(path)
        projection = tuple(sorted(values))
        names = tuple(values[number][0] for number in projection)
        types = tuple(values[number][1] for number in projection)
        shape = Shape(names, types, {name: slot for slot, name in enumerate(names)}, model, self._kind)
        section: Fields | None = (
            None
            if self.section_key is None
            else {
                "function": self.section_key[0],
                "path": read_path(model, entity, self.section_key[1])[0],
            }
        )
        around = self.anchor
        wire: Request = {
            "entity": entity.number,
            "source": {"object": self.source[0], "relationship": self.source[1]} if self.source else None,
            "projection": list(projection),
            "sort": [key for text in self.sort_keys for key in read_sort(model, entity, text)],
            "predicate": predicate,
            "columns": columns,
            "section": section,
            "range": {"offset": self.range[0], "limit": self.range[1]} if self.range else None,
            "around": {"anchor": around[0], "before": around[1], "after": around[2]} if around else None,
            "outline": None,
            "totals": [],
        }
        return Lowered(wire, shape, projection)
