"""The models that a client has read, and which requests the server's model is valid for.

Entities and properties are numbers in all messages, and a model gives them a meaning. A server may have another model
after a restart. If that model extends an older one (protocol.md, section 4), everything that was made for the older
one goes on; a client can compare only models that it has read:

WELCOME with the hash of before ─────────────────────────────────▶ everything goes on
WELCOME with another hash ──the client has read a model──▶ GET_MODEL ──▶ what it extends goes on, the rest ends
                          └─it has not──▶ what was made for another model ends
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ..errors import NestError
from ..wire import limits
from ..wire.bodies import EntityBody, ModelBody, Request
from ..wire.requests import CHILDREN_PROPERTY, DEPTH_PROPERTY, ENTITY_PROPERTY, FIRST_COLUMN
from .calls import MODEL_CHANGED


def extends(new: ModelBody, old: ModelBody) -> bool:
    """Whether a model has everything that an older one has, under the same numbers and with the same meaning.

    O(entities and properties).
    """
    entities = {one["number"]: one for one in new["entities"]}
    return all(_has(entities.get(one["number"]), one, _entity_extends) for one in old["entities"])


def _has(new: Any, old: Any, test: Any) -> bool:
    return new is not None and test(new, old)


def _entity_extends(new: EntityBody, old: EntityBody) -> bool:
    attributes = {one["number"]: one for one in new["attributes"]}
    relationships = {one["number"]: one for one in new["relationships"]}
    return (
        _same(new, old, "name", "parent", "root")
        and all(_has(attributes.get(one["number"]), one, _same_attribute) for one in old["attributes"])
        and all(_has(relationships.get(one["number"]), one, _same_relationship) for one in old["relationships"])
    )


def _same_attribute(new: Any, old: Any) -> bool:
    return _same(new, old, "name", "type")


def _same_relationship(new: Any, old: Any) -> bool:
    return _same(new, old, "name", "destination", "inverse", "is_to_many", "is_ordered", "join")


def _same(new: Any, old: Any, *names: str) -> bool:
    return all(new[name] == old[name] for name in names)


class Models:
    """The models of one client, by their hashes."""

    __slots__ = ("_read", "_valid", "_current")

    def __init__(self) -> None:
        self._read: dict[int, ModelBody] = {}
        #: The models whose numbers mean the same at the server; its own too.
        self._valid: set[int] = set()
        #: The hash of the server's model; None before the first WELCOME.
        self._current: int | None = None

    def read(self, hash: int, model: ModelBody) -> None:
        """Keeps a model that a server has sent."""
        self._read.pop(hash, None)
        self._read[hash] = model
        if len(self._read) > limits.MODELS_READ_MAX:
            del self._read[next(iter(self._read))]

    def get(self, hash: int) -> ModelBody | None:
        """The model of a hash, if it was read and is kept."""
        return self._read.get(hash)

    def must_compare(self, hash: int) -> bool:
        """Whether the model of a server that greets may extend one that was read."""
        return self._current is not None and self._current != hash and bool(self._read)

    def enter(self, hash: int) -> None:
        """Begins to use a server."""
        if hash == self._current:
            return
        extended = {old for old in self._read if self._extends(hash, old)}
        # What extends the model of before extends all that one has extended, also if these are not kept.
        self._valid = {hash} | extended | (self._valid if self._current in extended else set())
        self._current = hash

    def error(self, model: int | None) -> NestError | None:
        """SCHEMA_CHANGED if the numbers of a model do not mean the same at the server."""
        if model is None or self._current is None or model in self._valid:
            return None
        return NestError("SCHEMA_CHANGED", MODEL_CHANGED)

    def newest(self, hashes: Collection[int]) -> int | None:
        """The one of these models that extends all others; None if there is none."""
        fit = (new for new in hashes if all(self._extends(new, old) for old in hashes))
        return next(fit, None)

    def _extends(self, new: int, old: int) -> bool:
        after, before = self._read.get(new), self._read.get(old)
        return new == old or (after is not None and before is not None and extends(after, before))

    def spelled_out(self, request: Request, model: int | None) -> Request:
        """A request for an older model, with the properties that its empty projection stands for.

        Without them, it would get those of the server's model.
        """
        if request.get("projection") or model is None or model == self._current:
            return request
        made_for = self._read.get(model)
        if not made_for:
            return request
        entity = next((one for one in made_for["entities"] if one["number"] == request["entity"]), None)
        if not entity:
            return request
        to_one = [one["number"] for one in entity["relationships"] if not one["is_to_many"]]
        numbers = sorted([*(one["number"] for one in entity["attributes"]), *to_one])
        # An empty list would mean all properties again.
        if not numbers or any(one["parent"] == entity["number"] for one in made_for["entities"]):
            numbers.insert(0, ENTITY_PROPERTY)
        numbers += [FIRST_COLUMN + index for index, _ in enumerate(request.get("columns") or ())]
        numbers += [CHILDREN_PROPERTY, DEPTH_PROPERTY] if request.get("outline") else []
        spelled = request.copy()
        spelled["projection"] = numbers
        return spelled
