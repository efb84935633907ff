"""One transfer of a large value on asyncio: what arrives waits for the program, and what leaves waits for credit."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from typing import Any

from .driver import Driver
from .errors import NestError
from .machine import Answered, Event, Failed, Granted, PieceCame, ValueBegan


class Transfer:
    """A request with a stream. Leave it when it is not needed any more: that has no effect after its end."""

    def __init__(self, driver: Driver, message: str, answer: str, fields: Mapping[str, Any], **options: Any) -> None:
        self._driver = driver
        self._waiting: deque[ValueBegan | PieceCame] = deque()
        self._credit = 0
        self._answer: Answered | None = None
        self._error: NestError | None = None
        self._changed = asyncio.Event()
        self._number = driver.begin_transfer(self._receive, message, answer, fields, **options)

    def _receive(self, event: Event) -> None:
        match event:
            case ValueBegan() | PieceCame():
                self._waiting.append(event)
            case Granted(_, count):
                self._credit += count
            case Answered():
                self._answer = event
            case Failed(_, error):
                self._error = error
        self._changed.set()

    async def _change(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    async def began(self) -> Any:
        """The fields of VALUE of a download."""
        event = await self._next()
        if not isinstance(event, ValueBegan):
            raise NestError("PROTOCOL", "the server sent a piece before the description of a value")
        return event.value

    async def piece(self) -> bytes | None:
        """The next bytes of a download; None when it is complete."""
        event = await self._next()
        if event is None:
            return None
        if not isinstance(event, PieceCame):
            raise NestError("PROTOCOL", "the server sent the description of a value twice")
        return event.data

    def taken(self, piece: bytes) -> None:
        """The program has taken a piece: the server may send more."""
        self._driver.machine.taken(self._number, len(piece))
        self._driver.settle()

    async def _next(self) -> ValueBegan | PieceCame | None:
        while not self._waiting:
            if self._error:
                raise self._error
            if self._answer:
                return None
            await self._change()
        return self._waiting.popleft()

    async def send(self, piece: bytes) -> None:
        """Sends a piece when the server has granted it. Raises the error of a server that has refused the upload."""
        while not self._error and self._credit < len(piece) + 1:
            await self._change()
        if self._error:
            raise self._error
        self._credit -= len(piece) + 1
        self._driver.machine.send_piece(self._number, piece)
        self._driver.settle()

    async def end(self) -> Any:
        """Ends an upload. Returns the server's answer."""
        if not self._error:
            self._driver.machine.end_upload(self._number)
            self._driver.settle()
        while not self._answer:
            if self._error:
                raise self._error
            await self._change()
        return self._answer.answer

    def leave(self) -> None:
        self._driver.end_transfer(self._number)
