"""The primitives of the protocol (section 2): a reader that checks each length first, and a writer."""

from __future__ import annotations

import struct

from ..errors import NestError, ProtocolError
from . import limits

_F64 = struct.Struct(">d")


def malformed(what: str) -> ProtocolError:
    return ProtocolError("MALFORMED", f"malformed: {what}")


class Reader:
    """Reads primitives; every method raises ProtocolError if the bytes are not what it says."""

    __slots__ = ("data", "at", "end", "width", "has_window", "depth")

    def __init__(
        self, data: bytes, at: int = 0, end: int | None = None, width: int = 0, has_window: bool = False
    ) -> None:
        self.data = data
        self.at = at
        self.end = len(data) if end is None else end
        # What a reader of rows and diffs must know of their view.
        self.width = width
        self.has_window = has_window
        # The programs that are being read: a predicate, and the SUBQUERYs in it.
        self.depth = 0

    @property
    def left(self) -> int:
        return self.end - self.at

    def _skip(self, count: int) -> int:
        at = self.at
        if count > self.end - at:
            raise malformed("it ends too early")
        self.at = at + count
        return at

    def raw(self, count: int) -> bytes:
        at = self._skip(count)
        return self.data[at : at + count]

    def u8(self) -> int:
        at = self.at
        if at >= self.end:
            raise malformed("it ends too early")
        self.at = at + 1
        return self.data[at]

    def uint(self, size: int) -> int:
        at = self._skip(size)
        return int.from_bytes(self.data[at : at + size], "big")

    def i64(self) -> int:
        at = self._skip(8)
        return int.from_bytes(self.data[at : at + 8], "big", signed=True)

    def f64(self) -> float:
        value: float = _F64.unpack_from(self.data, self._skip(8))[0]
        if value != value:
            raise malformed("a double is not a number")
        return value

    def size(self) -> int:
        """Any `varint`, 0 … 2^62-1."""
        first = self.u8()
        if first < 0x40:
            return first
        self.at -= 1
        size = 1 << (first >> 6)
        return self.uint(size) & ((1 << (size * 8 - 2)) - 1)

    def varint(self, most: int = limits.OBJECT_ID_MAX) -> int:
        value = self.size()
        if value > most:
            raise malformed("a number is out of its range")
        return value

    def zigzag(self) -> int:
        n = self.size()
        return (n >> 1) ^ -(n & 1)

    def object(self) -> int:
        value = self.size()
        if not 0 < value <= limits.OBJECT_ID_MAX:
            raise malformed("an object id is out of its range")
        return value

    def count(self, each: int = 1, most: int | None = None) -> int:
        """A count of things of at least `each` bytes."""
        count = self.size()
        if most is not None and count > most:
            raise ProtocolError("LIMIT_EXCEEDED", f"a list of {count} is longer than {most}")
        if count * each > self.end - self.at:
            raise malformed("a count cannot be true")
        return count

    def string(self, most: int | None = None, code: str = "LIMIT_EXCEEDED") -> str:
        count = self.size()
        if most is not None and count > most:
            raise ProtocolError(code, f"a text of {count} bytes is longer than {most}")
        return self.utf8(count)

    def utf8(self, count: int) -> str:
        raw = self.raw(count)
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            raise ProtocolError("INVALID_TEXT", "a text is not UTF-8") from None
        if "\0" in text:
            raise ProtocolError("INVALID_TEXT", "a text contains a NUL")
        return text

    def part(self, count: int) -> Reader:
        """A reader of the next bytes alone, which this one passes."""
        at = self._skip(count)
        return Reader(self.data, at, at + count, self.width, self.has_window)

    def finish(self) -> None:
        if self.at != self.end:
            raise malformed("bytes are left over")


class Writer:
    """Writes primitives in their shortest form; what cannot be encoded is refused with NestError."""

    __slots__ = ("data",)

    def __init__(self) -> None:
        self.data = bytearray()

    def done(self) -> bytes:
        return bytes(self.data)

    def raw(self, data: bytes) -> None:
        self.data += data

    def u8(self, value: int) -> None:
        self.data.append(value)

    def uint(self, value: int, size: int) -> None:
        if not 0 <= value < 1 << 8 * size:
            raise NestError("INVALID", f"{value} cannot be encoded in {size} bytes")
        self.data += value.to_bytes(size, "big")

    def i64(self, value: int) -> None:
        if not -(1 << 63) <= value < 1 << 63:
            raise NestError("INVALID", f"{value} is no integer of 64 bits")
        self.data += value.to_bytes(8, "big", signed=True)

    def f64(self, value: float) -> None:
        if value != value:
            raise NestError("INVALID", "NaN cannot be encoded")
        self.data += _F64.pack(value)

    def varint(self, value: int) -> None:
        if 0 <= value < 0x40:
            self.data.append(value)
            return
        for bits, size in ((14, 2), (30, 4), (62, 8)):
            if 0 <= value < 1 << bits:
                form = size.bit_length() - 1
                self.data += (value | form << size * 8 - 2).to_bytes(size, "big")
                return
        raise NestError("INVALID", f"{value} cannot be encoded")

    def zigzag(self, value: int) -> None:
        self.varint(2 * value if value >= 0 else -2 * value - 1)

    def block(self, data: bytes) -> None:
        """Bytes with their length before them."""
        self.varint(len(data))
        self.data += data

    def string(self, text: str, most: int | None = None, code: str = "LIMIT_EXCEEDED") -> None:
        data = encode_text(text)
        if most is not None and len(data) > most:
            raise NestError(code, f"a text of {len(data)} bytes is longer than {most}")
        self.block(data)


def encode_text(text: str) -> bytes:
    """The UTF-8 of a text; INVALID_TEXT if it has a NUL or half of a surrogate pair."""
    if not isinstance(text, str):
        raise NestError("INVALID", f"{type(text).__name__} is no text")
    if "\0" in text:
        raise NestError("INVALID_TEXT", "a text contains a NUL")
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise NestError("INVALID_TEXT", "a text contains half of a character") from None
