"""Large values: attributes of the types largeData and largeText, whose bytes are outside the rows."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Callable
from typing import IO, Any

from .driver import Driver
from .errors import NestError
from .machine.machine import FEATURE_LARGE_VALUES
from .model import Attribute, LargeValue, object_id
from .requests import FetchRequest
from .transfer import Transfer
from .wire import limits
from .wire.bytes import encode_text
from .wire.hash import FNV_START

#: What a program gives as a large value: bytes, a text, or a file that was opened for reading.
Source = bytes | bytearray | memoryview | str | IO[bytes] | IO[str]
#: Called after each piece with the bytes so far, and with all there are.
Progress = Callable[[int, int], None]


def large_attribute(request: FetchRequest[Any], name: str) -> Attribute:
    """The attribute of a large type. INVALID if it has another one."""
    if not isinstance(request, FetchRequest):
        raise NestError("INVALID", f"a large value is of an entity, such as client.entity('Item'), not of {request!r}")
    found = request.description.property(name)
    if isinstance(found, Attribute) and found.type in ("largeData", "largeText"):
        return found
    kind = found.type if isinstance(found, Attribute) else "a relationship"
    raise NestError("INVALID", f"{request.description.name}.{name} is no large value: its type is {kind}")


def check_server(driver: Driver) -> None:
    welcome = driver.machine.welcome
    if welcome and not welcome["features"] & FEATURE_LARGE_VALUES:
        raise NestError("UNSUPPORTED", "the server has no large values: it is of an earlier version")


# Sending


async def send_value(
    driver: Driver, request: FetchRequest[Any], name: str, source: Source, progress: Progress | None
) -> LargeValue:
    attribute = large_attribute(request, name)
    check_server(driver)
    data = await _bytes_of(source)
    fields = {"type": attribute.type, "length": len(data), "digest": hashlib.sha256(data).digest()}
    transfer = Transfer(driver, "putValue", "value", fields, model=request.model.hash, transfer="upload")
    try:
        for start in range(0, len(data), limits.VALUE_PIECE_BYTES):
            piece = bytes(data[start : start + limits.VALUE_PIECE_BYTES])
            await transfer.send(piece)
            if progress:
                progress(start + len(piece), len(data))
        answer = await transfer.end()
    finally:
        transfer.leave()
    return LargeValue.from_bytes(answer["value"])


async def _bytes_of(source: Source) -> memoryview:
    """All bytes of a source. The server must know their number and their SHA-256 before the first one."""
    if isinstance(source, str):
        data: bytes | bytearray | memoryview = encode_text(source)
    elif isinstance(source, bytes | bytearray | memoryview):
        data = source
    elif hasattr(source, "read"):
        data = await asyncio.to_thread(_read_file, source)
    else:
        raise NestError("INVALID", f"a large value is bytes, a text or a file, not {type(source).__name__}")
    if isinstance(data, memoryview) and not data.c_contiguous:
        data = data.tobytes()
    view = memoryview(data).cast("B")
    if len(view) > limits.LARGE_VALUE_BYTES_MAX:
        raise _too_large()
    return view


def _read_file(file: IO[bytes] | IO[str]) -> bytes:
    """The rest of a file, but no more than a value can have and a byte."""
    parts: list[bytes] = []
    size = 0
    while size <= limits.LARGE_VALUE_BYTES_MAX:
        part = file.read(limits.VALUE_READ_BYTES)
        if not part:
            return b"".join(parts)
        parts.append(encode_text(part) if isinstance(part, str) else part)
        size += len(parts[-1])
    raise _too_large()


def _too_large() -> NestError:
    return NestError("VALUE_TOO_LARGE", f"a large value has at most {limits.LARGE_VALUE_BYTES_MAX} bytes")


# Reading


class ValueReader:
    """Reads one value. After a lost connection it goes on where it was."""

    def __init__(
        self,
        driver: Driver,
        request: FetchRequest[Any],
        object: Any,
        name: str,
        at_least: int,
        offset: int,
        progress: Progress | None,
    ) -> None:
        if isinstance(offset, bool) or not isinstance(offset, int) or offset < 0:
            raise NestError("INVALID", f"an offset is a number of bytes, not {offset!r}")
        self._driver = driver
        self._model = request.model.hash
        self._fields = {"object": object_id(object), "property": large_attribute(request, name).number}
        self._at_least = at_least
        self._offset = offset
        self._progress = progress
        check_server(driver)
        #: What the object has; None before the server has described it.
        self.value: LargeValue | None = None

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        """The pieces, in order. All are there, and as they were sent, when it ends without an error."""
        sum = hashlib.sha256()
        received = self._offset
        attempts = 0
        while True:
            transfer = self._begin(received)
            try:
                await self._described(transfer)
                assert self.value
                while (piece := await transfer.piece()) is not None:
                    received += len(piece)
                    if received > self.value.length:
                        raise _damaged()
                    sum.update(piece)
                    attempts = 0
                    if self._progress:
                        self._progress(received, self.value.length)
                    yield piece
                    transfer.taken(piece)
                if received != self.value.length or (self._offset == 0 and sum.hexdigest() != self.value.sha256):
                    raise _damaged()
                return
            except NestError as error:
                if error.name != "CONNECTION_LOST" or attempts == limits.VALUE_RESUMPTIONS_MAX:
                    raise
                attempts += 1
            finally:
                transfer.leave()

    def _begin(self, offset: int) -> Transfer:
        # The SHA-256 protects a value that is read from its beginning; the checksum costs time for each byte.
        checks: dict[str, Any] = {} if self._offset == 0 else {"checksum": FNV_START}
        fields = {**self._fields, "at_least": self._at_least, "offset": offset}
        return Transfer(
            self._driver, "getValue", "subtreeEnd", fields, model=self._model, transfer="download", **checks
        )

    async def _described(self, transfer: Transfer) -> None:
        """Waits for the description. CONFLICT if it is of another value than before."""
        changed = NestError("CONFLICT", "the object has got another value: read it again")
        try:
            fields = await transfer.began()
        except NestError as error:
            # The object has a shorter value now, or none.
            if self.value and error.name in ("INVALID", "NOT_FOUND"):
                raise changed from error
            raise
        found = LargeValue.from_bytes(fields["value"])
        if self.value and found != self.value:
            raise changed
        self.value = found
        # Another node may be behind the one that has answered.
        self._at_least = max(self._at_least, fields["revision"])


def _damaged() -> NestError:
    return NestError("CHECKSUM", "the value was damaged on the way: read it again")
