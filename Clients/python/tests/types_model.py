# Written by `nestc model generate python`. Do not edit: change the model, and write it again.

from __future__ import annotations

import datetime
import decimal
import uuid
from dataclasses import dataclass
from typing import ClassVar, TypedDict

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
    def of(cls, row: nest.Row) -> Date:
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
    def of(cls, row: nest.Row) -> Everything:
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
