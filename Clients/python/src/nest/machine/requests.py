"""The requests of a client: sent while there is a connection, answered once, sent again after a lost connection."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ..errors import NestError, ProtocolError
from ..wire import limits
from ..wire.bodies import Welcome
from ..wire.messages import decode, encode
from ..wire.results import SnapshotAssembler, State
from .calls import MODEL_CHANGED, Call, call_of, refusal, unknown_outcome
from .events import Answered, Event, Failed
from .link import Link
from .models import Models
from .table import CallTable
from .transfers import Transfers, transfer_lost
from .views import SNAPSHOT_PARTS, add_part


class Requests:
    """Owns every request from the call of the program to its answer. It knows nothing of time and of subscriptions."""

    def __init__(self, emit: Callable[[Event], None], models: Models) -> None:
        self._emit = emit
        self._models = models
        self._table = CallTable()
        self.transfers = Transfers(self._table, emit)
        #: The newest WELCOME: its model and its limits. None before the first one.
        self._welcome: Welcome | None = None

    @property
    def are_done(self) -> bool:
        """Whether all requests that were sent are answered."""
        return self._table.in_flight_count == 0

    # What a program does

    def call(self, number: int, message: str, answer: str, fields: Mapping[str, Any] | None, options: Any) -> None:
        """Lets a request wait; Answered or Failed follows. Raises NestError if it cannot be encoded."""
        made = fields or {}
        call = call_of(message, answer, encode(message, made), made, **options)
        call.number = number
        error = self._models.error(call.model) or self._size_error(call)
        if error is None and self._table.is_full:
            error = NestError("LIMIT_EXCEEDED", f"{limits.CLIENT_REQUESTS_WAITING_MAX} requests are waiting")
        if error:
            self._emit(Failed(number, error))
        else:
            self._table.add(call)

    def is_waiting(self, number: int) -> bool:
        return self._table.is_waiting(number)

    def submit(self, call: Call) -> None:
        """Lets a request of the machine itself wait."""
        self._table.add(call)

    def abandon(self, number: int, link: Link) -> bool:
        """The program no longer waits for an answer. Returns whether a write was sent, which may still happen."""
        waiting = self._table.remove(number)
        if waiting:
            return waiting.may_be_executed
        found = self._table.find_in_flight(number)
        if not found:
            return False
        id, call = found
        call.is_abandoned = True
        link.send("cancel", b"", id)
        return call.is_write

    # What a connection does

    def welcomed(self, welcome: Welcome) -> None:
        """There is a connection again. What it can no longer answer fails."""
        last, self._welcome = self._welcome, welcome
        if last and last["history_id"] != welcome["history_id"]:
            why = "the connection was lost, and the store has another history now"
            for call in self._table.remove_if(lambda call: call.may_be_executed):
                self._fail(call, unknown_outcome(call, why))
        if last and last["model_hash"] != welcome["model_hash"]:
            why = "the connection was lost, and the server has another model now"
            for call in self._table.remove_if(lambda call: self._models.error(call.model) is not None):
                changed = NestError("SCHEMA_CHANGED", MODEL_CHANGED)
                self._fail(call, unknown_outcome(call, why) if call.may_be_executed else changed)

    def flush(self, link: Link) -> bool:
        """Sends what waits, while the server has free slots. Returns False if the connection has no more ids."""
        most = max(self._welcome["requests_in_flight_max"], 1) if self._welcome else 0
        while self._table.in_flight_count < most:
            if not link.has_ids:
                return False
            call = self._table.next()
            if call is None:
                break
            error = self._size_error(call)
            if error:
                self._fail(call, refusal(call, error))
            else:
                self._table.sent(link.request(call.message, call.body), call)
                if call.transfer and self._welcome:
                    self.transfers.begin(call, self._welcome["credit_bytes_initial"])
        return True

    def answer(self, name: str, id: int, body: bytes, has_more: bool) -> int | None:
        """A message with the id of a request. Returns the revision that a write has made, or None."""
        call = self._table.at(id)
        if not call and name == "credit":
            # It was on its way when the request ended.
            return None
        if not call:
            raise ProtocolError("PROTOCOL", f"the message {name} answers no request")
        if call.transfer and self.transfers.part(call, name, body):
            return None
        if name in SNAPSHOT_PARTS and call.answer == "snapshot":
            answer: Any = self._fetched(call, name, body, has_more)
            if answer is None:
                return None
        elif name == call.answer:
            answer = decode(name, body)
            if name == "model" and self._welcome:
                self._models.read(self._welcome["model_hash"], answer)
        else:
            raise ProtocolError("PROTOCOL", f"the message {name} does not answer {call.message}")
        self._table.answered(id)
        if name == "subtreeEnd" and not call.is_abandoned:
            error = self.transfers.end_error(call, answer["row_count"], answer["checksum"])
            if error:
                self._fail(call, error)
                return None
        if call.answered:
            call.answered(answer)
        elif not call.is_abandoned:
            self._emit(Answered(call.number, answer))
        is_new = name == "receipt" and answer["is_changed"] and not answer["is_replayed"]
        return int(answer["revision"]) if is_new else None

    def _fetched(self, call: Call, name: str, body: bytes, has_more: bool) -> State | None:
        fields = decode(name, body, len(call.projection))
        if name == "snapshot":
            call.assembler = SnapshotAssembler(fields, call.projection)
        if call.assembler is None:
            raise ProtocolError("PROTOCOL", "a snapshot has no beginning")
        add_part(call.assembler, name, fields)
        if has_more:
            return None
        state = call.assembler.finish()
        return state if call.has_window else replace(state, position=None)

    def refused(self, id: int, error: NestError) -> None:
        """An ERROR with the id of a request. One of a server that stops is kept for the next connection."""
        call = self._table.at(id)
        if error.name == "SHUTTING_DOWN" and not (call and call.transfer):
            self._table.put_back(id)
            return
        call = self._table.answered(id)
        if call and error.name == "SHUTTING_DOWN":
            self._fail(call, transfer_lost(call))
        elif call:
            self._fail(call, refusal(call, error))

    def not_executed(self, after: int) -> None:
        """The server has executed no request with a higher id."""
        self._lose_transfers(after)
        self._table.not_executed(after)

    def lost(self) -> None:
        self._lose_transfers()
        self._table.lost()

    def _lose_transfers(self, after: int = 0) -> None:
        """Their pieces cannot be sent again: the program begins again."""
        for call in self._table.take_transfers(after):
            self._fail(call, transfer_lost(call))

    def end(self, error: NestError) -> None:
        """The client ends: everything fails."""
        for call in self._table.take_transfers():
            self._fail(call, copy.copy(error))
        self._table.lost()
        for call in self._table.remove_if(lambda call: True):
            # Each program that waits gets an exception of its own, with its own traceback.
            self._fail(call, unknown_outcome(call, error.text) if call.may_be_executed else copy.copy(error))

    # What is wrong with a request

    def _size_error(self, call: Call) -> NestError | None:
        most = self._welcome["frame_bytes_max"] if self._welcome else limits.FRAME_BYTES_MAX
        if len(call.body) <= most:
            return None
        text = f"the request has {len(call.body)} bytes, but the server accepts at most {most}: split it"
        return NestError("FRAME_TOO_LARGE", text)

    def _fail(self, call: Call, error: NestError) -> None:
        if call.refused:
            call.refused(error)
        elif not call.is_own and not call.is_abandoned:
            self._emit(Failed(call.number, error))
