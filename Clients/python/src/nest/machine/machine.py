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
from ..wire.results import DiffMismatch, SnapshotAssembler, State
from .backoff import Backoff
from .calls import MODEL_CHANGED, Call, CallTable, refusal, unknown_outcome
from .events import (
    Answered,
    Changed,
    Closed,
    Ended,
    Event,
    Failed,
    Interrupted,
    Lost,
    PositionChanged,
    Ready,
    Replaced,
    Resumed,
)
from .link import Link
from .views import Subscription, View, add_part

FEATURE_RESUME = 1 << 1
FEATURE_UNDO = 1 << 2
FEATURE_COMPRESSION = 1 << 4
#: The codes with which a server refuses a token: the client must not connect again with it.
_TOKEN_CODES = ("UNAUTHENTICATED", "TOKEN_EXPIRED")
_SNAPSHOT_PARTS = ("snapshot", "snapshotSections", "snapshotRows")
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
        self._random = random
        self._backoff = Backoff(random)
        self._link = Link()
        self._calls = CallTable()
        self._subscriptions: dict[int, Subscription] = {}
        self._views: dict[int, View] = {}
        self._events: list[Event] = []
        self._own: list[int] = []
        self._next_number = 1
        self._now = 0.0
        self._close_reason: NestError | None = None
        self._retry_after = 0.0
        self._ready_since: float | None = None
        # Deadlines
        self._handshake_at: float | None = None
        self._connect_at: float | None = None
        self._last_received = 0.0
        self._pinged_at: float | None = None

    # What the driver does

    @property
    def wants_connection(self) -> bool:
        return self.phase is Phase.CONNECTING

    @property
    def deadline(self) -> float | None:
        """When `time` must be called, if nothing else happens before."""
        times = [self._handshake_at, self._connect_at]
        if self.phase in (Phase.READY, Phase.LEAVING) and not self.wants_close:
            times.append(self._alive_at)
            times += [one.retry_at for one in self._subscriptions.values()]
        return min((time for time in times if time is not None), default=None)

    def take_events(self) -> list[Event]:
        events, self._events = self._events, []
        return events

    def take_output(self) -> bytes:
        return self._link.take_output()

    def opened(self, now: float) -> None:
        """There is a connection: the client sends its preface and HELLO."""
        self._now = now
        self._link = Link()
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
        self._now = now
        self._last_received = now
        self._pinged_at = None
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
                self._close_connection(error)
        self._flush()

    def closed(self, now: float, why: str = "the server closed the connection") -> None:
        """The connection has ended, or could not be made."""
        self._now = now
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
        self._own.clear()
        self._views.clear()
        for one in self._subscriptions.values():
            self._interrupt(one, error)
        self._events.append(Lost(error, pause))

    def time(self, now: float) -> None:
        """Handles the deadlines that have passed."""
        self._now = now
        if self._connect_at is not None and now >= self._connect_at:
            self._connect_at = None
            self.phase = Phase.CONNECTING
        if self._handshake_at is not None and now >= self._handshake_at:
            self._handshake_at = None
            self._close_connection(NestError("TIMED_OUT", "the server does not answer HELLO"))
        if self.phase in (Phase.READY, Phase.LEAVING) and not self.wants_close:
            self._check_alive()
            for one in list(self._subscriptions.values()):
                if one.retry_at is not None and now >= one.retry_at:
                    self._begin(one)
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
        one = Subscription(number, request, model)
        error = self.error or self._model_error(model)
        if error:
            self._events.append(Ended(number, error))
        else:
            self._subscriptions[number] = one
            self._begin(one)
            self._flush()
        return number

    def unsubscribe(self, number: int) -> None:
        one = self._subscriptions.pop(number, None)
        if one:
            self._leave(one)
            self._events.append(Ended(number, None))
            self._flush()

    def shut(self) -> None:
        """Ends the client for good."""
        self._end(NestError("CLOSED", "the client is closed"), None)

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
                self._remember_own(decode(name, frame.body)["revisions"])
            case "progress":
                revision = decode(name, frame.body)["revision"]
                for view in self._views.values():
                    view.progress(revision)
            case _ if frame.id >= limits.VIEW_ID_MIN:
                self._view_frame(name, frame.id, frame.body, has_more)
            case _:
                self._answer(name, frame.id, frame.body, has_more)

    def _welcomed(self, welcome: Fields) -> None:
        if self.phase is not Phase.HANDSHAKING:
            raise ProtocolError("PROTOCOL", "WELCOME comes in the middle of a connection")
        last, self.welcome = self.welcome, welcome
        self.phase = Phase.READY
        self._handshake_at = None
        self._ready_since = self._now
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
        for one in list(self._subscriptions.values()):
            self._begin(one)
        self._calls.waiting += waiting
        self._flush()

    def _model_changed(self) -> None:
        for call in self._calls.remove_if(lambda call: self._model_error(call.model) is not None):
            lost = unknown_outcome("the connection was lost, and the server has another model now")
            self._fail(call, lost if call.may_be_executed else NestError("SCHEMA_CHANGED", MODEL_CHANGED))
        for one in list(self._subscriptions.values()):
            error = self._model_error(one.model)
            if error:
                self._end_subscription(one, error)

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
                self._close_connection(error)
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
            self._close_connection(self._close_reason or NestError("SHUTTING_DOWN", "the server stops"))

    def _close_connection(self, error: NestError) -> None:
        """Asks the driver to close the connection; `closed` follows."""
        self._close_reason = self._close_reason or error
        self.wants_close = True

    def _give_up(self, error: NestError) -> None:
        self._end(error, error)

    def _end(self, error: NestError, shown: NestError | None) -> None:
        if self.phase is Phase.CLOSED:
            return
        self.phase = Phase.CLOSED
        self.error = error
        self.wants_close = True
        self._handshake_at = self._connect_at = None
        for one in self._subscriptions.values():
            one.pending = None
        for call in list(self._calls):
            self._fail(call, unknown_outcome(error.text) if call.is_write and self._was_sent(call) else error)
        self._calls = CallTable()
        for one in list(self._subscriptions.values()):
            self._end_subscription(one, shown)
        self._events.append(Closed(shown))

    def _was_sent(self, call: Call) -> bool:
        return call.may_be_executed or call in self._calls.in_flight.values()

    # Signs of life

    @property
    def _interval(self) -> float:
        milliseconds: int = self.welcome["ping_interval_milliseconds"] if self.welcome else 20_000
        return max(milliseconds / 1000, limits.PING_INTERVAL_SECONDS_MIN)

    @property
    def _alive_at(self) -> float:
        if self._pinged_at is None:
            return self._last_received + self._interval
        return self._pinged_at + limits.PING_TIMEOUT_SECONDS

    def _check_alive(self) -> None:
        if self._now < self._alive_at:
            return
        if self._pinged_at is not None:
            self._close_connection(NestError("TIMED_OUT", "the server does not respond"))
        else:
            self._pinged_at = self._now
            self._link.send_fields("ping", payload=bytes(8))

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
        if name in _SNAPSHOT_PARTS and call.answer == "snapshot":
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
            self._remember_own([answer["revision"]])
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

    def _remember_own(self, revisions: list[int]) -> None:
        self._own += [revision for revision in revisions if revision not in self._own]
        del self._own[: -limits.OWN_REVISIONS_MAX]

    # Subscriptions

    def _begin(self, one: Subscription) -> None:
        """Subscribes, if there is a connection."""
        one.retry_at = None
        if self.phase is not Phase.READY or not self.welcome or one.view or one.pending:
            return
        resume = None
        if one.held and one.history and self.welcome["features"] & FEATURE_RESUME:
            resume = {"history_id": one.history, "revision": one.held.revision}
        request = one.request
        position = one.held.position if one.held else None
        if request.get("around") and position and position.anchor:
            request = {**request, "around": {**request["around"], "anchor": position.anchor}}
        body = encode("subscribe", {"resume": resume, "at_least": 0, "request": request})
        call = Call(None, "subscribe", body, "subscribed", model=one.model)
        call.answered = lambda fields: self._subscribed(one, call, fields)
        call.refused = lambda error: self._not_subscribed(one, call, error)
        one.pending = call
        self._calls.waiting.append(call)

    def _subscribed(self, one: Subscription, call: Call, fields: Fields) -> None:
        id, first = fields["view"], fields["first"]
        # Otherwise the program has ended it meanwhile: it leaves the view again.
        is_wanted = one.pending is call
        one.pending = None if is_wanted else one.pending
        if first == "alreadySubscribed":
            self._join(one, id, is_wanted)
            return
        view = self._views[id] = View(id, tuple(fields["projection"]), one.has_window)
        if first != "snapshot":
            if one.held is None:
                raise ProtocolError("PROTOCOL", "a difference comes for a subscription without a state")
            view.state = one.held
            if first == "current":
                view.progress(fields["revision"])
        if not is_wanted:
            self._unsubscribe(view)
            return
        self._enter(one, view)
        if view.state:
            self._resumed(one, view.state)

    def _join(self, one: Subscription, id: int, is_wanted: bool) -> None:
        """Enters a view of another subscription, whose frames serve both."""
        view = self._views.get(id)
        if view is None:
            raise ProtocolError("PROTOCOL", "a subscription has a view that the connection does not have")
        if not is_wanted:
            self._unsubscribe(view)
            return
        if view.is_broken:
            # The state was found to be wrong in the meantime: the next connection begins without it.
            one.held = None
            self._close_connection(NestError("PROTOCOL", "a diff did not fit"))
            return
        held = one.held
        self._enter(one, view)
        if view.state is None:
            return
        if held and held.sections == view.state.sections:
            self._resumed(one, view.state)
        else:
            one.is_interrupted = False
            self._events.append(Replaced(one.number, view.state, "first"))

    def _enter(self, one: Subscription, view: View) -> None:
        one.view = view
        view.subscriptions.append(one)

    def _resumed(self, one: Subscription, state: State) -> None:
        if one.is_interrupted:
            one.is_interrupted = False
            self._events.append(Resumed(one.number, state))

    def _not_subscribed(self, one: Subscription, call: Call, error: NestError) -> None:
        if one.pending is not call:
            return
        one.pending = None
        if one.held and error.retry in (1, 2, 4):
            pause = limits.SUBSCRIBE_AGAIN_SECONDS_MAX * (1 + self._random()) / 2
            one.retry_at = self._now + max(pause, error.retry_after)
        else:
            self._end_subscription(one, error)

    def _view_frame(self, name: str, id: int, body: bytes, has_more: bool) -> None:
        view = self._views.get(id)
        if view is None or view.is_broken:
            # A frame of a view that the client has left.
            return
        try:
            if name in _SNAPSHOT_PARTS:
                state = view.snapshot(name, body, has_more)
                if state:
                    for one in view.subscriptions:
                        one.is_interrupted = False
                        self._events.append(Replaced(one.number, state, view.reason))
            elif name == "diff":
                before, diff = view.diff(body)
                assert view.state
                own = tuple(r for r in self._own if before.revision < r <= view.state.revision)
                for one in view.subscriptions:
                    self._events.append(Changed(one.number, before, view.state, diff, own))
            elif name == "totals":
                self._totals(view, decode(name, body))
            elif name == "subscriptionEnd":
                fields = decode(name, body)
                del self._views[id]
                for one in view.subscriptions:
                    one.view = None
                    self._end_subscription(one, NestError(fields["code"], fields["message"]))
            else:
                raise ProtocolError("PROTOCOL", f"the message {name} has the id of a view")
        except DiffMismatch:
            self._drop(view)

    def _totals(self, view: View, fields: Fields) -> None:
        if view.state is None or view.assembler or not view.has_window:
            raise ProtocolError("PROTOCOL", "totals come for a view without a window")
        view.state = replace(view.state, position=fields["position"])
        for one in view.subscriptions:
            self._events.append(PositionChanged(one.number, view.state))

    def _drop(self, view: View) -> None:
        """The two sides differ: drops the state, and subscribes again without it."""
        view.is_broken = True
        subscriptions, view.subscriptions = view.subscriptions, []
        for _ in subscriptions:
            self._unsubscribe(view)
        for one in subscriptions:
            one.view = None
            one.held = None
            self._begin(one)

    def _interrupt(self, one: Subscription, error: NestError) -> None:
        one.pending = None
        one.retry_at = None
        if one.view:
            one.held = one.view.state or one.held
            one.history = self.welcome["history_id"] if self.welcome else None
            one.view = None
        if one.held and not one.is_interrupted:
            one.is_interrupted = True
            self._events.append(Interrupted(one.number, error))

    def _unsubscribe(self, view: View) -> None:
        """Ends one of the subscriptions that the server counts for a view."""
        if self.phase is not Phase.READY:
            return
        call = Call(None, "unsubscribe", encode("unsubscribe", {"view": view.id}), "done")
        call.answered = lambda _: self._unsubscribed(view)
        self._calls.waiting.append(call)

    def _unsubscribed(self, view: View) -> None:
        """Until now a SUBSCRIBE that the server has read before could join the view."""
        if not view.subscriptions and self._views.get(view.id) is view:
            del self._views[view.id]

    def _leave(self, one: Subscription) -> None:
        one.pending = None
        view, one.view = one.view, None
        if view:
            view.subscriptions.remove(one)
            self._unsubscribe(view)

    def _end_subscription(self, one: Subscription, error: NestError | None) -> None:
        self._subscriptions.pop(one.number, None)
        one.pending = None
        one.view = None
        self._events.append(Ended(one.number, error))
