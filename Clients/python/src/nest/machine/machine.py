"""The machine: one client across all its connections.

The driver moves bytes and time. It connects when `wants_connection` is true, sends `take_output()`, closes the
connection when `wants_close` is true, calls `time` at `deadline`, and handles `take_events()` after every call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from ..errors import NestError, ProtocolError
from ..wire import limits
from ..wire.bodies import GoAway, ModelBody, Request, Since, Welcome
from ..wire.frames import MORE, Frame
from ..wire.messages import NAMES, decode, encode, error_of
from .alive import Health
from .calls import Call
from .deadlines import Deadlines
from .events import Closed, Ended, Event, Lost, Ready
from .feeds import Feeds
from .link import Link
from .models import Models
from .requests import Requests
from .subscriptions import FEATURE_RESUME, Subscriptions

FEATURE_UNDO = 1 << 2
FEATURE_COMPRESSION = 1 << 4
FEATURE_LARGE_VALUES = 1 << 12
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
    session: bytes = field(repr=False)
    client_name: str = "nest-client python"
    user: str = ""
    #: Number and secret.
    token: tuple[int, bytes] | None = field(default=None, repr=False)
    #: Whether the client can decompress frames.
    unpacks: bool = False
    #: Seconds: the longest pause between attempts to connect.
    reconnect_pause_max: float = limits.RECONNECT_SECONDS_MAX
    #: How many nodes of a cluster there are to connect to.
    server_count: int = 1


class Machine:
    """The state of a client. It begins with `wants_connection`."""

    def __init__(self, options: Options, random: Callable[[], float]) -> None:
        self.phase = Phase.CONNECTING
        #: The newest WELCOME; None before the first one.
        self.welcome: Welcome | None = None
        #: Why the client has ended.
        self.error: NestError | None = None
        self.wants_close = False
        #: Which server to connect to: an index below `server_count`.
        self.server = 0
        self.now = 0.0
        self.models = Models()
        self._options = options
        self._random = random
        self._link = Link()
        self._deadlines = Deadlines(random, options.reconnect_pause_max)
        self._requests = Requests(self.emit, self.models)
        self._subscriptions = Subscriptions(self)
        self._feeds = Feeds(self)
        self._events: list[Event] = []
        self._next_number = 1
        self._close_reason: NestError | None = None
        #: WELCOME of a server with another model than before, and the id of GET_MODEL that has no answer.
        self._greeting: tuple[Welcome, int] | None = None

    # What the driver does

    @property
    def wants_connection(self) -> bool:
        return self.phase is Phase.CONNECTING

    @property
    def deadline(self) -> float | None:
        """When `time` must be called, if nothing else happens before."""
        times = [self._deadlines.next]
        if self.is_ready:
            times += [self._subscriptions.retry_at, self._feeds.retry_at]
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
        self._greeting = None
        self.phase = Phase.HANDSHAKING
        self._deadlines.opened(now)
        options = self._options
        token = options.token and {"number": options.token[0], "secret": options.token[1]}
        features = FEATURE_RESUME | FEATURE_UNDO | FEATURE_LARGE_VALUES
        if options.unpacks:
            features |= FEATURE_COMPRESSION
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
        self._deadlines.received(now)
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
        if self.phase is Phase.CLOSED:
            return
        name = "CONNECTION_LOST" if self._deadlines.was_ready else "UNREACHABLE"
        error, self._close_reason = self._close_reason or NestError(name, why), None
        self.server = (self.server + 1) % self._options.server_count
        if self.welcome is None:
            self._never_connected(error)
            return
        self._deadlines.wait_for(error.retry_after)
        pause = self._deadlines.closed(now, is_node=self.welcome["node_role"] is not None)
        self.phase = Phase.BACKING_OFF
        self._requests.lost()
        self._subscriptions.lost(error)
        self._feeds.lost(error)
        self.emit(Lost(error, pause))

    def _never_connected(self, error: NestError) -> None:
        """Tries each server once. A client that was never connected does not go on in the background."""
        if self.server != 0:
            self._deadlines.stop()
            self.phase = Phase.CONNECTING
            return
        self._give_up(error)
        self.wants_close = False

    def time(self, now: float) -> None:
        """Handles the deadlines that have passed."""
        self.now = now
        if self._deadlines.connects(now):
            self.phase = Phase.CONNECTING
        if self._deadlines.has_missed_handshake(now):
            self.close_connection(NestError("TIMED_OUT", "the server does not answer HELLO" if not self._greeting else "the server does not send its model"))
        match self._deadlines.health(now):
            case Health.SILENT:
                self._link.send_fields("ping", payload=bytes(8))
            case Health.DEAD:
                self.close_connection(NestError("TIMED_OUT", "the server does not respond"))
        if self.is_ready:
            self._subscriptions.time(now)
            self._feeds.time(now)
        self._flush()

    # What a program does

    def call(self, message: str, answer: str, fields: Mapping[str, Any] | None = None, **options: Any) -> int:
        """Sends a request; Answered or Failed with the number that it returns follows.

        The options are those of calls.call_of. Raises NestError if the client has ended, or if the fields cannot be
        encoded.
        """
        self._check()
        number = self._take_number()
        self._requests.call(number, message, answer, fields, options)
        self._flush()
        return number

    def abandon(self, number: int) -> bool:
        """The program no longer waits for an answer. Returns whether a write was sent, which may still happen."""
        return self._requests.abandon(number, self._link)

    def send_piece(self, number: int, piece: bytes) -> bool:
        """Sends a piece of an upload, for which Granted has come. False: it is over, and Failed has come or comes."""
        return self._requests.transfers.send(number, piece, self._link)

    def end_upload(self, number: int) -> None:
        """Ends an upload: Answered follows, or Failed."""
        self._requests.transfers.end(number, self._link)

    def taken(self, number: int, count: int) -> None:
        """The program has taken so many bytes of a download."""
        self._requests.transfers.taken(number, count, self._link)

    def is_waiting(self, number: int) -> bool:
        """Whether a call waits to be sent."""
        return self._requests.is_waiting(number)

    def subscribe(self, request: Request, model: int | None = None) -> int:
        """Follows a result: events with the number that it returns follow until Ended.

        Raises NestError if the client has ended, or if the request cannot be encoded.
        """
        self._check()
        encode("subscribe", {"resume": None, "at_least": 0, "request": request})
        number = self._take_number()
        error = self.models.error(model)
        if error:
            self.emit(Ended(number, error))
        else:
            self._subscriptions.open(number, request, model)
            self._flush()
        return number

    def follow_changes(self, since: Since | None, entities: Sequence[int], model: int | None = None) -> int:
        """Follows what every transaction changes; as `subscribe`. `since`: from the newest revision on if None."""
        self._check()
        encode("subscribeChanges", {"since": since, "entities": entities})
        number = self._take_number()
        error = self.models.error(model)
        if error:
            self.emit(Ended(number, error))
        else:
            self._feeds.open(number, since, entities, model)
            self._flush()
        return number

    def pause_changes(self, number: int, is_paused: bool) -> None:
        """Holds the changes of a feed back at the server, or lets them come again."""
        self._feeds.pause(number, is_paused)
        self._flush()

    def unsubscribe(self, number: int) -> None:
        """Ends a subscription, or a change feed."""
        self._subscriptions.close(number)
        self._feeds.close(number)
        self._flush()

    def shut(self) -> None:
        """Ends the client for good."""
        self._end(NestError("CLOSED", "the client is closed"), None)

    # What its parts use (context.py)

    @property
    def is_ready(self) -> bool:
        return self.phase is Phase.READY and not self.wants_close

    def random(self) -> float:
        return self._random()

    def submit(self, call: Call) -> None:
        self._requests.submit(call)

    def emit(self, event: Event) -> None:
        self._events.append(event)

    def close_connection(self, error: NestError) -> None:
        """Asks the driver to close the connection; `closed` follows."""
        self._close_reason = self._close_reason or error
        self._deadlines.leave()
        self.wants_close = True

    # The connection

    def _frame(self, frame: Frame) -> None:
        name = NAMES.get(frame.type)
        if name is None:
            if frame.type < 0x80:
                raise ProtocolError("UNSUPPORTED_MESSAGE", f"the message {frame.type:02x} is not known")
            return
        if self.phase is Phase.HANDSHAKING and not self._greeting and name not in _EARLY:
            raise ProtocolError("PROTOCOL", f"the message {name} comes before WELCOME")
        has_more = bool(frame.flags & MORE)
        match name:
            case "welcome":
                self._welcomed(decode("welcome", frame.body))
            case "error":
                self._error(error_of(decode("error", frame.body)), frame.id)
            case "goAway":
                self._go_away(decode("goAway", frame.body))
            case "ping":
                self._link.send("pong", encode("pong", decode("ping", frame.body)))
            case "model" if self._greeting and self._greeting[1] == frame.id:
                self._model_came(self._greeting[0], decode("model", frame.body))
            case "pong" | "authors" | "presence":
                decode(name, frame.body)
            case "own":
                self._subscriptions.remember_own(decode("own", frame.body)["revisions"])
            case "progress":
                revision = decode("progress", frame.body)["revision"]
                self._subscriptions.progress(revision)
                self._feeds.progress(revision)
            case _ if frame.id in self._feeds:
                self._feeds.frame(name, frame.id, frame.body)
            case _ if frame.id >= limits.VIEW_ID_MIN:
                self._subscriptions.frame(name, frame.id, frame.body, has_more)
            case _:
                revision_made = self._requests.answer(name, frame.id, frame.body, has_more)
                if revision_made is not None:
                    self._subscriptions.remember_own([revision_made])

    def _welcomed(self, welcome: Welcome) -> None:
        if self.phase is not Phase.HANDSHAKING or self._greeting:
            raise ProtocolError("PROTOCOL", "WELCOME comes in the middle of a connection")
        is_compressed = self._options.unpacks and bool(welcome["features"] & FEATURE_COMPRESSION)
        self._link.welcomed(welcome["frame_bytes_max"], is_compressed)
        if self.models.must_compare(welcome["model_hash"]):
            # Before anything else is sent: what was made for the old model may be valid.
            self._greeting = welcome, self._link.request("getModel", encode("getModel", {}))
        else:
            self._enter(welcome)

    def _model_came(self, welcome: Welcome, model: ModelBody) -> None:
        """The model of the server that greets."""
        self._greeting = None
        self.models.read(welcome["model_hash"], model)
        self._enter(welcome)

    def _enter(self, welcome: Welcome) -> None:
        """Begins to use the connection."""
        self.welcome = welcome
        self.phase = Phase.READY
        self._deadlines.welcomed(self.now, welcome["ping_interval_milliseconds"] / 1000)
        self.models.enter(welcome["model_hash"])
        self.emit(Ready(welcome))
        self._requests.welcomed(welcome)
        # Subscriptions come before the writes that wait: what those change then comes as a diff.
        self._subscriptions.welcomed()
        self._feeds.welcomed()
        self._flush()

    def _error(self, error: NestError, id: int) -> None:
        if id != 0 and self._greeting:
            # The server does not send its model now. The next attempt asks again.
            self.close_connection(error)
        elif id != 0:
            self._requests.refused(id, error)
            if error.name == "SHUTTING_DOWN":
                self._leave(error)
        elif error.name in _TOKEN_CODES:
            self._give_up(error)
        else:
            self.close_connection(error)

    def _go_away(self, fields: GoAway) -> None:
        error = NestError(fields["code"], f"the server closes the connection: {fields['message'] or fields['code']}")
        if error.name in _TOKEN_CODES:
            self._give_up(error)
            return
        self._deadlines.wait_for(fields["retry_after"] / 1000)
        self._requests.not_executed(fields["last_request_id"])
        self._leave(error)

    def _leave(self, error: NestError) -> None:
        """Sends nothing new, and closes the connection when what is in flight is answered."""
        self._close_reason = self._close_reason or error
        self.phase = Phase.LEAVING

    def _give_up(self, error: NestError) -> None:
        self._end(error, error)

    def _end(self, error: NestError, shown: NestError | None) -> None:
        if self.phase is Phase.CLOSED:
            return
        self.phase = Phase.CLOSED
        self.error = error
        self.wants_close = True
        self._deadlines.stop()
        self._requests.end(error)
        self._subscriptions.end_all(shown)
        self._feeds.end_all(shown)
        self.emit(Closed(shown))

    def _check(self) -> None:
        """Raises the error with which the client has ended."""
        if self.error:
            raise type(self.error)(self.error.name, self.error.text, retry=self.error.retry)

    def _take_number(self) -> int:
        self._next_number += 1
        return self._next_number - 1

    def _flush(self) -> None:
        """Sends what waits; closes the connection that is being left when all is answered."""
        if self.is_ready and not self._requests.flush(self._link):
            # The next connection begins with the first id again.
            self._leave(NestError("CONNECTION_LOST", "all request ids are used"))
        if self.phase is Phase.LEAVING and not self.wants_close and self._requests.are_done:
            self.close_connection(self._close_reason or NestError("SHUTTING_DOWN", "the server stops"))
