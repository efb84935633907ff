"""The steps of a transaction by names, and the receipts of writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

from .errors import NestError
from .model import EntityDescription, Model, Relationship, object_id, to_wire
from .wire import bodies
from .wire.codec import Fields


@dataclass(frozen=True, slots=True)
class Place:
    """A place in an ordered list. `kind`: last, first, before, after, at or near, with an object, an index or a gap."""

    kind: str
    operand: Any = None


FIRST = Place("first")
LAST = Place("last")


def before(object: Any) -> Place:
    """The place before an object: an id, a row, or an insert of the same transaction."""
    return Place("before", object)


def after(object: Any) -> Place:
    """The place after an object."""
    return Place("after", object)


def at(index: int) -> Place:
    """The final index. A neighbour keeps its meaning when others write at the same time; an index does not."""
    return Place("at", index)


def near(left: Any = None, right: Any = None) -> Place:
    """The gap where a user dropped an object.

    After `left` if it is still in the list, else before `right`, else last. Unlike `before` and `after`, it is not
    refused if one of them is gone.
    """
    return Place("near", (left, right))


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One step of a transaction. Later steps take what an insert makes in place of an object."""

    model: Model = field(repr=False)
    kind: str
    lower: Callable[[References], Fields] = field(repr=False)

    @property
    def makes_object(self) -> bool:
        return self.kind in ("insert", "insertAs", "findOrCreate")


class HasID(Protocol):
    """A row, a reference, or an object of a generated type."""

    @property
    def id(self) -> int:
        """The object's id."""


#: An object: its id, something that has one, or what an insert of the same transaction makes.
ObjectLike: TypeAlias = int | HasID | Step


class References:
    """The numbers by which steps refer to objects: an id, or -k for what the k-th insert makes."""

    def __init__(self, steps: Sequence[Step]) -> None:
        made = [step for step in steps if step.makes_object]
        self.numbers = {step: -number for number, step in enumerate(made, 1)}

    def of(self, object: Any) -> int:
        if not isinstance(object, Step):
            return object_id(object)
        number = self.numbers.get(object)
        if number is None:
            raise NestError("INVALID", "a step refers to an insert that is not in this transaction")
        return number

    def place(self, place: Place | None) -> tuple[str, Any]:
        if place is None:
            return "last", None
        match place.kind:
            case "before" | "after":
                return place.kind, self.of(place.operand)
            case "near":
                left, right = (None if one is None else self.of(one) for one in place.operand)
                return "near", {"left": left, "right": right}
        return place.kind, place.operand


def assignments(entity: EntityDescription, values: Mapping[str, Any] | None) -> Callable[[References], list[Fields]]:
    """The values of a step. What is wrong with them is found here, before anything is sent."""
    made: list[tuple[int, Callable[[References], tuple[str, Any]]]] = []
    for name, value in (values or {}).items():
        property = entity.property(name)
        if isinstance(property, Relationship) and property.is_to_many:
            raise NestError("INVALID", f"{entity.name}.{name} leads to many objects: use relate or set_related")
        if isinstance(property, Relationship) and value is not None:
            if not isinstance(value, Step):
                object_id(value)
            made.append((property.number, _reference(value)))
        else:
            made.append((property.number, _constant(to_wire(property, value))))
    return lambda references: [{"property": number, "what": what(references)} for number, what in made]


def _reference(object: Any) -> Callable[[References], tuple[str, Any]]:
    return lambda references: ("reference", references.of(object))


def _constant(value: Any) -> Callable[[References], tuple[str, Any]]:
    return lambda references: ("value", value)


def placement(
    model: Model, entity: EntityDescription, under: Any, place: Place | None, via: str | None
) -> Callable[[References], Fields | None]:
    """Where an object goes: under an owner, by the to-one relationship `via` that the object holds."""
    if under is None:
        if place or via:
            raise NestError("INVALID", "a place needs an owner: under=…")
        return lambda references: None
    number = _owner_relationship(model, entity, via).number
    return lambda references: {
        "relationship": number,
        "owner": references.of(under),
        "place": references.place(place),
    }


