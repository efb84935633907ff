"""The client for programs that block: the names of nest.aio, on a loop in a thread.

with nest.sync.connect("127.0.0.1:7000") as client:
    items = client.entity("Item")
    rows = client.fetch(items.children(1))
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, TypeVar

from . import aio
from .aio import Policy
from .errors import NestError
from .history import HistoryEntry, Object, UndoState
from .model import Model
from .requests import Entity, FetchRequest
from .rows import Change, Rows
from .transactions import Receipt, Step

T = TypeVar("T")


def connect(address: str = "127.0.0.1:7000", **options: Any) -> Client:
    """A client that connects when it is entered; the options are those of nest.connect."""
    return Client(aio.connect(address, **options))


class Client:
    """A client whose calls block. Several threads may use it at a time."""

    def __init__(self, client: aio.Client) -> None:
        self._client = client
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="nest", daemon=True)

    def __enter__(self) -> Client:
        self._thread.start()
        try:
            self._run(self._client.__aenter__())
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the client: its subscriptions end, and calls that wait fail with CLOSED."""
        if self._thread.is_alive():
            self._run(self._close())
            self._stop()

    async def _close(self) -> None:
        self._client.close()
        # Who waits for an answer gets CLOSED, and the transport closes, before the loop stops.
        others = {task for task in asyncio.all_tasks() if task is not asyncio.current_task()}
        if others:
            await asyncio.wait(others, timeout=1)
        await asyncio.sleep(0)

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        if not self._thread.is_alive():
            work.close()
            raise NestError("CLOSED", "the client is closed, or was not entered")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    @property
    def session(self) -> bytes:
        return self._client.session

    @property
    def is_connected(self) -> bool:
        return self._client.is_connected

    def model(self) -> Model:
        return self._run(self._client.model())

    def entity(self, name: str) -> Entity:
        return self._run(self._client.entity(name))

    def fetch(self, request: FetchRequest, *, at_least: int | Literal["newest"] = 0) -> Rows:
        return self._run(self._client.fetch(request, at_least=at_least))

    def count(self, request: FetchRequest) -> int:
        return self._run(self._client.count(request))

    def object(self, object: Any) -> Object:
        return self._run(self._client.object(object))

    def subscribe(
        self, request: FetchRequest, *, properties: Sequence[str] = (), window: range | None = None
    ) -> Subscription:
        return Subscription(self, self._client.subscribe(request, properties=properties, window=window))

    def transaction(
        self,
        steps: Sequence[Step],
        *,
        name: str = "",
        expect: Mapping[Any, int] | None = None,
        coalescing: tuple[str, float] | None = None,
    ) -> Receipt:
        return self._run(self._client.transaction(steps, name=name, expect=expect, coalescing=coalescing))

    def undo(self, *, policy: Policy = "keep", rehome: bool = False, expected: int | None = None) -> Receipt:
        return self._run(self._client.undo(policy=policy, rehome=rehome, expected=expected))

    def redo(self, *, policy: Policy = "keep", rehome: bool = False, expected: int | None = None) -> Receipt:
        return self._run(self._client.redo(policy=policy, rehome=rehome, expected=expected))

    def revert(
        self, revision: int, *, policy: Policy = "keep", rehome: bool = False, of_anyone: bool = False
    ) -> Receipt:
        return self._run(self._client.revert(revision, policy=policy, rehome=rehome, of_anyone=of_anyone))

    def undo_state(self) -> UndoState:
        return self._run(self._client.undo_state())

    def history(
        self, *, limit: int = 100, before: int = 0, only_mine: bool = False, object: Any = None
    ) -> list[HistoryEntry]:
        return self._run(self._client.history(limit=limit, before=before, only_mine=only_mine, object=object))


class Subscription:
    """The changes of a result, as nest.aio.Subscription: its loop blocks until the next change."""

    def __init__(self, client: Client, subscription: aio.Subscription) -> None:
        self._client = client
        self._subscription = subscription

    def __enter__(self) -> Subscription:
        self._client._run(self._subscription.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self) -> Iterator[Change]:
        return self

    def __next__(self) -> Change:
        change = self._client._run(self._next())
        if change is None:
            raise StopIteration
        return change

    async def _next(self) -> Change | None:
        try:
            return await self._subscription.__anext__()
        except StopAsyncIteration:
            return None

    @property
    def rows(self) -> Rows | None:
        """The newest rows; None before the first Snapshot."""
        return self._subscription.rows

    def close(self) -> None:
        if self._client._thread.is_alive():
            self._client._run(self._end())

    async def _end(self) -> None:
        self._subscription.close()
