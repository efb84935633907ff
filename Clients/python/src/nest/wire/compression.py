"""Zstandard frames (protocol.md, section 5): what must be true of one before memory is taken for it."""

from __future__ import annotations

import importlib.util

from . import limits
from .bytes import malformed

#: Whether this client can decompress: the package `zstandard` is installed.
IS_AVAILABLE = importlib.util.find_spec("zstandard") is not None
_SIZE_BYTES = (0, 2, 4, 8)
_DICTIONARY_BYTES = (0, 1, 2, 4)


def content_size(data: bytes, most: int = limits.FRAME_UNPACKED_BYTES_MAX) -> int:
    """The declared size of the content of one whole Zstandard frame, with nothing before or after it."""
    broken = malformed("a compressed body is not one whole Zstandard frame that declares its size")
    if len(data) < 6 or data[:4] != b"\x28\xb5\x2f\xfd":
        raise broken
    descriptor = data[4]
    is_single = bool(descriptor & 0x20)
    count = _SIZE_BYTES[descriptor >> 6] or (1 if is_single else 0)
    if count == 0 or descriptor & 8:
        raise broken
    at = 5 + (0 if is_single else 1) + _DICTIONARY_BYTES[descriptor & 3]
    if at + count > len(data):
        raise broken
    size = int.from_bytes(data[at : at + count], "little") + (256 if count == 2 else 0)
    if size > most:
        raise malformed(f"a compressed body declares {size} bytes")
    at += count
    # The blocks: the last one must be there, and nothing may follow it but the checksum.
    plain: int | None = 0
    is_last = False
    while not is_last:
        if at + 3 > len(data):
            raise broken
        head = int.from_bytes(data[at : at + 3], "little")
        is_last, kind, length = bool(head & 1), head >> 1 & 3, head >> 3
        if kind == 3:
            raise broken
        plain = None if kind == 2 or plain is None else plain + length
        at += 3 + (1 if kind == 1 else length)
    if at + (4 if descriptor & 4 else 0) != len(data) or plain not in (None, size):
        raise broken
    return size


def unpack(data: bytes, most: int = limits.FRAME_UNPACKED_BYTES_MAX) -> bytes:
    """The content of a Zstandard frame, if its size is the declared one; MALFORMED otherwise."""
    import zstandard

    size = content_size(data, most)
    try:
        content: bytes = zstandard.ZstdDecompressor().decompress(data, max_output_size=size)
    except zstandard.ZstdError:
        raise malformed("a compressed body cannot be decompressed") from None
    if len(content) != size:
        raise malformed("a compressed body has another size than it declares")
    return content
