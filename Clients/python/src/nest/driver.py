"""The machine on asyncio: a transport, timers, and which future waits for which answer."""

from __future__ import annotations

import asyncio
import os
import ssl
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .address import Address
from .errors import NestError
from .machine import Answered, Closed, Ended, Event, Failed, Granted, Lost, Machine, PieceCame, Ready
from .machine import SubscriptionEvent, ValueBegan
from .wire import limits

Receiver = Callable[[SubscriptionEvent], None]


class Driver:
    """Moves bytes and time between a machine and an event loop. All of it runs in that loop."""

    def __init__(
        self,
        machine: Machine,
        addresses: Sequence[Address],
        context: ssl.SSLContext | None,
        name: str | None,
        request_timeout: float | None,
    ) -> None:
        self.machine = machine
        self.loop = asyncio.get_running_loop()
        self._process = os.getpid()
        self._addresses = addresses
        self._context = context
        self._server_name = name
        self._request_timeout = request_timeout
        self._transport: asyncio.Transport | None = None
        self._attempt: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._linger: asyncio.TimerHandle | None = None
        self._calls: dict[int, asyncio.Future[Any]] = {}
        #: What gets the events of each transfer.
        self._transfers: dict[int, Callable[[Event], None]] = {}
        #: Iterators that no program holds any more end: the driver does not hold them either.
        self._receivers: dict[int, weakref.WeakMethod[Receiver]] = {}
        #: Iterators on which a task waits now.
        self._awaited: set[object] = set()
        self._ready: asyncio.Future[None] = self.loop.create_future()
        #: Done when the client has ended and has no connection.
        self._gone: asyncio.Future[None] = self.loop.create_future()
        self._is_settling = False

    def run_soon(self, work: Callable[..., None], *arguments: object) -> bool:
        """Runs something in the loop, from any thread. Returns False if the loop is over, or of another process."""
        if self.loop.is_closed() or os.getpid() != self._process:
            return False
        self.loop.call_soon_threadsafe(work, *arguments)
        return True

    async def open(self) -> None:
        """Returns when the server has accepted the client; raises NestError if it cannot be used."""
        self.settle()
        try:
            await asyncio.shield(self._ready)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Ends the client for good."""
        self.machine.shut()
        self.settle()

    async def wait_closed(self) -> None:
        """Returns when the client has ended and its connection is closed."""
        await asyncio.shield(self._gone)

    async def call(self, message: str, answer: str, fields: Mapping[str, Any] | None = None, **options: Any) -> Any:
        """Sends a request, and waits for its answer. Cancelling it does not undo a write that was sent."""
        number = self.machine.call(message, answer, fields, **options)
        future: asyncio.Future[Any] = self.loop.create_future()
        self._calls[number] = future
        time = self._request_timeout
        timer = None if time is None else self.loop.call_later(time, self._expire, number, (fields or {}).get("key"))
        self.settle()
        try:
            return await future
        finally:
            del self._calls[number]
            if timer:
                timer.cancel()
            if future.cancelled():
                self.machine.abandon(number)
                self.settle()

    def _expire(self, number: int, key: bytes | None) -> None:
        future = self._calls[number]
        if future.done():
            return
        why = f"there was no answer in {self._request_timeout:g} seconds"
        if self.machine.abandon(number):
            text = f"{why}: the change may have been made; check, or send it again with the key of this error"
            future.set_exception(NestError("OUTCOME_UNKNOWN", text, key=key))
        else:
            future.set_exception(NestError("TIMED_OUT", why, retry=2))
        self.settle()

    def begin_transfer(
        self, receive: Callable[[Event], None], message: str, answer: str, fields: Mapping[str, Any], **options: Any
    ) -> int:
        """Sends a request with a stream, and calls `receive` with its events until `end_transfer`.

        Only while it waits to be sent it may fail with TIMED_OUT: then silence on the connection shows a dead server.
        """
        number = self.machine.call(message, answer, fields, **options)
        self._transfers[number] = receive
        if self._request_timeout is not None:
            self.loop.call_later(self._request_timeout, self._expire_transfer, number)
        self.settle()
        return number

    def end_transfer(self, number: int) -> None:
        if self._transfers.pop(number, None):
            self.machine.abandon(number)
            self.settle()

    def _expire_transfer(self, number: int) -> None:
        receive = self._transfers.get(number)
        if receive and self.machine.is_waiting(number):
            self.machine.abandon(number)
            why = f"it could not be sent in {self._request_timeout:g} seconds"
            receive(Failed(number, NestError("TIMED_OUT", why, retry=2)))

    def follow(self, begin: Callable[[Machine], int], receiver: Receiver) -> int:
        """Calls `receiver`, a method, with each event of what `begin` begins, until Ended."""
        number = begin(self.machine)
        self._receivers[number] = weakref.WeakMethod(receiver)
        self.settle()
        return number

    def unfollow(self, number: int) -> None:
        self.machine.unsubscribe(number)
        self.settle()

    def pause_changes(self, number: int, is_paused: bool) -> None:
        self.machine.pause_changes(number, is_paused)
        self.settle()

    async def wait(self, event: asyncio.Event, waiter: object) -> None:
        """Waits for an event that a receiver sets. The waiter lives until then, also if only its task holds it."""
        self._awaited.add(waiter)
        try:
            await event.wait()
        finally:
            self._awaited.discard(waiter)

    # The transport

    def opened(self, transport: asyncio.Transport) -> None:
        if self.machine.error:
            transport.abort()
            return
        self._transport = transport
        self.machine.opened(self.loop.time())
        self.settle()

    def received(self, data: bytes) -> None:
        self.machine.received(data, self.loop.time())
        self.settle()

    def lost(self, transport: asyncio.Transport | None, why: str) -> None:
        if transport is not self._transport:
            return
        self._transport = None
        if self._linger:
            self._linger.cancel()
            self._linger = None
        self.machine.closed(self.loop.time(), why)
        self.settle()

    def settle(self) -> None:
        """Does what the machine asks for."""
        if self._is_settling:
            return
        self._is_settling = True
        try:
            while events := self.machine.take_events():
                for event in events:
                    self._handle(event)
            self._write()
            if self.machine.wants_connection and self._attempt is None and self._transport is None:
                self._attempt = self.loop.create_task(self._connect())
            if self.machine.error and self._attempt:
                self._attempt.cancel()
            if self.machine.error and not self._attempt and not self._transport and not self._gone.done():
                self._gone.set_result(None)
            self._set_timer()
        finally:
            self._is_settling = False

    def _write(self) -> None:
        if not self._transport:
            return
        output = self.machine.take_output()
        if output:
            self._transport.write(output)
        if not self.machine.wants_close:
            return
        if not self.machine.error:
            self._transport.abort()
        elif not self._linger:
            # What was sent still goes out, unless the server does not take it.
            self._transport.close()
            self._linger = self.loop.call_later(limits.LINGER_SECONDS, self._transport.abort)

    async def _connect(self) -> None:
        address = self._addresses[self.machine.server]
        secure: dict[str, Any] = {}
        if self._context:
            secure = {"ssl": self._context, "server_hostname": self._server_name or address.host}
        failure: Exception | None = None
        try:
            async with asyncio.timeout(limits.CONNECT_SECONDS):
                await self.loop.create_connection(lambda: _Connection(self), address.host, address.port, **secure)
        except TimeoutError as error:
            failure = TimeoutError(error.strerror or f"no answer in {limits.CONNECT_SECONDS:g} seconds")
        except (OSError, ValueError) as error:
            # A name that cannot be one of a host is a ValueError.
            failure = error
        finally:
            self._attempt = None
            if failure and self._transport is None:
                self.lost(None, f"{address} cannot be reached: {failure}")
            else:
                self.settle()

    def _set_timer(self) -> None:
        """Wakes at the deadline, or earlier: a timer that is too early costs less than one for each frame."""
        deadline = self.machine.deadline
        if self._timer:
            if deadline is not None and self._timer.when() <= deadline:
                return
            self._timer.cancel()
        self._timer = self.loop.call_at(deadline, self._time) if deadline is not None else None

    def _time(self) -> None:
        self._timer = None
        self.machine.time(self.loop.time())
        self.settle()

    def _handle(self, event: Event) -> None:
        match event:
            case Ready():
                if not self._ready.done():
                    self._ready.set_result(None)
            case Closed(error):
                if not self._ready.done():
                    self._ready.set_exception(error or NestError("CLOSED", "the client is closed"))
                    # `open` may have been cancelled: no task waits then.
                    self._ready.exception()
            case Lost():
                pass
            case Answered(number) | Failed(number) if number in self._transfers:
                self._transfers[number](event)
            case ValueBegan(number) | PieceCame(number) | Granted(number):
                if number in self._transfers:
                    self._transfers[number](event)
            case Answered(number, answer):
                future = self._calls.get(number)
                if future and not future.done():
                    future.set_result(answer)
            case Failed(number, error):
                future = self._calls.get(number)
                if future and not future.done():
                    future.set_exception(error)
            case _:
                held = self._receivers.get(event.subscription)
                receiver = held() if held else None
                if isinstance(event, Ended):
                    self._receivers.pop(event.subscription, None)
                if receiver:
                    receiver(event)


class _Connection(asyncio.Protocol):
    """One connection of the driver."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        #: None until the connection may be used.
        self._transport: asyncio.Transport | None = None
        self._fault: str | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        security = transport.get_extra_info("ssl_object")
        if security is not None and security.selected_alpn_protocol() != "nest/1":
            self._fault = "the server does not speak nest/1 over TLS"
            transport.abort()
            return
        self._transport = transport
        self._driver.opened(transport)

    def data_received(self, data: bytes) -> None:
        self._driver.received(data)

    def connection_lost(self, error: Exception | None) -> None:
        why = f"the connection was lost: {error}" if error else "the server closed the connection"
        self._driver.lost(self._transport, self._fault or why)
