# Written by `nestc model generate python`. Do not edit: change the model, and write it again.

from __future__ import annotations

import datetime
import decimal
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Never, TypeAlias, TypedDict

import nest


DateName: TypeAlias = Literal[
    "name",
]
DateKey: TypeAlias = Literal[
    "name", "-name", "name:c", "-name:c", "name:d", "-name:d", "name:cd", "-name:cd",
]
DateValues = TypedDict(
    "DateValues",
    {
        "name": "str",
    },
    total=False,
)


@dataclass(frozen=True, slots=True)
class Date(nest.Typed["DateEntity", DateName, DateKey]):
    """An object of the entity `Date`."""

    entity: ClassVar[str] = "Date"
    columns: ClassVar[tuple[DateName, ...]] = (
        "name",
    )
    id: int
    name: str

    class Values(DateValues, total=False):
        """What `insert`, `update` and `find_or_create` take."""


class DateEntity(nest.TypedEntity[Date, DateValues], rows=Date):
    """Requests for objects of the entity `Date`, and the steps that write them."""

    __slots__ = ()

    def places(self, object: int | nest.HasID) -> nest.FetchRequest[Everything]:
        return self.of(object, "places", Everything)

    def things(self, object: int | nest.HasID) -> nest.FetchRequest[Everything]:
        return self.of(object, "things", Everything)

    if TYPE_CHECKING:

        def insert(
            self,
            values: DateValues | None = None,
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
            values: DateValues | None = None,
            /,
            *,
            name: str = ...,
        ) -> nest.Step: ...


