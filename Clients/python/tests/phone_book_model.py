# Written by `nestc model generate python`. Do not edit: change the model, and write it again.

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias, TypedDict

import nest


PhoneName: TypeAlias = Literal[
    "number",
    "user",
]
PhoneKey: TypeAlias = Literal[
    "number", "-number", "number:c", "-number:c", "number:d", "-number:d", "number:cd", "-number:cd",
]
PhoneValues = TypedDict(
    "PhoneValues",
    {
        "number": "str",
        "user": "nest.ObjectLike",
    },
    total=False,
)


@dataclass(frozen=True, slots=True)
class Phone(nest.Typed["PhoneEntity", PhoneName, PhoneKey]):
    """An object of the entity `Phone`."""

    entity: ClassVar[str] = "Phone"
    columns: ClassVar[tuple[PhoneName, ...]] = (
        "number",
        "user",
    )
    id: int
    number: str
    user: nest.Reference

    class Values(PhoneValues, total=False):
        """What `insert`, `update` and `find_or_create` take."""


class PhoneEntity(nest.TypedEntity[Phone, PhoneValues], rows=Phone):
    """Requests for objects of the entity `Phone`, and the steps that write them."""

    __slots__ = ()

    if TYPE_CHECKING:

        def insert(
            self,
            values: PhoneValues | None = None,
            /,
            *,
            under: nest.ObjectLike | None = None,
            place: nest.Place | None = None,
            via: str | None = None,
            as_id: int | None = None,
            number: str = ...,
            user: nest.ObjectLike = ...,
        ) -> nest.Step: ...

        def update(
            self,
            object: nest.ObjectLike,
            values: PhoneValues | None = None,
            /,
            *,
            number: str = ...,
            user: nest.ObjectLike = ...,
        ) -> nest.Step: ...


UserName: TypeAlias = Literal[
    "name",
]
UserKey: TypeAlias = Literal[
    "name", "-name", "name:c", "-name:c", "name:d", "-name:d", "name:cd", "-name:cd",
]
UserValues = TypedDict(
    "UserValues",
    {
        "name": "str",
    },
    total=False,
)


@dataclass(frozen=True, slots=True)
class User(nest.Typed["UserEntity", UserName, UserKey]):
    """An object of the entity `User`."""

    entity: ClassVar[str] = "User"
    columns: ClassVar[tuple[UserName, ...]] = (
        "name",
    )
    id: int
    name: str

    class Values(UserValues, total=False):
        """What `insert`, `update` and `find_or_create` take."""


class UserEntity(nest.TypedEntity[User, UserValues], rows=User):
    """Requests for objects of the entity `User`, and the steps that write them."""

    __slots__ = ()

    def phones(self, object: int | nest.HasID) -> nest.FetchRequest[Phone]:
        return self.of(object, "phones", Phone)

    if TYPE_CHECKING:

        def insert(
            self,
            values: UserValues | None = None,
            /,
            *,
            under: nest.ObjectLike | None = None,
            place: nest.Place | None = None,
            via: str | None = None,
            as_id: int | None = None,
            name: str = ...,
        ) -> nest.Step: ...

        def update(
            self,
            object: nest.ObjectLike,
            values: UserValues | None = None,
            /,
            *,
            name: str = ...,
        ) -> nest.Step: ...
