# Written by `nestc model generate python`. Do not edit: change the model, and write it again.

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self, TypedDict

import nest


@dataclass(frozen=True, slots=True)
class Phone:
    """An object of the entity `Phone`."""

    entity: ClassVar[str] = "Phone"
    #: What `properties(*columns)` takes, so that rows have all that `of` needs.
    columns: ClassVar[tuple[str, ...]] = (
        "number",
        "user",
    )
    id: int
    number: str
    user: nest.Reference

    Values = TypedDict(
        "Values",
        {
            "number": "str",
            "user": "nest.ObjectLike",
        },
        total=False,
    )

    @classmethod
    def of(cls, row: nest.Row) -> Self:
        """The object of a row. KeyError if the row has no such value."""
        return cls(
            row.id,
            row["number"],
            row["user"],
        )


@dataclass(frozen=True, slots=True)
class User:
    """An object of the entity `User`."""

    entity: ClassVar[str] = "User"
    #: What `properties(*columns)` takes, so that rows have all that `of` needs.
    columns: ClassVar[tuple[str, ...]] = (
        "name",
    )
    id: int
    name: str

    Values = TypedDict(
        "Values",
        {
            "name": "str",
        },
        total=False,
    )

    @classmethod
    def of(cls, row: nest.Row) -> Self:
        """The object of a row. KeyError if the row has no such value."""
        return cls(
            row.id,
            row["name"],
        )
