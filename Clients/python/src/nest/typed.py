"""The base of the classes that `nestc model generate python` writes, and what they say to mypy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Generic, NewType, Self, TypeVar

if TYPE_CHECKING:
    from .entities import TypedEntity
    from .rows import Row

#: The names of an entity's attributes and to-one relationships.
N = TypeVar("N", bound=str)
#: Sort keys with these names, such as `-name` and `name:c`.
K = TypeVar("K", bound=str)
#: The rows of a request.
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
#: The class of an entity, which has requests and steps.
E = TypeVar("E")
E_co = TypeVar("E_co", covariant=True)

#: A path, or a sort key with a path, where mypy otherwise knows the names that there can be.
Path = NewType("Path", str)


def path(text: str) -> Path:
    """A path for a request with types: `users.properties("name", nest.path("employer.name"))`. mypy takes any text."""
    return Path(text)


class Named(Generic[N, K]):
    """A row, and for mypy the names that requests for such rows take."""

    __slots__ = ()


class Typed(Named[N, K], Generic[E_co, N, K]):
    """An object of an entity of a generated module: a frozen data class of its id and its values.

    `client.entity(User)` is the request for all of them.
    """

    __slots__ = ()

    #: The name of the entity in the model.
    entity: ClassVar[str]
    #: The names of the values that rows need, in the order of the fields.
    columns: ClassVar[tuple[Any, ...]]
    __nest_entity__: ClassVar[type[TypedEntity[Any, Any]]]

    @classmethod
    def of(cls, row: Row) -> Self:
        """The object of a row by names. KeyError if the row does not have all `columns`."""
        return cls(row.id, *[row[name] for name in cls.columns])  # type: ignore[call-arg]
