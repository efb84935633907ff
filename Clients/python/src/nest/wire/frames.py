"""Prefaces and frames (protocol.md, sections 4 and 5)."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import NestError, ProtocolError
from . import limits
from .messages import COMPRESSIBLE

VERSION = 1
PREFACE = b"NEST" + bytes((VERSION, VERSION, 0, 0))
PREFACE_BYTES = 8
MORE = 1
COMPRESSED = 2
_HEADER_BYTES = 12


@dataclass(frozen=True, slots=True)
class Frame:
    type: int
    flags: int
    id: int
    body: bytes


def read_preface(data: bytes) -> tuple[int, int, int] | None:
    """The version chosen (0: none in common), and the highest and lowest of the server; None while bytes are missing.

    Raises ProtocolError at the first byte that is not of "NEST".
    """
    if not PREFACE.startswith(data[:4]):
        raise ProtocolError("PROTOCOL", "what answers does not speak the protocol of nest")
    return (data[4], data[5], data[6]) if len(data) >= PREFACE_BYTES else None


def encode_frame(type: int, flags: int, id: int, body: bytes, most: int = limits.FRAME_BYTES_MAX) -> bytes:
    if len(body) > most:
        raise NestError("FRAME_TOO_LARGE", f"a message of {len(body)} bytes is above the limit of {most}")
    return len(body).to_bytes(4, "big") + bytes((type, flags, 0, 0)) + id.to_bytes(4, "big") + body


class FrameDecoder:
    """Cuts received bytes into frames, however the transport has cut them."""

    __slots__ = ("limit", "allows_compression", "_buffer", "_at")

    def __init__(self, limit: int = limits.FRAME_BYTES_BEFORE_WELCOME_MAX) -> None:
        #: The largest body that is accepted: 4,096 bytes until WELCOME.
        self.limit = limit
        #: Whether feature bit 4 is in force.
        self.allows_compression = False
        self._buffer = bytearray()
        self._at = 0

    @property
    def waiting(self) -> int:
        """How many bytes wait for the rest of their frame."""
        return len(self._buffer) - self._at

    def push(self, data: bytes) -> None:
        if self._at:
            del self._buffer[: self._at]
            self._at = 0
        self._buffer += data

    def next(self) -> Frame | None:
        """The next whole frame, or None. The type of a frame from 80 on may be unknown: skip it."""
        if self.waiting < _HEADER_BYTES:
            return None
        at = self._at
        header = self._buffer[at : at + _HEADER_BYTES]
        length = int.from_bytes(header[:4], "big")
        type, flags = header[4], header[5]
        if length > self.limit:
            raise ProtocolError("FRAME_TOO_LARGE", f"a frame of {length} bytes is above the limit of {self.limit}")
        if header[6] or header[7]:
            raise ProtocolError("PROTOCOL", "the reserved bytes of a frame are not 0")
        known = MORE | COMPRESSED if self.allows_compression and type in COMPRESSIBLE else MORE
        if flags & 15 & ~known:
            raise ProtocolError("UNSUPPORTED_FLAG", f"the flags {flags} of a frame are not known")
        if self.waiting < _HEADER_BYTES + length:
            return None
        self._at = at + _HEADER_BYTES + length
        body = bytes(self._buffer[at + _HEADER_BYTES : self._at])
        return Frame(type, flags, int.from_bytes(header[8:], "big"), body)
