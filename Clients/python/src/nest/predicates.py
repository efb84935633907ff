"""Predicates: values as the query language writes them, and texts that the server has read."""

from __future__ import annotations

import base64
import datetime
import decimal
import math
import re
import uuid
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from .errors import NestError
from .model import object_id, to_datetime
from .wire.requests import decode_predicate, encode_predicate
from .wire.values import Date

_ESCAPES = str.maketrans({'"': '\\"', "'": "\\'", "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"})
#: Words whose meaning depends on the time: what the server has read of them is not kept.
_OF_TIME = re.compile(r"\b(now|today|yesterday|tomorrow)\b", re.IGNORECASE)
#: Texts whose meaning is kept.
_KEPT_MAX = 1_000


def quote(value: Any) -> str:
    """A value in the text of a predicate: what a user has typed cannot become anything else.

    `items.where(f"title == {nest.quote(typed)}")`. A row, a reference, or a list of values may be given too.
    """
    match value:
        case None:
            return "nil"
        case bool():
            return "YES" if value else "NO"
        case str():
            return f'"{value.translate(_ESCAPES)}"'
        case int():
            return str(value)
        case float() if math.isfinite(value):
            return repr(value)
        case decimal.Decimal() if value.is_finite():
            return f"{value:f}"
        case datetime.datetime() if value.tzinfo is not None:
            return f'date("{value.astimezone(datetime.UTC).replace(tzinfo=None).isoformat(timespec="microseconds")}Z")'
        case Date():
            moment = to_datetime(value.microseconds)
            if isinstance(moment, datetime.datetime):
                return quote(moment)
        case uuid.UUID():
            return f'uuid("{value}")'
        case bytes() | bytearray() | memoryview():
            return f'data("{base64.b64encode(value).decode()}")'
        case list() | tuple() | set() | frozenset() | range():
            return f"{{{', '.join(map(quote, value))}}}"
        case _ if hasattr(value, "id"):
            return str(object_id(value))
    raise NestError("INVALID", f"a predicate cannot contain {value!r}")


class Predicates:
    """The texts that the server has read, in the form of the wire."""

    def __init__(self, parse: Callable[[int, int, str], Coroutine[Any, Any, bytes]]) -> None:
        """`parse` asks the server: model hash, number of the entity, text."""
        self._parse = parse
        self._kept: dict[tuple[int, int, str], bytes] = {}

    async def read(self, model: int, entity: int, texts: Sequence[str]) -> bytes:
        """What is true if all texts are."""
        programs = [decode_predicate(await self._read_one(model, entity, text)) for text in texts]
        # A program without nodes is true.
        programs = [program for program in programs if program]
        if not programs:
            return b""
        nodes = [node for program in programs for node in program]
        return encode_predicate([*nodes, ("and", len(programs))] if len(programs) > 1 else nodes)

    async def _read_one(self, model: int, entity: int, text: str) -> bytes:
        key = (model, entity, text)
        found = self._kept.get(key)
        if found is None:
            found = await self._parse(*key)
            if not _OF_TIME.search(text):
                if len(self._kept) >= _KEPT_MAX:
                    # The oldest one goes.
                    del self._kept[next(iter(self._kept))]
                self._kept[key] = found
        return found
