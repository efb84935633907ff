"""Values as the wire has them (protocol.md, section 3). The model gives them the types of Python: see nest/model.py."""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from ..errors import NestError, ProtocolError
from . import limits
from .bytes import Reader, Writer, encode_text, malformed


@dataclass(frozen=True, slots=True)
class Reference:
    """An object that a to-one relationship leads to."""

    id: int


@dataclass(frozen=True, slots=True)
class Date:
    """A date in microseconds since 1970-01-01 00:00 UTC: also one that `datetime` cannot hold."""

    microseconds: int


Value = None | bool | int | float | str | bytes | Date | Reference | uuid.UUID


def value_size(reader: Reader) -> int:
    """The length of a text or data, checked before anything is read."""
    count = reader.size()
    if count > limits.VALUE_BYTES_MAX:
        raise ProtocolError("VALUE_TOO_LARGE", f"a value of {count} bytes is too large")
    return count


def read_value(reader: Reader) -> Value:
    tag = reader.u8()
    if 0x40 <= tag < 0x80:
        return tag & 0x3F
    if 0x80 <= tag < 0xC0:
        return reader.utf8(tag & 0x3F)
    match tag:
        case 0x00:
            return None
        case 0x01 | 0x02:
            return tag == 2
        case 0x03:
            return reader.zigzag()
        case 0x04:
            return reader.i64()
        case 0x05:
            return reader.f64()
        case 0x06:
            return reader.utf8(value_size(reader))
        case 0x07:
            return reader.raw(value_size(reader))
        case 0x08:
            return Date(reader.zigzag())
        case 0x09:
            return Reference(reader.object())
        case 0x0A:
            return uuid.UUID(bytes=reader.raw(16))
        case 0x0B:
            return Date(reader.i64())
    raise malformed("the tag of a value is not known")


def write_value(writer: Writer, value: Value) -> None:
    """Writes the shortest form."""
    match value:
        case None:
            writer.u8(0)
        case bool():
            writer.u8(2 if value else 1)
        case int():
            if 0 <= value < 64:
                writer.u8(0x40 | value)
            else:
                _write_number(writer, value, 3, 4)
        case float():
            writer.u8(5)
            writer.f64(value)
        case str():
            data = _checked(encode_text(value))
            if len(data) < 64:
                writer.u8(0x80 | len(data))
                writer.raw(data)
            else:
                writer.u8(6)
                writer.block(data)
        case bytes():
            writer.u8(7)
            writer.block(_checked(value))
        case Date():
            _write_number(writer, value.microseconds, 8, 11)
        case Reference():
            if not 0 < value.id <= limits.OBJECT_ID_MAX:
                raise NestError("INVALID", f"{value.id} is no object id")
            writer.u8(9)
            writer.varint(value.id)
        case uuid.UUID():
            writer.u8(10)
            writer.raw(value.bytes)
        case _:
            raise NestError("INVALID", f"a {type(value).__name__} is no value")


def _write_number(writer: Writer, value: int, short: int, long: int) -> None:
    if -(1 << 61) <= value < 1 << 61:
        writer.u8(short)
        writer.zigzag(value)
    else:
        writer.u8(long)
        writer.i64(value)


def _checked(data: bytes) -> bytes:
    if len(data) > limits.VALUE_BYTES_MAX:
        raise NestError("VALUE_TOO_LARGE", f"a value of {len(data)} bytes is too large")
    return data


def value_bytes(value: Value) -> bytes:
    writer = Writer()
    write_value(writer, value)
    return writer.done()