EverythingName: TypeAlias = Literal[
    "bytes",
    "class",
    "columns",
    "count",
    "essay",
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
    "scan",
    "self",
    "self_",
    "short",
    "small",
    "text",
    "whole",
    "owner",
    "where",
]
EverythingKey: TypeAlias = Literal[
    "bytes", "-bytes",
    "class", "-class", "class:c", "-class:c", "class:d", "-class:d", "class:cd", "-class:cd",
    "columns", "-columns", "columns:c", "-columns:c", "columns:d", "-columns:d", "columns:cd", "-columns:cd",
    "count", "-count",
    "flag", "-flag",
    "init", "-init", "init:c", "-init:c", "init:d", "-init:d", "init:cd", "-init:cd",
    "key", "-key",
    "link", "-link", "link:c", "-link:c", "link:d", "-link:d", "link:cd", "-link:cd",
    "middle", "-middle",
    "moment", "-moment",
    "note", "-note", "note:c", "-note:c", "note:d", "-note:d", "note:cd", "-note:cd",
    "order", "-order",
    "price", "-price",
    "real", "-real",
    "self", "-self", "self:c", "-self:c", "self:d", "-self:d", "self:cd", "-self:cd",
    "self_", "-self_", "self_:c", "-self_:c", "self_:d", "-self_:d", "self_:cd", "-self_:cd",
    "short", "-short",
    "small", "-small",
    "text", "-text", "text:c", "-text:c", "text:d", "-text:d", "text:cd", "-text:cd",
    "whole", "-whole",
]
EverythingValues = TypedDict(
    "EverythingValues",
    {
        "bytes": "bytes | None",
        "class": "str | None",
        "columns": "str | None",
        "count": "int | None",
        "essay": "nest.LargeValue | None",
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
        "scan": "nest.LargeValue | None",
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


@dataclass(frozen=True, slots=True)
class Everything(nest.Typed["EverythingEntity", EverythingName, EverythingKey]):
    """An object of the entity `Everything`."""

    entity: ClassVar[str] = "Everything"
    columns: ClassVar[tuple[EverythingName, ...]] = (
        "bytes",
        "class",
        "columns",
        "count",
        "essay",
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
        "scan",
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
    essay: nest.LargeValue | None
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
    scan: nest.LargeValue | None
    self__: str | None
    self_: str | None
    short: int | None
    small: float | None
    text: str
    whole: int
    owner: nest.Reference | None
    where: nest.Reference | None

    class Values(EverythingValues, total=False):
        """What `insert`, `update` and `find_or_create` take."""


class EverythingEntity(nest.TypedEntity[Everything, EverythingValues], rows=Everything):
    """Requests for objects of the entity `Everything`, and the steps that write them."""

    __slots__ = ()

    if TYPE_CHECKING:

        def insert(
            self,
            values: EverythingValues | None = None,
            /,
            *,
            under: nest.ObjectLike | None = None,
            place: nest.Place | None = None,
            via: str | None = None,
            as_id: int | None = None,
            bytes: bytes | None = ...,
            columns: str | None = ...,
            count: int | None = ...,
            essay: nest.LargeValue | None = ...,
            flag: bool = ...,
            init: str | None = ...,
            key: uuid.UUID | None = ...,
            link: str | None = ...,
            middle: int | None = ...,
            moment: datetime.datetime | nest.Date | None = ...,
            note: str | None = ...,
            order: int = ...,
            price: decimal.Decimal | int | str | None = ...,
            real: float | None = ...,
            scan: nest.LargeValue | None = ...,
            self_: str | None = ...,
            short: int | None = ...,
            small: float | None = ...,
            text: str = ...,
            whole: int = ...,
            owner: nest.ObjectLike | None = ...,
            where: nest.ObjectLike | None = ...,
        ) -> nest.Step: ...

        def update(
            self,
            object: nest.ObjectLike,
            values: EverythingValues | None = None,
            /,
            *,
            bytes: bytes | None = ...,
            columns: str | None = ...,
            count: int | None = ...,
            essay: nest.LargeValue | None = ...,
            flag: bool = ...,
            init: str | None = ...,
            key: uuid.UUID | None = ...,
            link: str | None = ...,
            middle: int | None = ...,
            moment: datetime.datetime | nest.Date | None = ...,
            note: str | None = ...,
            order: int = ...,
            price: decimal.Decimal | int | str | None = ...,
            real: float | None = ...,
            scan: nest.LargeValue | None = ...,
            self_: str | None = ...,
            short: int | None = ...,
            small: float | None = ...,
            text: str = ...,
            whole: int = ...,
            owner: nest.ObjectLike | None = ...,
            where: nest.ObjectLike | None = ...,
        ) -> nest.Step: ...


ValuesName: TypeAlias = Literal[
    "Values",
]
ValuesKey: TypeAlias = Literal[
    "Values", "-Values", "Values:c", "-Values:c", "Values:d", "-Values:d", "Values:cd", "-Values:cd",
]
ValuesValues = TypedDict(
    "ValuesValues",
    {
        "Values": "str | None",
    },
    total=False,
)


@dataclass(frozen=True, slots=True)
class Values(nest.Typed["ValuesEntity", ValuesName, ValuesKey]):
    """An object of the entity `Values`."""

    entity: ClassVar[str] = "Values"
    columns: ClassVar[tuple[ValuesName, ...]] = (
        "Values",
    )
    id: int
    Values_: str | None

    class Values(ValuesValues, total=False):
        """What `insert`, `update` and `find_or_create` take."""


class ValuesEntity(nest.TypedEntity[Values, ValuesValues], rows=Values):
    """Requests for objects of the entity `Values`, and the steps that write them."""

    __slots__ = ()

    if TYPE_CHECKING:

        def insert(
            self,
            values: ValuesValues | None = None,
            /,
            *,
            under: nest.ObjectLike | None = None,
            place: nest.Place | None = None,
            via: str | None = None,
            as_id: int | None = None,
            Values: str | None = ...,
        ) -> nest.Step: ...

        def update(
            self,
            object: nest.ObjectLike,
            values: ValuesValues | None = None,
            /,
            *,
            Values: str | None = ...,
        ) -> nest.Step: ...


x__debug__Name: TypeAlias = Never
x__debug__Key: TypeAlias = Never
x__debug__Values = TypedDict(
    "x__debug__Values",
    {
    },
    total=False,
)


@dataclass(frozen=True, slots=True)
class x__debug__(nest.Typed["x__debug__Entity", x__debug__Name, x__debug__Key]):
    """An object of the entity `__debug__`."""

    entity: ClassVar[str] = "__debug__"
    columns: ClassVar[tuple[x__debug__Name, ...]] = (
    )
    id: int

    class Values(x__debug__Values, total=False):
        """What `insert`, `update` and `find_or_create` take."""


class x__debug__Entity(nest.TypedEntity[x__debug__, x__debug__Values], rows=x__debug__):
    """Requests for objects of the entity `__debug__`, and the steps that write them."""

    __slots__ = ()


x__name__Name: TypeAlias = Never
x__name__Key: TypeAlias = Never
x__name__Values = TypedDict(
    "x__name__Values",
    {
    },
    total=False,
)


@dataclass(frozen=True, slots=True)
class x__name__(nest.Typed["x__name__Entity", x__name__Name, x__name__Key]):
    """An object of the entity `__name__`."""

    entity: ClassVar[str] = "__name__"
    columns: ClassVar[tuple[x__name__Name, ...]] = (
    )
    id: int

    class Values(x__name__Values, total=False):
        """What `insert`, `update` and `find_or_create` take."""


class x__name__Entity(nest.TypedEntity[x__name__, x__name__Values], rows=x__name__):
    """Requests for objects of the entity `__name__`, and the steps that write them."""

    __slots__ = ()


initName: TypeAlias = Literal[
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
]
initKey: TypeAlias = Literal[
    "TypedPath", "-TypedPath", "TypedPath:c", "-TypedPath:c", "TypedPath:d", "-TypedPath:d", "TypedPath:cd", "-TypedPath:cd",
    "_", "-_", "_:c", "-_:c", "_:d", "-_:d", "_:cd", "-_:cd",
    "__", "-__", "__:c", "-__:c", "__:d", "-__:d", "__:cd", "-__:cd",
    "__a", "-__a", "__a:c", "-__a:c", "__a:d", "-__a:d", "__a:cd", "-__a:cd",
    "__proto__", "-__proto__", "__proto__:c", "-__proto__:c", "__proto__:d", "-__proto__:d", "__proto__:cd", "-__proto__:cd",
    "constructor", "-constructor", "constructor:c", "-constructor:c", "constructor:d", "-constructor:d", "constructor:cd", "-constructor:cd",
    "s", "-s", "s:c", "-s:c", "s:d", "-s:d", "s:cd", "-s:cd",
    "values", "-values", "values:c", "-values:c", "values:d", "-values:d", "values:cd", "-values:cd",
    "x__a", "-x__a", "x__a:c", "-x__a:c", "x__a:d", "-x__a:d", "x__a:cd", "-x__a:cd",
]
initValues = TypedDict(
    "initValues",
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


@dataclass(frozen=True, slots=True)
class init(nest.Typed["initEntity", initName, initKey]):
    """An object of the entity `init`."""

    entity: ClassVar[str] = "init"
    columns: ClassVar[tuple[initName, ...]] = (
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

    class Values(initValues, total=False):
        """What `insert`, `update` and `find_or_create` take."""


class initEntity(nest.TypedEntity[init, initValues], rows=init):
    """Requests for objects of the entity `init`, and the steps that write them."""

    __slots__ = ()

    def ToManyPath(self, object: int | nest.HasID) -> nest.FetchRequest[init]:
        return self.of(object, "ToManyPath", init)

    def then(self, object: int | nest.HasID) -> nest.FetchRequest[init]:
        return self.of(object, "then", init)

    def where_(self, object: int | nest.HasID) -> nest.FetchRequest[init]:
        return self.of(object, "where", init)

    if TYPE_CHECKING:

        def insert(
            self,
            values: initValues | None = None,
            /,
            *,
            under: nest.ObjectLike | None = None,
            place: nest.Place | None = None,
            via: str | None = None,
            as_id: int | None = None,
            TypedPath: str | None = ...,
            _: str | None = ...,
            constructor: str | None = ...,
            s: str | None = ...,
            x__a: str | None = ...,
            ToOnePath: nest.ObjectLike | None = ...,
        ) -> nest.Step: ...

        def update(
            self,
            object: nest.ObjectLike,
            values: initValues | None = None,
            /,
            *,
            TypedPath: str | None = ...,
            _: str | None = ...,
            constructor: str | None = ...,
            s: str | None = ...,
            x__a: str | None = ...,
            ToOnePath: nest.ObjectLike | None = ...,
        ) -> nest.Step: ...


keyofName: TypeAlias = Never
keyofKey: TypeAlias = Never
keyofValues = TypedDict(
    "keyofValues",
    {
    },
    total=False,
)


@dataclass(frozen=True, slots=True)
class keyof(nest.Typed["keyofEntity", keyofName, keyofKey]):
    """An object of the entity `keyof`."""

    entity: ClassVar[str] = "keyof"
    columns: ClassVar[tuple[keyofName, ...]] = (
    )
    id: int

    class Values(keyofValues, total=False):
        """What `insert`, `update` and `find_or_create` take."""


class keyofEntity(nest.TypedEntity[keyof, keyofValues], rows=keyof):
    """Requests for objects of the entity `keyof`, and the steps that write them."""

    __slots__ = ()
