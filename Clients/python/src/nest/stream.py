"""What subscriptions and change feeds have in common: an asynchronous iterator of what the server pushes."""

from __future__ import annotations

import asyncio
import warnings
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Generic, Protocol, TypeVar

from .driver import Driver
from .errors import NestError
from .machine import Ended, Machine, SubscriptionEvent

T = TypeVar("T")
S = TypeVar("S", bound="Stream")  # type: ignore[type-arg]


class Owner(Protocol):
    """The client of an iterator, which lives as long as the iterator does."""

    @property
    def _running(self) -> Driver:
        """The driver; raises NestError before the client is entered."""


class Stream(Generic[T]):
    """An asynchronous iterator, and a context that closes it at its end.

    It begins with its first step, and ends when it is closed, when the client is, or with the error with which the
    server has ended it; that is raised once. A program that drops it without closing it gets a ResourceWarning.
    """

    def __init__(self, client: Owner) -> None:
        self._client = client
        self._driver: Driver | None = None
        self._number: int | None = None
        self._waiting: deque[T] = deque()
        self._arrived = asyncio.Event()
        self._error: NestError | None = None
        self._is_ended = False

    async def __aenter__(self: S) -> S:
        await self._start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __aiter__(self: S) -> S:
        return self

    async def __anext__(self) -> T:
        await self._start()
        while not self._waiting:
            if self._is_ended:
                error, self._error = self._error, None
                if error:
                    raise error
                raise StopAsyncIteration
            self._arrived.clear()
            await self._client._running.wait(self._arrived, self)
        return self._take()

    async def aclose(self) -> None:
        """As `close`, for contextlib.aclosing."""
        self.close()

    def close(self) -> None:
        """Ends it: its loop is done."""
        driver, number = self._driver, self._number
        was_open = driver and number is not None and not self._is_ended
        self._is_ended = True
        self._error = None
        self._waiting.clear()
        self._arrived.set()
        if was_open and driver and number is not None:
            driver.unfollow(number)

    def __del__(self) -> None:
        driver, number = getattr(self, "_driver", None), getattr(self, "_number", None)
        if driver is None or number is None or self._is_ended or not driver.run_soon(driver.unfollow, number):
            return
        warnings.warn(f"{self!r} was never closed: use `async with`", ResourceWarning, stacklevel=2)

    # What a subclass adds

    async def _prepare(self) -> Callable[[Machine], int]:
        """What begins it."""
        raise NotImplementedError

    def _take(self) -> T:
        """The next of those that wait."""
        return self._waiting.popleft()

    def _receive(self, event: SubscriptionEvent) -> None:
        """An event of the machine."""
        if isinstance(event, Ended):
            self._is_ended = True
            self._error = event.error
            self._arrived.set()

    def _add(self, one: T) -> None:
        self._waiting.append(one)
        self._arrived.set()

    async def _start(self) -> None:
        if self._driver or self._is_ended:
            return
        begin = await self._prepare()
        # Another task may have begun it, or closed it.
        if self._driver or self._is_ended:
            return
        driver = self._client._running
        self._number = driver.follow(begin, self._receive)
        self._driver = driver
