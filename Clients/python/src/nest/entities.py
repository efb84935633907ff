"""Entities: the request for all objects of one, and the steps that write them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .errors import NestError
from .model import HIDDEN, Model, Relationship, object_id
from .requests import FetchRequest
from .rows import Row
from .transactions import Place, Step, assignments, placement
from .typed import R_co, Typed
from .wire.codec import Fields

#: The values that a program gives.
V = TypeVar("V", bound=Mapping[str, Any])


class TypedEntity(FetchRequest[R_co], Generic[R_co, V]):
    """An entity of the server's model: the request for all its objects, and the steps that write them.

    A class of `nestc model generate python` has a method for each to-many relationship, and the types of its values.
    """

    __slots__ = ()

    def __init_subclass__(cls, *, rows: type[Typed[Any, Any, Any]] | None = None) -> None:
        super().__init_subclass__()
        if rows:
            rows.__nest_entity__ = cls

    @property
    def name(self) -> str:
        """The name of the entity in the model."""
        return self.description.name

    # Steps of a transaction

    def _insert(
        self,
        values: Mapping[str, Any] | None = None,
        /,
        *,
        under: Any = None,
        place: Place | None = None,
        via: str | None = None,
        as_id: int | None = None,
        **named: Any,
    ) -> Step:
        """Makes an object with these values, under an owner: the last one of its list, or at a place.

        `via` names the to-one relationship to the owner, if there are several. `as_id`: one of `client.reserve_ids`,
        which the object gets; INVALID if the session has not reserved it, or it was used. Properties with the name of
        a parameter go into the mapping.
        """
        entity = self.description
        made = assignments(entity, {**(values or {}), **named})
        placed = placement(self.model, entity, under, place, via)
        id = {} if as_id is None else {"object": object_id(as_id)}
        return Step(
            self.model,
            "insertAs" if id else "insert",
            lambda r: {**id, "entity": entity.number, "values": made(r), "placements": _listed(placed(r))},
        )

    def find_or_create(
        self,
        match: V,
        values: V | None = None,
        *,
        under: Any = None,
        place: Place | None = None,
        via: str | None = None,
    ) -> Step:
        """The first object with the values of `match`; if there is none, a new one with `values` too."""
        entity = self.description
        matched, made = assignments(entity, match), assignments(entity, values)
        placed = placement(self.model, entity, under, place, via)
        return Step(
            self.model,
            "findOrCreate",
            lambda r: {
                "entity": entity.number,
                "match": matched(r),
                "values": made(r),
                "placements": _listed(placed(r)),
            },
        )

    def _update(self, object: Any, values: Mapping[str, Any] | None = None, /, **named: Any) -> Step:
        """Changes values of an object: an id, a row, a reference, or an insert of the same transaction."""
        made = assignments(self.description, {**(values or {}), **named})
        return Step(self.model, "update", lambda r: {"object": r.of(object), "values": made(r)})

    if TYPE_CHECKING:
        # A generated class adds the names that its entity has; Entity takes all.

        def insert(
            self,
            values: V | None = None,
            /,
            *,
            under: Any = None,
            place: Place | None = None,
            via: str | None = None,
            as_id: int | None = None,
        ) -> Step:
            """Makes an object with these values, under an owner: the last one of its list, or at a place."""
            ...

        def update(self, object: Any, values: V | None = None, /) -> Step:
            """Changes values of an object: an id, a row, a reference, or an insert of the same transaction."""
            ...

    else:
        insert, update = _insert, _update

    def move(self, object: Any, *, under: Any, place: Place | None = None, via: str | None = None) -> Step:
        """Puts an object under an owner, as the last one or at a place."""
        placed = placement(self.model, self.description, under, place, via)
        return Step(self.model, "move", lambda r: {"object": r.of(object), "placement": placed(r)})

    def delete(self, object: Any) -> Step:
        """Deletes an object with everything that its delete rules reach."""
        return Step(self.model, "delete", lambda r: {"object": r.of(object)})

    def relate(self, owner: Any, name: str, object: Any, place: Place | None = None) -> Step:
        """Puts an object into a to-many relationship."""
        number = self._to_many(name)
        return Step(
            self.model,
            "relate",
            lambda r: {
                "owner": r.of(owner),
                "relationship": number,
                "object": r.of(object),
                "place": r.place(place),
            },
        )

    def unrelate(self, owner: Any, name: str, object: Any) -> Step:
        """Takes an object out of a to-many relationship."""
        number = self._to_many(name)
        return Step(
            self.model,
            "unrelate",
            lambda r: {"owner": r.of(owner), "relationship": number, "object": r.of(object)},
        )

    def set_related(self, owner: Any, name: str, objects: Sequence[Any]) -> Step:
        """Makes a to-many relationship lead to exactly these objects."""
        number = self._to_many(name)
        return Step(
            self.model,
            "setRelated",
            lambda r: {"owner": r.of(owner), "relationship": number, "objects": [r.of(one) for one in objects]},
        )

    def _to_many(self, name: str) -> int:
        relationship = self.description.relationship(name)
        if not relationship.is_to_many:
            raise NestError("UNKNOWN_PROPERTY", f"{self.name}.{name} does not lead to many objects")
        return relationship.number


class Entity(TypedEntity[Row, Mapping[str, Any]]):
    """An entity by its name.

    Each to-many relationship is a method: `items.children(1)` is `items.of(1, "children")`.
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        found = None if name.startswith("__") else self.description.properties.get(name)
        if isinstance(found, Relationship) and found.is_to_many and not name.startswith(HIDDEN):
            return lambda object: self.of(object, name)
        raise AttributeError(f"{type(self).__name__} has no attribute '{name}'")

    if TYPE_CHECKING:

        def insert(
            self,
            values: Mapping[str, Any] | None = None,
            /,
            *,
            under: Any = None,
            place: Place | None = None,
            via: str | None = None,
            as_id: int | None = None,
            **named: Any,
        ) -> Step: ...

        def update(self, object: Any, values: Mapping[str, Any] | None = None, /, **named: Any) -> Step: ...


def find_entity(model: Model, entity: str | type[Typed[Any, Any, Any]]) -> TypedEntity[Any, Any]:
    """The entity of a name, or of a generated class."""
    if isinstance(entity, str):
        return Entity(model, model.entity(entity))
    made = getattr(entity, "__nest_entity__", None)
    if made is None:
        raise NestError(
            "INVALID",
            "give the name of an entity, or a class of a module that nestc model generate python has written (again)",
        )
    found: TypedEntity[Any, Any] = made(model, model.entity(entity.entity), entity)
    found._check_kind()
    return found


def _listed(placed: Fields | None) -> list[Fields]:
    return [placed] if placed else []
