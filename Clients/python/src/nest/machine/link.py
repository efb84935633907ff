"""The bytes of one connection: prefaces, frames in and out, request ids."""

from __future__ import annotations

from ..errors import ProtocolError
from ..wire import compression, frames, limits
from ..wire.frames import Frame, FrameDecoder
from ..wire.messages import MESSAGES, encode


class Link:
    """One connection. It ends when the bytes of the server are wrong: every later byte is ignored."""

    __slots__ = ("_decoder", "_preface", "_has_preface", "_output", "_next_id", "_most")

    def __init__(self) -> None:
        self._decoder = FrameDecoder()
        self._preface = b""
        self._has_preface = False
        self._output = bytearray(frames.PREFACE)
        self._next_id = 1
        #: The largest body that the server accepts.
        self._most = limits.FRAME_BYTES_MAX

    @property
    def has_ids(self) -> bool:
        return self._next_id <= limits.REQUEST_ID_MAX

    def welcomed(self, frame_bytes_max: int, is_compressed: bool) -> None:
        """The limits of WELCOME. What fits into a frame before WELCOME always fits."""
        self._most = max(frame_bytes_max, limits.FRAME_BYTES_BEFORE_WELCOME_MAX)
        self._decoder.limit = max(frame_bytes_max, limits.FRAME_BYTES_MAX)
        self._decoder.allows_compression = is_compressed

    def push(self, data: bytes) -> None:
        """Adds received bytes. Raises ProtocolError if they begin with another preface, or one without our version."""
        if not self._has_preface:
            self._preface += data
            chosen = frames.read_preface(self._preface)
            if chosen is None:
                return
            version, highest, lowest = chosen
            if version != frames.VERSION:
                raise ProtocolError("VERSION_MISMATCH", f"the server speaks the versions {lowest} to {highest}, not 1")
            self._has_preface = True
            data = self._preface[frames.PREFACE_BYTES :]
        self._decoder.push(data)

    def next(self) -> Frame | None:
        """The next whole frame with its body decompressed, or None."""
        if not self._has_preface:
            return None
        frame = self._decoder.next()
        if frame and frame.flags & frames.COMPRESSED:
            body = compression.unpack(frame.body)
            return Frame(frame.type, frame.flags & ~frames.COMPRESSED, frame.id, body)
        return frame

    def send(self, name: str, body: bytes, id: int = 0) -> None:
        self._output += frames.encode_frame(MESSAGES[name][0], 0, id, body, self._most)

    def send_fields(self, name: str, **fields: object) -> None:
        self.send(name, encode(name, fields))

    def request(self, name: str, body: bytes) -> int:
        """Sends a request; returns its id, which is larger than all before."""
        id = self._next_id
        self.send(name, body, id)
        self._next_id += 1
        return id

    def take_output(self) -> bytes:
        output = bytes(self._output)
        self._output.clear()
        return output
