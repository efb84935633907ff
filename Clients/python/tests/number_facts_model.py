# Written by `nestc model generate python`. Do not edit: change the model, and write it again.

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias, TypedDict

import nest


PostName: TypeAlias = Literal[
    "number",
    "title",
    "user",
]
PostKey: TypeAlias = Literal[
    "number", "-number",
    "title", "-title", "title:c", "-title:c", "title:d", "-title:d", "title:cd", "-title:cd",
]
PostValues = TypedDict(
    "PostValues",
    {
        "number": "float",
        "title": "str",
        "user": "nest.ObjectLike",
    },
    total=False,
)


@dataclass(frozen=True, slots=True)
class Post(nest.Typed["PostEntity", PostName, PostKey]):
    """An object of the entity `Post`."""

    entity: ClassVar[str] = "Post"
    columns: ClassVar[tuple[PostName, ...]] = (
        "number",
        "title",
        "user",
    )
    id: int
    number: float
    title: str
    user: nest.Reference

    class Values(PostValues, total=False):
        """What `insert`, `update` and `find_or_create` take."""


class PostEntity(nest.TypedEntity[Post, PostValues], rows=Post):
    """Requests for objects of the entity `Post`, and the steps that write them."""

    __slots__ = ()

    if TYPE_CHECKING:

        def insert(
            self,
            values: PostValues | None = None,
            /,
            *,
            under: nest.ObjectLike | None = None,
            place: nest.Place | None = None,
            via: str | None = None,
            as_id: int | None = None,
            number: float = ...,
            title: str = ...,
            user: nest.ObjectLike = ...,
        ) -> nest.Step: ...

        def update(
            self,
            object: nest.ObjectLike,
            values: PostValues | None = None,
            /,
            *,
            number: float = ...,
            title: str = ...,
            user: nest.ObjectLike = ...,
        ) -> nest.Step: ...


UserName: TypeAlias = Literal[
    "dob",
    "name",
]
UserKey: TypeAlias = Literal[
    "dob", "-dob",
    "name", "-name", "name:c", "-name:c", "name:d", "-name:d", "name:cd", "-name:cd",
]
UserValues = TypedDict(
    "UserValues",
    {
        "dob": "datetime.datetime | nest.Date | None",
        "name": "str",
    },
    total=False,
)


@dataclass(frozen=True, slots=True)
class User(nest.Typed["UserEntity", UserName, UserKey]):
    """An object of the entity `User`."""

    entity: ClassVar[str] = "User"
    columns: ClassVar[tuple[UserName, ...]] = (
        "dob",
        "name",
    )
    id: int
    dob: datetime.datetime | nest.Date | None
    name: str

    class Values(UserValues, total=False):
        """What `insert`, `update` and `find_or_create` take."""


class UserEntity(nest.TypedEntity[User, UserValues], rows=User):
    """Requests for objects of the entity `User`, and the steps that write them."""

    __slots__ = ()

    def posts(self, object: int | nest.HasID) -> nest.FetchRequest[Post]:
        return self.of(object, "posts", Post)

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
            dob: datetime.datetime | nest.Date | None = ...,
            name: str = ...,
        ) -> nest.Step: ...

        def update(
            self,
            object: nest.ObjectLike,
            values: UserValues | None = None,
            /,
            *,
            dob: datetime.datetime | nest.Date | None = ...,
            name: str = ...,
        ) -> nest.Step: ...
