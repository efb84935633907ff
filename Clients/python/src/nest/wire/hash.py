"""FNV-1a and the digest of a state (protocol.md, section 12)."""

from __future__ import annotations

from collections.abc import Iterable

_MASK = (1 << 64) - 1
_M = (1 << 61) - 1
_B = 0x0C9B1D3F5A276E85
FNV_START = 0xCBF29CE484222325


def fnv1a(data: bytes, start: int = FNV_START) -> int:
    h = start
    for byte in data:
        h = (h ^ byte) * 0x100000001B3 & _MASK
    return h


def row_hash(section: int, object: int) -> int:
    """The hash of a row: `section` is the hash of its section's key."""
    z = section ^ (object * 0x9E3779B97F4A7C15 & _MASK)
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & _MASK
    return (z ^ z >> 31) % (_M - 1) + 1


def digest(sections: Iterable[tuple[int, Iterable[int]]]) -> int:
    """The digest of sections: the hash of each key, and the ids of its rows. O(n)."""
    result = 0
    for section, ids in sections:
        for id in ids:
            result = (result * _B + row_hash(section, id)) % _M
    return result