def _owner_relationship(model: Model, entity: EntityDescription, via: str | None) -> Relationship:
    if via is not None:
        return entity.relationship(via)
    found = []
    for one in entity.properties.values():
        if isinstance(one, Relationship) and not one.is_to_many:
            others = model.by_number[one.destination].properties.values()
            if any(isinstance(o, Relationship) and o.number == one.inverse and o.is_to_many for o in others):
                found.append(one)
    if len(found) != 1:
        names = ", ".join(one.name for one in found) or "none"
        raise NestError("INVALID", f"{entity.name} has {len(found)} relationships to an owner ({names}): name via=…")
    return found[0]


def make_transaction(
    steps: Sequence[Step], key: bytes, name: str, expect: Mapping[Any, int], coalescing: tuple[str, float] | None
) -> Fields:
    """The fields of TRANSACTION. `expect`: object -> the revision since which it must not have changed."""
    references = References(steps)
    joined = coalescing and {"key": coalescing[0], "milliseconds": round(coalescing[1] * 1000)}
    return {
        "key": key,
        "name": name,
        "preconditions": [{"object": object_id(one), "revision": revision} for one, revision in expect.items()],
        "mutations": [(step.kind, step.lower(references)) for step in steps],
        "coalescing": joined,
    }


@dataclass(frozen=True, slots=True)
class Conflict:
    """Something that an undo left as it is or, if forced, overwrote."""

    #: edited, moved, deleted, present, ownerGone, rehomed, overwritten, lost or other
    reason: str
    entity: str
    object: int
    property: str | None
    revision: int | None
    label: str
    #: Who made the conflicting change, and whether that is a claim that no server has checked.
    user: str | None
    is_user_claimed: bool


@dataclass(frozen=True, slots=True)
class Receipt:
    """The answer to a write, which is durable now."""

    revision: int
    is_changed: bool
    #: Whether this repeats the answer to an earlier sending of the same write.
    is_replayed: bool
    #: The name of the undo entry; for an undo, of what was taken back.
    name: str
    conflicts: tuple[Conflict, ...]
    #: All conflicts: `conflicts` lists the first 100.
    conflict_count: int
    _runs: tuple[tuple[int, int, bool], ...] = field(repr=False)
    _numbers: Mapping[Step, int] = field(repr=False, hash=False)

    def id(self, step: Step) -> int:
        """The object that an insert or find_or_create of the transaction has made or found."""
        return self._result(step)[0]

    def was_found(self, step: Step) -> bool:
        """Whether a find_or_create has found its object."""
        return self._result(step)[1]

    def _result(self, step: Step) -> tuple[int, bool]:
        number = self._numbers.get(step)
        if number is None:
            raise NestError("INVALID", "the transaction has no such insert")
        index = -number - 1
        for first, count, is_found in self._runs:
            if index < count:
                return first + index, is_found
            index -= count
        raise NestError("PROTOCOL", "the receipt has fewer results than the transaction has inserts")


def make_receipt(fields: bodies.Receipt, model: Model | None, steps: Sequence[Step] = ()) -> Receipt:
    listed: bodies.Conflicts = fields["conflicts"] or {"count": 0, "listed": []}
    return Receipt(
        fields["revision"],
        fields["is_changed"],
        fields["is_replayed"],
        fields["name"],
        tuple(_conflict(one, model) for one in listed["listed"]),
        listed["count"],
        tuple((run["first"], run["count"], run["is_found"]) for run in fields["results"]),
        References(steps).numbers,
    )


def _conflict(fields: bodies.ConflictBody, model: Model | None) -> Conflict:
    entity = model.by_number.get(fields["entity"]) if model else None
    number = fields["property"]
    return Conflict(
        fields["reason"],
        entity.name if entity else str(fields["entity"]),
        fields["object"],
        None if number is None else entity.name_of(number) if entity else str(number),
        fields["revision"],
        fields["label"],
        fields["user"],
        fields["user_claimed"],
    )
