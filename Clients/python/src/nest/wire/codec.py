"""Codecs: each reads and writes one form. The tables of messages are made of these."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import NestError, ProtocolError
from . import limits
from .bytes import Reader, Writer, malformed
from .values import read_value, write_value

Fields = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Codec:
    read: Callable[[Reader], Any]
    write: Callable[[Writer, Any], None]


u8 = Codec(Reader.u8, Writer.u8)
u64 = Codec(lambda r: r.uint(8), lambda w, v: w.uint(v, 8))
i64 = Codec(Reader.i64, Writer.i64)
#: A count, index, revision or public number: 0 … 2^53-1.
varint = Codec(Reader.varint, Writer.varint)
varint_any = Codec(Reader.size, Writer.varint)
object_id = Codec(Reader.object, Writer.varint)
#: The number of an entity or property.
number16 = Codec(lambda r: r.varint(0xFFFF), Writer.varint)
value = Codec(read_value, write_value)
string = Codec(lambda r: r.string(), lambda w, v: w.string(v))
#: Bytes with their length before them.
block = Codec(lambda r: r.raw(r.size()), Writer.block)
#: All bytes that are left.
rest = Codec(lambda r: r.raw(r.left), Writer.raw)
boolean = Codec(lambda r: r.u8() != 0, lambda w, v: w.u8(1 if v else 0))


def raw(count: int) -> Codec:
    def write(w: Writer, v: bytes) -> None:
        if len(v) != count:
            raise NestError("INVALID", f"{len(v)} bytes instead of {count}")
        w.raw(v)

    return Codec(lambda r: r.raw(count), write)


id128 = raw(16)


def text(most: int) -> Codec:
    return Codec(lambda r: r.string(most), lambda w, v: w.string(v, most))


def list_of(of: Codec, each: int = 1, most: int | None = None) -> Codec:
    """A count, then as many: at most `most`, each of at least `each` bytes."""

    def read(r: Reader) -> list[Any]:
        return [of.read(r) for _ in range(r.count(each, most))]

    def write(w: Writer, items: Sequence[Any]) -> None:
        if most is not None and len(items) > most:
            raise NestError("LIMIT_EXCEEDED", f"a list of {len(items)} is longer than {most}")
        w.varint(len(items))
        for item in items:
            of.write(w, item)

    return Codec(read, write)


def struct(**spec: Codec) -> Codec:
    """Fields one after the other. Those of a codec whose name begins with `_` are fields of the whole."""
    entries = tuple((None if name[0] == "_" else name, of) for name, of in spec.items())

    def read(r: Reader) -> Fields:
        out: Fields = {}
        for name, of in entries:
            if name is None:
                out.update(of.read(r))
            else:
                out[name] = of.read(r)
        return out

    def write(w: Writer, fields: Fields) -> None:
        for name, of in entries:
            of.write(w, fields if name is None else fields.get(name))

    return Codec(read, write)


def choice(*names: Any, first: int = 0, other: Any = None, code: str = "UNSUPPORTED") -> Codec:
    """A number of an enumeration. One that it does not have is `other`, or refused with `code`."""

    def read(r: Reader) -> Any:
        index = r.u8() - first
        if 0 <= index < len(names):
            return names[index]
        if other is None:
            raise ProtocolError(code, "a choice is not known")
        return other

    def write(w: Writer, name: Any) -> None:
        if name not in names:
            raise NestError("INVALID", f"{name} is none of {', '.join(map(str, names))}")
        w.u8(names.index(name) + first)

    return Codec(read, write)


def variant(first: int = 0, /, **table: Codec | None) -> Codec:
    """A byte, and what belongs to it: `(name, operand)`; the operand is None where the table has None."""
    names = tuple(table)
    byte = choice(*names, first=first)

    def read(r: Reader) -> tuple[str, Any]:
        name = byte.read(r)
        of = table[name]
        return name, of.read(r) if of else None

    def write(w: Writer, v: tuple[str, Any]) -> None:
        name, operand = v
        byte.write(w, name)
        of = table[name]
        if of:
            of.write(w, operand)

    return Codec(read, write)


def checked(of: Codec, is_right: Callable[[Any], Any], what: str, code: str = "MALFORMED") -> Codec:
    """A form of which not everything is allowed."""

    def read(r: Reader) -> Any:
        v = of.read(r)
        if not is_right(v):
            raise ProtocolError(code, what)
        return v

    def write(w: Writer, v: Any) -> None:
        if not is_right(v):
            raise NestError("INVALID" if code == "MALFORMED" else code, what)
        of.write(w, v)

    return Codec(read, write)


def flags(*names: str, strict: bool = False) -> Codec:
    """A byte of flags, the first name the lowest bit. Flags that it does not know are ignored, or UNSUPPORTED."""

    def read(r: Reader) -> Fields:
        bits = r.u8()
        if strict and bits >> len(names):
            raise ProtocolError("UNSUPPORTED", "a flag is not known")
        return {name: bool(bits >> i & 1) for i, name in enumerate(names)}

    def write(w: Writer, fields: Fields) -> None:
        w.u8(sum(1 << i for i, name in enumerate(names) if fields.get(name)))

    return Codec(read, write)


def or_none(of: Codec, zero: Any = 0) -> Codec:
    """None when the form has its zero: 0, or the empty text."""

    def read(r: Reader) -> Any:
        v = of.read(r)
        return None if v == zero else v

    return Codec(read, lambda w, v: of.write(w, zero if v is None else v))


def optional(of: Codec, code: str = "UNSUPPORTED") -> Codec:
    """0: None. 1: the form follows. Another byte is refused with `code`."""

    def read(r: Reader) -> Any:
        byte = r.u8()
        if byte > 1:
            raise ProtocolError(code, "a choice is not known")
        return of.read(r) if byte else None

    def write(w: Writer, v: Any) -> None:
        w.u8(0 if v is None else 1)
        if v is not None:
            of.write(w, v)

    return Codec(read, write)


def trailing(of: Codec, absent: Mapping[str, Any]) -> Codec:
    """Fields that an older sender leaves out at the end of a body; `absent` is what they are then."""

    def write(w: Writer, fields: Fields) -> None:
        if any(fields.get(name) not in (None, v) for name, v in absent.items()):
            of.write(w, {**absent, **fields})

    return Codec(lambda r: of.read(r) if r.left > 0 else dict(absent), write)


REQUIRED = object()


@dataclass(frozen=True, slots=True)
class Field:
    """A tagged field: its name, its form, and its value if it is left out."""

    name: str
    of: Codec
    absent: Any = REQUIRED


def tagged(spec: Mapping[int, Field], most: int = limits.FIELDS_MAX, is_strict: bool = False) -> Codec:
    """Tagged fields. Unknown ones are skipped; if `is_strict`, they are UNSUPPORTED and no byte may be left over."""

    def read(r: Reader) -> Fields:
        out: Fields = {}
        previous = 0
        for _ in range(r.count(2, most)):
            number = r.size()
            if number <= previous:
                raise malformed("its fields are out of order")
            previous = number
            part = r.part(r.size())
            field = spec.get(number)
            if field:
                out[field.name] = field.of.read(part)
                if is_strict:
                    part.finish()
            elif is_strict:
                raise ProtocolError("UNSUPPORTED", f"the field {number} is not known")
        for number, field in spec.items():
            if field.name not in out:
                if field.absent is REQUIRED:
                    raise malformed(f"the field {number} is missing")
                out[field.name] = field.absent
        return out

    def write(w: Writer, fields: Fields) -> None:
        there = [(n, f, fields.get(f.name)) for n, f in spec.items()]
        there = [(n, f, v) for n, f, v in there if v is not None and v != f.absent and v != []]
        w.varint(len(there))
        for number, field, v in there:
            part = Writer()
            field.of.write(part, v)
            w.varint(number)
            w.block(part.done())

    return Codec(read, write)


def decode_with(of: Codec, body: bytes, width: int = 0, has_window: bool = False) -> Any:
    """Decodes a body; bytes after what the codec reads are ignored, as protocol.md asks."""
    return of.read(Reader(body, width=width, has_window=has_window))


def encode_with(of: Codec, fields: Any) -> bytes:
    writer = Writer()
    of.write(writer, fields)
    return writer.done()
