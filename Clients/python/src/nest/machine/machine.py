"""The machine: one client across all its connections.

The driver moves bytes and time. It connects when `wants_connection` is true, sends `take_output()`, closes the
connection when `wants_close` is true, calls `time` at `deadline`, and handles `take_events()` after every call.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from ..errors import NestError, ProtocolError
from ..wire import limits
from ..wire.codec import Fields
from ..wire.frames import MORE, Frame
from ..wire.messages import NAMES, decode, encode, error_of
from ..wire.results import SnapshotAssembler, State
from .alive import Health, KeepAlive
from .backoff import Backoff
from .calls import MODEL_CHANGED, Call, CallTable, refusal, unknown_outcome
from .events import Answered, Closed, Ended, Event, Failed, Lost, Ready
from .link import Link
from .subscriptions import FEATURE_RESUME, Subscriptions
from .views import SNAPSHOT_PARTS, add_part

FEATURE_UNDO = 1 << 2
FEATURE_COMPRESSION = 1 << 4
#: The codes with which a server refuses a token: the client must not connect again with it.
_TOKEN_CODES = ("UNAUTHENTICATED", "TOKEN_EXPIRED")
_EARLY = ("welcome", "error", "goAway")


class Phase(Enum):
    CONNECTING = "connecting"
    HANDSHAKING = "handshaking"
    READY = "ready"
    #: After GOAWAY: nothing new is sent, what is in flight is still answered.
    LEAVING = "leaving"
    BACKING_OFF = "backing off"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Options:
    #: 128 secret random bits that own the undo stack.
    session: bytes
    client_name: str = "nest-client python"
    user: str = ""
    token: tuple[int, bytes] | None = None
    #: Whether the client can decompress frames.
    unpacks: bool = False


class Machine:
    """The state of a client. It begins with `wants_connection`."""

    def __init__(self, options: Options, random: Callable[[], float]) -> None:
        self.phase = Phase.CONNECTING
        #: The fields of the newest WELCOME.
        self.welcome: Fields | None = None
        #: Why the client has ended.
        self.error: NestError | None = None
        self.wants_close = False
        self._options = options
        self.random = random
        self._backoff = Backoff(random)
        self._link = Link()
        self._calls = CallTable()
        self._subscriptions = Subscriptions(self)
        self._events: list[Event] = []
        self._next_number = 1
        self.now = 0.0
        self._close_reason: NestError | None = None
        self._retry_after = 0.0
        self._ready_since: float | None = None
        # Deadlines
        self._handshake_at: float | None = None
        self._connect_at: float | None = None
        self._alive: KeepAlive | None = None

    # What the driver does

    @property
    def wants_connection(self) -> bool:
        return self.phase is Phase.CONNECTING

    @property
    def deadline(self) -> float | None:
        """When `time` must be called, if nothing else happens before."""
        times = [self._handshake_at, self._connect_at]
        if self.phase in (Phase.READY, Phase.LEAVING) and not self.wants_close:
            times.append(self._alive.deadline if self._alive else None)
            times.append(self._subscriptions.retry_at)
        return min((time for time in times if time is not None), default=None)

    def take_events(self) -> list[Event]:
        events, self._events = self._events, []
        return events

    def take_output(self) -> bytes:
        return self._link.take_output()

    def opened(self, now: float) -> None:
        """There is a connection: the client sends its preface and HELLO."""
        self.now = now
        self._link = Link()
        self._alive = None
        self.phase = Phase.HANDSHAKING
        self._handshake_at = now + limits.HANDSHAKE_SECONDS
        options = self._options
        token = options.token and {"number": options.token[0], "secret": options.token[1]}
        features = FEATURE_RESUME | FEATURE_UNDO | (FEATURE_COMPRESSION if options.unpacks else 0)
        self._link.send_fields(
            "hello",
            client_name=options.client_name,
            features=features,
            session=options.session,
            token=token,
            user=options.user,
        )

    def received(self, data: bytes, now: float) -> None:
        """Handles received bytes, however they were cut. Wrong bytes end the connection, never the client."""
        self.now = now
        if self._alive:
            self._alive.received(now)
        if self.wants_close or self.phase is Phase.CLOSED:
            return
        try:
            self._link.push(data)
            while not self.wants_close and (frame := self._link.next()):
                self._frame(frame)
        except ProtocolError as error:
            if error.name == "VERSION_MISMATCH":
                self._give_up(error)
            else:
                self.close_connection(error)
        self._flush()

    def closed(self, now: float, why: str = "the server closed the connection") -> None:
        """The connection has ended, or could not be made."""
        self.now = now
        self.wants_close = False
        self._handshake_at = None
        if self.phase is Phase.CLOSED:
            return
        was_ready = self._ready_since is not None
        name = "CONNECTION_LOST" if was_ready else "UNREACHABLE"
        error, self._close_reason = self._close_reason or NestError(name, why), None
        if self.welcome is None:
            # A client that was never connected does not go on in the background.
            self._give_up(error)
            return
        is_healthy = was_ready and self._backoff.lived(now - (self._ready_since or 0.0))
        pause = max(0.0 if is_healthy else self._backoff.next(), self._retry_after, error.retry_after)
        self._retry_after = 0.0
        self._ready_since = None
        self.phase = Phase.BACKING_OFF
        self._connect_at = now + pause
        self._calls.lost()
        self._subscriptions.lost(error)
        self._events.append(Lost(error, pause))

    def time(self, now: float) -> None:
        """Handles the deadlines that have passed."""
        self.now = now
        if self._connect_at is not None and now >= self._connect_at:
            self._connect_at = None
            self.phase = Phase.CONNECTING
        if self._handshake_at is not None and now >= self._handshake_at:
            self._handshake_at = None
            self.close_connection(NestError("TIMED_OUT", "the server does not answer HELLO"))
        if self.phase in (Phase.READY, Phase.LEAVING) and not self.wants_close:
            health = self._alive.check(now) if self._alive else Health.FINE
            if health is Health.SILENT:
                self._link.send_fields("ping", payload=bytes(8))
            elif health is Health.DEAD:
                self.close_connection(NestError("TIMED_OUT", "the server does not respond"))
            self._subscriptions.time(now)
        self._flush()

    # What a program does

    def call(
        self,
        message: str,
        answer: str,
        fields: Fields | None = None,
        *,
        model: int | None = None,
        is_write: bool = False,
        projection: tuple[int, ...] = (),
        has_window: bool = False,
    ) -> int:
        """Sends a request; Answered or Failed with the number that it returns follows."""
        number = self._take_number()
        body = encode(message, fields)
        call = Call(number, message, body, answer, is_write, model, projection, has_window)
        error = self.error or self._model_error(model) or self._size_error(call)
        if error is None and self._calls.is_full:
            error = NestError("LIMIT_EXCEEDED", f"{limits.CLIENT_REQUESTS_WAITING_MAX} requests are waiting")
        if error:
            self._events.append(Failed(number, error))
        else:
            self._calls.waiting.append(call)
            self._flush()
        return number

    def abandon(self, number: int) -> None:
        """The program no longer waits for the answer of a call. A write that was sent may still happen."""
        found = self._calls.find(number)
        if not found:
            return
        id, call = found
        if id is None:
            self._calls.waiting.remove(call)
        else:
            call.number = None
            self._link.send("cancel", b"", id)

    def subscribe(self, request: Fields, model: int | None = None) -> int:
        """Follows a result: events with the number that it returns follow until Ended."""
        number = self._take_number()
        error = self.error or self._model_error(model)
        if error:
            self._events.append(Ended(number, error))
        else:
            self._subscriptions.open(number, request, model)
            self._flush()
        return number

    def unsubscribe(self, number: int) -> None:
        self._subscriptions.close(number)
        self._flush()

    def shut(self) -> None:
        """Ends the client for good."""
        self._end(NestError("CLOSED", "the client is closed"), None)

    # What subscriptions use

    @property
    def is_ready(self) -> bool:
        return self.phase is Phase.READY

    def submit(self, call: Call) -> None:
        """Lets a request of the machine itself wait; the next flush sends it."""
        self._calls.waiting.append(call)

    def emit(self, event: Event) -> None:
        self._events.append(event)

    def close_connection(self, error: NestError) -> None:
        """Asks the driver to close the connection; `closed` follows."""
        self._close_reason = self._close_reason or error
        self.wants_close = True

    # The connection

    def _frame(self, frame: Frame) -> None:
        name = NAMES.get(frame.type)
        if name is None:
            if frame.type < 0x80:
                raise ProtocolError("UNSUPPORTED_MESSAGE", f"the message {frame.type:02x} is not known")
            return
        if self.phase is Phase.HANDSHAKING and name not in _EARLY:
            raise ProtocolError("PROTOCOL", f"the message {name} comes before WELCOME")
        has_more = bool(frame.flags & MORE)
        match name:
            case "welcome":
                self._welcomed(decode(name, frame.body))
            case "error":
                self._error(error_of(decode(name, frame.body)), frame.id)
            case "goAway":
                self._go_away(decode(name, frame.body))
            case "ping":
                self._link.send("pong", encode("pong", decode(name, frame.body)))
            case "pong" | "authors" | "presence":
                decode(name, frame.body)
            case "own":
                self._subscriptions.remember_own(decode(name, frame.body)["revisions"])
            case "progress":
                self._subscriptions.progress(decode(name, frame.body)["revision"])
            case _ if frame.id >= limits.VIEW_ID_MIN:
                self._subscriptions.frame(name, frame.id, frame.body, has_more)
            case _:
                self._answer(name, frame.id, frame.body, has_more)

    def _welcomed(self, welcome: Fields) -> None:
        if self.phase is not Phase.HANDSHAKING:
            raise ProtocolError("PROTOCOL", "WELCOME comes in the middle of a connection")
        last, self.welcome = self.welcome, welcome
        self.phase = Phase.READY
        self._handshake_at = None
        self._ready_since = self.now
        self._alive = KeepAlive(self.now, welcome["ping_interval_milliseconds"] / 1000)
        is_compressed = self._options.unpacks and bool(welcome["features"] & FEATURE_COMPRESSION)
        self._link.welcomed(welcome["frame_bytes_max"], is_compressed)
        self._events.append(Ready(welcome))
        if last and last["history_id"] != welcome["history_id"]:
            for call in self._calls.remove_if(lambda call: call.may_be_executed):
                self._fail(call, unknown_outcome("the connection was lost, and the store has another history now"))
        if last and last["model_hash"] != welcome["model_hash"]:
            self._model_changed()
        # Subscriptions come first: what a write that waits changes then comes as a diff.
        waiting, self._calls.waiting = self._calls.waiting, deque()
        for one in self._subscriptions:
            self._subscriptions.begin(one)
        self._calls.waiting += waiting
        self._flush()

    def _model_changed(self) -> None:
        for call in self._calls.remove_if(lambda call: self._model_error(call.model) is not None):
            lost = unknown_outcome("the connection was lost, and the server has another model now")
            self._fail(call, lost if call.may_be_executed else NestError("SCHEMA_CHANGED", MODEL_CHANGED))
        for one in self._subscriptions:
            error = self._model_error(one.model)
            if error:
                self._subscriptions.end(one, error)

    def _model_error(self, model: int | None) -> NestError | None:
        if model is None or not self.welcome or self.welcome["model_hash"] == model:
            return None
        return NestError("SCHEMA_CHANGED", MODEL_CHANGED)

    def _size_error(self, call: Call) -> NestError | None:
        most = self.welcome["frame_bytes_max"] if self.welcome else limits.FRAME_BYTES_MAX
        if len(call.body) <= most:
            return None
        text = f"the request has {len(call.body)} bytes, but the server accepts at most {most}: split it"
        return NestError("FRAME_TOO_LARGE", text)

    def _error(self, error: NestError, id: int) -> None:
        if id == 0:
            if error.name in _TOKEN_CODES:
                self._give_up(error)
            else:
                self.close_connection(error)
            return
        call = self._calls.in_flight.pop(id, None)
        if not call:
            return
        if error.name == "SHUTTING_DOWN" and call.number is not None:
            # The server stops: the next connection gets the request.
            self._calls.put_back([call])
            self.phase = Phase.LEAVING
        else:
            self._fail(call, refusal(call, error))

    def _go_away(self, fields: Fields) -> None:
        text = f"the server closes the connection: {fields['message'] or fields['code']}"
        error = NestError(fields["code"], text)
        if error.name in _TOKEN_CODES:
            self._give_up(error)
            return
        self._close_reason = error
        self._retry_after = fields["retry_after"] / 1000
        self._calls.not_executed(fields["last_request_id"])
        self.phase = Phase.LEAVING
        self._leave_if_done()

    def _leave_if_done(self) -> None:
        if self.phase is Phase.LEAVING and not self._calls.in_flight:
            self.close_connection(self._close_reason or NestError("SHUTTING_DOWN", "the server stops"))

    def _give_up(self, error: NestError) -> None:
        self._end(error, error)

    def _end(self, error: NestError, shown: NestError | None) -> None:
        if self.phase is Phase.CLOSED:
            return
        self.phase = Phase.CLOSED
        self.error = error
        self.wants_close = True
        self._handshake_at = self._connect_at = None
        for one in self._subscriptions:
            one.pending = None
        for call in list(self._calls):
            self._fail(call, unknown_outcome(error.text) if call.is_write and self._was_sent(call) else error)
        self._calls = CallTable()
        for one in self._subscriptions:
            self._subscriptions.end(one, shown)
        self._events.append(Closed(shown))

    def _was_sent(self, call: Call) -> bool:
        return call.may_be_executed or call in self._calls.in_flight.values()

    # Calls

    def _take_number(self) -> int:
        self._next_number += 1
        return self._next_number - 1

    def _flush(self) -> None:
        """Sends what waits, while the server has free slots."""
        if self.wants_close:
            return
        while self.phase is Phase.READY and self.welcome and self._calls.waiting:
            if len(self._calls.in_flight) >= max(self.welcome["requests_in_flight_max"], 1):
                break
            if not self._link.has_ids:
                # The next connection begins with the first id again.
                self._close_reason = NestError("CONNECTION_LOST", "all request ids are used")
                self.phase = Phase.LEAVING
                break
            call = self._calls.waiting.popleft()
            error = self._size_error(call)
            if error:
                self._fail(call, refusal(call, error))
            else:
                self._calls.in_flight[self._link.request(call.message, call.body)] = call
        self._leave_if_done()

    def _fail(self, call: Call, error: NestError) -> None:
        if call.refused:
            call.refused(error)
        elif call.number is not None:
            self._events.append(Failed(call.number, error))

    def _answer(self, name: str, id: int, body: bytes, has_more: bool) -> None:
        call = self._calls.in_flight.get(id)
        if not call:
            raise ProtocolError("PROTOCOL", f"the message {name} answers no request")
        if name in SNAPSHOT_PARTS and call.answer == "snapshot":
            state = self._fetched(call, name, body, has_more)
            if state is None:
                return
            answer: Any = state
        elif name == call.answer:
            answer = decode(name, body)
        else:
            raise ProtocolError("PROTOCOL", f"the message {name} does not answer {call.message}")
        del self._calls.in_flight[id]
        if name == "receipt" and answer["is_changed"] and not answer["is_replayed"]:
            self._subscriptions.remember_own([answer["revision"]])
        if call.answered:
            call.answered(answer)
        elif call.number is not None:
            self._events.append(Answered(call.number, answer))

    def _fetched(self, call: Call, name: str, body: bytes, has_more: bool) -> State | None:
        fields = decode(name, body, len(call.projection))
        if name == "snapshot":
            call.assembler = SnapshotAssembler(fields, call.projection)
        if call.assembler is None:
            raise ProtocolError("PROTOCOL", "a snapshot has no beginning")
        add_part(call.assembler, name, fields)
        if has_more:
            return None
        try:
            state = call.assembler.finish()
        finally:
            call.assembler = None
        return state if call.has_window else replace(state, position=None)
