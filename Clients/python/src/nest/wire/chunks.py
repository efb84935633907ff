"""Chunks of sub-trees (protocol.md, section 13): rows stored column by column."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..errors import ProtocolError
from . import limits
from .bytes import Reader, malformed
from .values import Value, read_value, value_size


@dataclass(frozen=True, slots=True)
class ChunkRow:
    depth: int
    id: int | None
    values: tuple[Value, ...]


class ChunkReader:
    """Reads the chunks of one stream, in order: depths go on from one chunk to the next."""

    __slots__ = ("width", "_unpack", "_depth")

    def __init__(self, width: int, unpack: Callable[[bytes], bytes] | None = None) -> None:
        self.width = width
        self._unpack = unpack
        self._depth: int | None = None

    def read(self, body: bytes) -> list[ChunkRow]:
        packing = Reader(body).u8()
        if packing > 1:
            raise malformed("the packing of a chunk is not known")
        if not packing:
            return self._rows(Reader(body, 1))
        if not self._unpack:
            raise ProtocolError("UNSUPPORTED", "a chunk is compressed")
        return self._rows(Reader(self._unpack(body[1:])))

    def _rows(self, r: Reader) -> list[ChunkRow]:
        count = r.count(1, limits.CHUNK_ROWS_MAX)
        has_ids = r.u8()
        if has_ids > 1:
            raise ProtocolError("UNSUPPORTED", "a flag of a chunk is not known")
        if count * (1 + has_ids + self.width) > r.left:
            raise malformed("a count cannot be true")
        depth = self._depth
        depths = []
        for _ in range(count):
            step = r.zigzag()
            if depth is None and step or step > 1 or (depth or 0) + step < 0:
                raise malformed("a depth is not possible")
            depth = (depth or 0) + step
            if depth > limits.DEPTH_MAX:
                raise ProtocolError("LIMIT_EXCEEDED", f"more than {limits.DEPTH_MAX} levels")
            depths.append(depth)
        ids = _read_ids(r, count) if has_ids else [None] * count
        columns = [_read_column(r, count) for _ in range(self.width)]
        r.finish()
        self._depth = depth
        return [ChunkRow(depths[i], ids[i], tuple(column[i] for column in columns)) for i in range(count)]


def _read_ids(r: Reader, count: int) -> list[int | None]:
    id = 0
    ids: list[int | None] = []
    for _ in range(count):
        id += r.zigzag()
        if not 0 < id <= limits.OBJECT_ID_MAX:
            raise malformed("an object id is out of its range")
        ids.append(id)
    return ids


def _read_column(r: Reader, count: int) -> list[Value]:
    """The heads of all values, then the bytes of the texts and data."""
    values: list[Value] = [None] * count
    bodies: list[tuple[int, int, bool]] = []
    for index in range(count):
        tag = r.u8()
        if 0x80 <= tag < 0xC0:
            bodies.append((index, tag & 0x3F, True))
        elif tag in (6, 7):
            bodies.append((index, value_size(r), tag == 6))
        else:
            r.at -= 1
            values[index] = read_value(r)
    for index, size, is_text in bodies:
        values[index] = r.utf8(size) if is_text else r.raw(size)
    return values
