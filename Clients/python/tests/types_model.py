# Written by `nestc model generate python`. Do not edit: change the model, and write it again.

from __future__ import annotations

import datetime
import decimal
import uuid
from dataclasses import dataclass
from typing import ClassVar, Self, TypedDict

import nest


@dataclass(frozen=True, slots=True)
class Date:
    """An object of the entity `Date`."""

    entity: ClassVar[str] = "Date"
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


@dataclass(frozen=True, slots=True)
class Everything:
    """An object of the entity `Everything`."""

    entity: ClassVar[str] = "Everything"
    #: What `properties(*columns)` takes, so that rows have all that `of` needs.
    columns: ClassVar[tuple[str, ...]] = (
        "bytes",
        "class",
        "columns",
        "count",
        "flag",
        "init",
        "key",
        "link",
        "middle",
        "moment",
        "note",
        "order",
        "price",
        "real",
        "self",
        "self_",
        "short",
        "small",
        "text",
        "whole",
        "owner",
        "where",
    )
    id: int
    bytes_: bytes | None
    class_: str | None
    columns_: str | None
    count: int | None
    flag: bool
    init: str | None
    key: uuid.UUID | None
    link: str | None
    middle: int | None
    moment: datetime.datetime | nest.Date | None
    note: str | None
    order: int
    price: decimal.Decimal | None
    real: float | None
    self__: str | None
    self_: str | None
    short: int | None
    small: float | None
    text: str
    whole: int
    owner: nest.Reference | None
    where: nest.Reference | None

    Values = TypedDict(
        "Values",
        {
            "bytes": "bytes | None",
            "class": "str | None",
            "columns": "str | None",
            "count": "int | None",
            "flag": "bool",
            "init": "str | None",
            "key": "uuid.UUID | None",
            "link": "str | None",
            "middle": "int | None",
            "moment": "datetime.datetime | nest.Date | None",
            "note": "str | None",
            "order": "int",
            "price": "decimal.Decimal | int | str | None",
            "real": "float | None",
            "self": "str | None",
            "self_": "str | None",
            "short": "int | None",
            "small": "float | None",
            "text": "str",
            "whole": "int",
            "owner": "nest.ObjectLike | None",
            "where": "nest.ObjectLike | None",
        },
        total=False,
    )

    @classmethod
    def of(cls, row: nest.Row) -> Self:
        """The object of a row. KeyError if the row has no such value."""
        return cls(
            row.id,
            row["bytes"],
            row["class"],
            row["columns"],
            row["count"],
            row["flag"],
            row["init"],
            row["key"],
            row["link"],
            row["middle"],
            row["moment"],
            row["note"],
            row["order"],
            row["price"],
            row["real"],
            row["self"],
            row["self_"],
            row["short"],
            row["small"],
            row["text"],
            row["whole"],
            row["owner"],
            row["where"],
        )


@dataclass(frozen=True, slots=True)
class Values:
    """An object of the entity `Values`."""

    entity: ClassVar[str] = "Values"
    #: What `properties(*columns)` takes, so that rows have all that `of` needs.
    columns: ClassVar[tuple[str, ...]] = (
        "Values",
    )
    id: int
    Values_: str | None

    Values = TypedDict(
        "Values",
        {
            "Values": "str | None",
        },
        total=False,
    )

    @classmethod
    def of(cls, row: nest.Row) -> Self:
        """The object of a row. KeyError if the row has no such value."""
        return cls(
            row.id,
            row["Values"],
        )


@dataclass(frozen=True, slots=True)
class x__debug__:
    """An object of the entity `__debug__`."""

    entity: ClassVar[str] = "__debug__"
    #: What `properties(*columns)` takes, so that rows have all that `of` needs.
    columns: ClassVar[tuple[str, ...]] = (
    )
    id: int

    Values = TypedDict(
        "Values",
        {
        },
        total=False,
    )

    @classmethod
    def of(cls, row: nest.Row) -> Self:
        """The object of a row. KeyError if the row has no such value."""
        return cls(
            row.id,
        )


@dataclass(frozen=True, slots=True)
class x__name__:
    """An object of the entity `__name__`."""

    entity: ClassVar[str] = "__name__"
    #: What `properties(*columns)` takes, so that rows have all that `of` needs.
    columns: ClassVar[tuple[str, ...]] = (
    )
    id: int

    Values = TypedDict(
        "Values",
        {
        },
        total=False,
    )

    @classmethod
    def of(cls, row: nest.Row) -> Self:
        """The object of a row. KeyError if the row has no such value."""
        return cls(
            row.id,
        )


@dataclass(frozen=True, slots=True)
class init:
    """An object of the entity `init`."""

    entity: ClassVar[str] = "init"
    #: What `properties(*columns)` takes, so that rows have all that `of` needs.
    columns: ClassVar[tuple[str, ...]] = (
        "TypedPath",
        "_",
        "__",
        "__a",
        "__proto__",
        "constructor",
        "s",
        "values",
        "x__a",
        "ToOnePath",
    )
    id: int
    TypedPath: str | None
    x_: str | None
    x__: str | None
    x__a_: str | None
    x__proto__: str | None
    constructor: str | None
    s: str | None
    values: str | None
    x__a: str | None
    ToOnePath: nest.Reference | None

    Values = TypedDict(
        "Values",
        {
            "TypedPath": "str | None",
            "_": "str | None",
            "__": "str | None",
            "__a": "str | None",
            "__proto__": "str | None",
            "constructor": "str | None",
            "s": "str | None",
            "values": "str | None",
            "x__a": "str | None",
            "ToOnePath": "nest.ObjectLike | None",
        },
        total=False,
    )

    @classmethod
    def of(cls, row: nest.Row) -> Self:
        """The object of a row. KeyError if the row has no such value."""
        return cls(
            row.id,
            row["TypedPath"],
            row["_"],
            row["__"],
            row["__a"],
            row["__proto__"],
            row["constructor"],
            row["s"],
            row["values"],
            row["x__a"],
            row["ToOnePath"],
        )


@dataclass(frozen=True, slots=True)
class keyof:
    """An object of the entity `keyof`."""

    entity: ClassVar[str] = "keyof"
    #: What `properties(*columns)` takes, so that rows have all that `of` needs.
    columns: ClassVar[tuple[str, ...]] = (
    )
    id: int

    Values = TypedDict(
        "Values",
        {
        },
        total=False,
    )

    @classmethod
    def of(cls, row: nest.Row) -> Self:
        """The object of a row. KeyError if the row has no such value."""
        return cls(
            row.id,
        )
