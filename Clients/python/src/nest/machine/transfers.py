"""Large values: requests with a stream of pieces (protocol.md, section 13), for which the receiver grants credit."""

from __future__ import annotations

from collections.abc import Callable

from ..errors import NestError, ProtocolError
from ..wire.hash import FNV_START, fnv1a
from ..wire.messages import decode, encode
from .calls import Call
from .events import Event, Granted, PieceCame, ValueBegan
from .link import Link
from .table import CallTable

#: What a receiver has taken is granted again in steps of this part of the initial credit.
_GRANT_PARTS = 4


def transfer_lost(call: Call) -> NestError:
    """The error of a transfer whose connection was lost, or whose server stops: it is not sent again by itself."""
    if call.transfer == "upload":
        return NestError("CONNECTION_LOST", "the connection was lost before the value was stored: send it again")
    return NestError("CONNECTION_LOST", "the connection was lost before the whole value had arrived")


class Transfers:
    """The pieces of the uploads and downloads among the requests in flight."""

    def __init__(self, table: CallTable, emit: Callable[[Event], None]) -> None:
        self._table = table
        self._emit = emit
        self._initial_credit = 0

    def begin(self, call: Call, credit: int) -> None:
        """The request was sent on a connection with this initial credit, for both directions."""
        self._initial_credit = credit
        call.credit = credit
        if call.transfer == "upload":
            self._emit(Granted(call.number, credit))

    # What arrives

    def part(self, call: Call, name: str, body: bytes) -> bool:
        """Handles a message before the last one of a transfer. Returns False if it is the last one."""
        if name == "credit" and call.transfer == "upload":
            count = decode("credit", body)["bytes"]
            call.credit += count
            if not call.is_abandoned:
                self._emit(Granted(call.number, count))
        elif name == "value" and call.transfer == "download":
            if not call.is_abandoned:
                self._emit(ValueBegan(call.number, decode("value", body)))
        elif name == "subtreeChunk" and call.transfer == "download":
            self._piece(call, body)
        else:
            return False
        return True

    def _piece(self, call: Call, body: bytes) -> None:
        call.credit -= len(body)
        if call.credit < 0:
            raise ProtocolError("FLOW_CONTROL", "the server sends more than it was granted")
        if body[:1] != b"\0":
            raise ProtocolError("UNSUPPORTED", "a piece is compressed, which the client has not asked for")
        if call.is_abandoned:
            return
        call.count += len(body) - 1
        if call.checksum is not None:
            call.checksum = fnv1a(body, call.checksum)
        self._emit(PieceCame(call.number, body[1:]))

    def end_error(self, call: Call, rows: int, checksum: int) -> NestError | None:
        """What is wrong with a download that has ended."""
        if rows == call.count and call.checksum in (None, checksum):
            return None
        return NestError("CHECKSUM", "the value was damaged on the way: read it again")

    # What a program does

    def send(self, number: int, piece: bytes, link: Link) -> bool:
        """Sends a piece of an upload. Returns False if the request is over: Failed says why."""
        found = self._table.find_in_flight(number)
        if not found:
            return False
        id, call = found
        body = b"\0" + piece
        call.credit -= len(body)
        if call.credit < 0:
            raise NestError("FLOW_CONTROL", "an upload sends more than it was granted")
        call.count += len(piece)
        call.checksum = fnv1a(body, FNV_START if call.checksum is None else call.checksum)
        link.send("subtreeChunk", body, id)
        return True

    def end(self, number: int, link: Link) -> None:
        """Ends an upload; the answer follows."""
        found = self._table.find_in_flight(number)
        if found:
            id, call = found
            checksum = FNV_START if call.checksum is None else call.checksum
            link.send("subtreeEnd", encode("subtreeEnd", {"row_count": call.count, "checksum": checksum}), id)

    def taken(self, number: int, count: int, link: Link) -> None:
        """The program has taken so many bytes of pieces: lets the server send more."""
        found = self._table.find_in_flight(number)
        if not found:
            return
        id, call = found
        # Each piece has a byte more, for its packing.
        call.taken += count + 1
        if call.taken >= self._initial_credit // _GRANT_PARTS:
            link.send("credit", encode("credit", {"bytes": call.taken}), id)
            call.credit += call.taken
            call.taken = 0
