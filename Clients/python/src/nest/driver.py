"""The machine on asyncio: a transport, timers, and who waits for what."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import Any

from .address import Address
from .errors import NestError
from .machine import Answered, Closed, Ended, Event, Failed, Lost, Machine, Ready
from .wire.codec import Fields


class Driver:
    """Moves bytes and time between a machine and an event loop. All of it runs in that loop."""

    def __init__(self, machine: Machine, address: Address, context: ssl.SSLContext | None, name: str | None) -> None:
        self.machine = machine
        self._address = address
        self._context = context
        self._server_name = name
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._attempt: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._calls: dict[int, asyncio.Future[Any]] = {}
        self._receivers: dict[int, Callable[[Event], None]] = {}
        self._ready: asyncio.Future[None] = self._loop.create_future()
        self._is_settling = False

    async def open(self) -> None:
        """Returns when the server has accepted the client; raises NestError if it cannot be used."""
        self.settle()
        try:
            await asyncio.shield(self._ready)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self.machine.shut()
        self.settle()

    async def call(self, message: str, answer: str, fields: Fields | None = None, **options: Any) -> Any:
        """Sends a request, and waits for its answer. Cancelling it does not undo a write that was sent."""
        future: asyncio.Future[Any] = self._loop.create_future()
        number = self.machine.call(message, answer, fields, **options)
        self._calls[number] = future
        self.settle()
        try:
            return await future
        finally:
            if self._calls.pop(number, None) and future.cancelled():
                self.machine.abandon(number)
                self.settle()

    def subscribe(self, request: Fields, model: int, receiver: Callable[[Event], None]) -> int:
        """Calls `receiver` with each event of a subscription until Ended."""
        number = self.machine.subscribe(request, model)
        self._receivers[number] = receiver
        self.settle()
        return number

    def unsubscribe(self, number: int) -> None:
        self.machine.unsubscribe(number)
        self.settle()

    # The transport

    def opened(self, transport: asyncio.Transport) -> None:
        if self.machine.error:
            transport.abort()
            return
        self._transport = transport
        self.machine.opened(self._loop.time())
        self.settle()

    def received(self, data: bytes) -> None:
        self.machine.received(data, self._loop.time())
        self.settle()

    def lost(self, transport: asyncio.Transport | None, why: str) -> None:
        if transport is not self._transport:
            return
        self._transport = None
        self.machine.closed(self._loop.time(), why)
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
            output = self.machine.take_output() if self._transport else b""
            if output and self._transport:
                self._transport.write(output)
            if self.machine.wants_close and self._transport:
                # What a server that does not read has not taken would keep the connection open.
                (self._transport.close if self.machine.error else self._transport.abort)()
            if self.machine.wants_connection and self._attempt is None and self._transport is None:
                self._attempt = self._loop.create_task(self._connect())
            if self.machine.error and self._attempt:
                self._attempt.cancel()
            self._set_timer()
        finally:
            self._is_settling = False

    async def _connect(self) -> None:
        address = self._address
        secure: dict[str, Any] = {}
        if self._context:
            secure = {"ssl": self._context, "server_hostname": self._server_name or address.host}
        try:
            await self._loop.create_connection(lambda: _Connection(self), address.host, address.port, **secure)
        except (OSError, ssl.CertificateError) as error:
            self._attempt = None
            self.lost(None, f"{address} cannot be reached: {error}")
        finally:
            self._attempt = None

    def _set_timer(self) -> None:
        if self._timer:
            self._timer.cancel()
        deadline = self.machine.deadline
        self._timer = self._loop.call_at(deadline, self._time) if deadline is not None else None

    def _time(self) -> None:
        self._timer = None
        self.machine.time(self._loop.time())
        self.settle()

    def _handle(self, event: Event) -> None:
        match event:
            case Ready():
                if not self._ready.done():
                    self._ready.set_result(None)
            case Closed(error):
                if not self._ready.done():
                    self._ready.set_exception(error or NestError("CLOSED", "the client is closed"))
                    # `open` may have been cancelled: nobody waits then.
                    self._ready.exception()
            case Lost():
                pass
            case Answered(number, answer):
                future = self._calls.get(number)
                if future and not future.done():
                    future.set_result(answer)
            case Failed(number, error):
                future = self._calls.get(number)
                if future and not future.done():
                    future.set_exception(error)
            case Ended(number):
                receiver = self._receivers.pop(number, None)
                if receiver:
                    receiver(event)
            case _:
                receiver = self._receivers.get(event.subscription)
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
