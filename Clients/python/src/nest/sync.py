"""The client for programs that block: the names of nest.aio, on a loop in a thread.

with nest.sync.connect("127.0.0.1:7000") as client:
    items = client.entity("Item")
    rows = client.fetch(items.children(1))
"""

from __future__ import annotations

import ssl
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from types import TracebackType
from typing import IO, Any, Generic, Literal, TypeVar, overload

from . import aio
from .aio import Policy, State
from .changes import ChangePoint, EntityName, FeedEvent
from .changes import Changes as AsyncChanges
from .entities import Entity
from .errors import NestError
from .history import HistoryEntry, Object, UndoState
from .loop import LoopThread
from .model import LargeValue, Model
from .requests import FetchRequest
from .rows import Change, Row, Rows
from .stream import Stream as AsyncStream
from .subscription import Subscription as AsyncSubscription
from .transactions import Receipt, Step
from .typed import E, R, Typed
from .values import Progress, Source
from .wire import limits

T = TypeVar("T")
S = TypeVar("S", bound="Stream")  # type: ignore[type-arg]


def connect(
    address: str | Sequence[str] = "127.0.0.1:7000",
    *,
    token: str | None = None,
    user: str = "",
    session: bytes | None = None,
    client_name: str = "nest-client python",
    zone: str = "",
    tls: ssl.SSLContext | None = None,
    server_name: str | None = None,
    request_timeout: float | None = limits.REQUEST_SECONDS,
    reconnect_pause_max: float = limits.RECONNECT_SECONDS_MAX,
) -> Client:
    """A client that connects when it is entered; the options are those of nest.connect."""
    return Client(
        aio.connect(
            address,
            token=token,
            user=user,
            session=session,
            client_name=client_name,
            zone=zone,
            tls=tls,
            server_name=server_name,
            request_timeout=request_timeout,
            reconnect_pause_max=reconnect_pause_max,
        )
    )


class Client:
    """A client whose calls block. Several threads may use it, and close it, at a time."""

    def __init__(self, client: aio.Client) -> None:
        self._client = client
        self._loop: LoopThread | None = None

    def __repr__(self) -> str:
        return f"<sync {self._client!r}>"

    def __enter__(self) -> Client:
        if self._loop:
            raise NestError("INVALID", "a client is entered once: make another one with connect()")
        self._loop = LoopThread()
        try:
            self._loop.run(self._client.__aenter__())
        except BaseException:
            self._loop.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the client: its iterators end, and calls that wait in other threads fail with CLOSED."""
        if not self._loop or not self._loop.is_running:
            return
        try:
            self._loop.run(self._client.aclose())
        except NestError as error:
            # Another thread was faster.
            if error.name != "CLOSED":
                raise
        finally:
            self._loop.stop()

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        if not self._loop:
            work.close()
            raise NestError("INVALID", "enter the client first: with nest.sync.connect(…) as client")
        return self._loop.run(work)

    @property
    def session(self) -> bytes:
        """The secret that owns the undo stack."""
        return self._client.session

    @property
    def state(self) -> State:
        """As of nest.aio.Client."""
        return self._client.state

    @property
    def is_connected(self) -> bool:
        """As of nest.aio.Client."""
        return self._client.is_connected

    def model(self) -> Model:
        """The server's model: its entities and their properties by name."""
        return self._run(self._client.model())

    @overload
    def entity(self, name: str) -> Entity: ...
    @overload
    def entity(self, name: type[Typed[E, Any, Any]]) -> E: ...
    def entity(self, name: str | type[Typed[Any, Any, Any]]) -> Any:
        """The request for all objects of an entity, which also makes the steps that write them."""
        return self._run(self._client.entity(name))

    def named_request(self, name: str, source: Any = None, **variables: Any) -> FetchRequest[Row]:
        """A request that the model names, with the values of its variables."""
        return self._run(self._client.named_request(name, source, **variables))

    def fetch(self, request: FetchRequest[R], *, at_least: int | Literal["newest"] = 0) -> Rows[R]:
        """The rows of a request."""
        return self._run(self._client.fetch(request, at_least=at_least))

    def count(self, request: FetchRequest[Any]) -> int:
        """How many rows a request has."""
        return self._run(self._client.count(request))

    def object(self, object: Any) -> Object:
        """One object with all it has."""
        return self._run(self._client.object(object))

    @overload
    def subscribe(
        self, request: FetchRequest[R], *, properties: None = None, window: range | None = None
    ) -> Subscription[R]: ...
    @overload
    def subscribe(
        self, request: FetchRequest[Any], *, properties: Sequence[str], window: range | None = None
    ) -> Subscription[Row]: ...
    def subscribe(
        self, request: FetchRequest[Any], *, properties: Sequence[str] | None = None, window: range | None = None
    ) -> Subscription[Any]:
        """Follows a request: an iterator of changes, which begins with a Snapshot."""
        if properties:
            request = request.properties(*properties)
        return Subscription(self, self._client.subscribe(request, window=window))

    def changes(self, *, since: ChangePoint | None = None, entities: Sequence[EntityName] = ()) -> Changes:
        """Follows what every transaction changes: an iterator, which begins with Following."""
        return Changes(self, self._client.changes(since=since, entities=entities))

    def transaction(
        self,
        steps: Step | Iterable[Step],
        *,
        name: str = "",
        expect: Mapping[Any, int] | None = None,
        coalescing: tuple[str, float] | None = None,
        key: bytes | None = None,
    ) -> Receipt:
        """Writes all steps or none, as one undo entry, or a single step. Returns when it is durable."""
        return self._run(self._client.transaction(steps, name=name, expect=expect, coalescing=coalescing, key=key))

    def reserve_ids(self, count: int) -> range:
        """Reserves ids of the session for `entity.insert(…, as_id=id)`, durable on return: see nest.aio.

        `count`: 1 to 65,536. Each call is a commit: ask for many at once.
        """
        return self._run(self._client.reserve_ids(count))

    def send_value(
        self, entity: FetchRequest[Any], property: str, source: Source, *, progress: Progress | None = None
    ) -> LargeValue:
        """Sends the bytes of a large value, which a transaction of this session sets: see nest.aio.

        `progress` is called in another thread.
        """
        return self._run(self._client.send_value(entity, property, source, progress=progress))

    def read_value(
        self,
        entity: FetchRequest[Any],
        object: Any,
        property: str,
        *,
        at_least: int = 0,
        offset: int = 0,
        progress: Progress | None = None,
    ) -> bytes:
        """The bytes of an object's large value."""
        work = self._client.read_value(
            entity, object, property, at_least=at_least, offset=offset, progress=progress
        )
        return self._run(work)

    def read_text(
        self,
        entity: FetchRequest[Any],
        object: Any,
        property: str,
        *,
        at_least: int = 0,
        progress: Progress | None = None,
    ) -> str:
        """The text of an object's large value."""
        return self._run(self._client.read_text(entity, object, property, at_least=at_least, progress=progress))

    def save_value(
        self,
        entity: FetchRequest[Any],
        object: Any,
        property: str,
        file: IO[bytes],
        *,
        at_least: int = 0,
        offset: int = 0,
        progress: Progress | None = None,
    ) -> LargeValue:
        """Writes an object's large value into a binary file, piece by piece."""
        work = self._client.save_value(
            entity, object, property, file, at_least=at_least, offset=offset, progress=progress
        )
        return self._run(work)

    def undo(
        self, *, policy: Policy = "keep", rehome: bool = False, expected: int | None = None, key: bytes | None = None
    ) -> Receipt:
        """Takes back the newest undo entry of the session."""
        return self._run(self._client.undo(policy=policy, rehome=rehome, expected=expected, key=key))

    def redo(
        self, *, policy: Policy = "keep", rehome: bool = False, expected: int | None = None, key: bytes | None = None
    ) -> Receipt:
        """Does again what the session's newest undo has taken back."""
        return self._run(self._client.redo(policy=policy, rehome=rehome, expected=expected, key=key))

    def revert(
        self,
        revision: int,
        *,
        policy: Policy = "keep",
        rehome: bool = False,
        of_anyone: bool = False,
        key: bytes | None = None,
    ) -> Receipt:
        """Takes back any one past transaction by its revision, as a new undo entry."""
        return self._run(self._client.revert(revision, policy=policy, rehome=rehome, of_anyone=of_anyone, key=key))

    def undo_state(self) -> UndoState:
        """What the next undo and redo of the session take back."""
        return self._run(self._client.undo_state())

    def history(
        self, *, limit: int = 100, before: int = 0, only_mine: bool = False, object: Any = None
    ) -> list[HistoryEntry]:
        """Committed transactions, newest first: those before a revision, of this session, of an object."""
        return self._run(self._client.history(limit=limit, before=before, only_mine=only_mine, object=object))


class Stream(Generic[T]):
    """An iterator that blocks until the server pushes the next change; a context that closes it at its end."""

    def __init__(self, client: Client, stream: AsyncStream[T]) -> None:
        self._client = client
        self._stream = stream

    def __repr__(self) -> str:
        return f"<sync {self._stream!r}>"

    def __enter__(self: S) -> S:
        self._client._run(self._stream.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __iter__(self: S) -> S:
        return self

    def __next__(self) -> T:
        try:
            change = self._client._run(self._next())
        except NestError:
            # The client was closed, maybe by another thread: its loops are done.
            loop = self._client._loop
            if loop and loop.is_stopped:
                raise StopIteration from None
            raise
        if change is None:
            raise StopIteration
        return change

    async def _next(self) -> T | None:
        try:
            return await self._stream.__anext__()
        except StopAsyncIteration:
            return None

    def close(self) -> None:
        """Ends it: its loop is done, also in another thread."""
        try:
            self._client._run(self._stream.aclose())
        except NestError as error:
            # The client is closed, and has ended it.
            if error.name != "CLOSED":
                raise


class Subscription(Stream[Change[R]], Generic[R]):
    """The changes of a result, as nest.Subscription."""

    def __init__(self, client: Client, subscription: AsyncSubscription[R]) -> None:
        super().__init__(client, subscription)
        self._subscription = subscription

    @property
    def rows(self) -> Rows[R] | None:
        """The newest rows; None before the first Snapshot."""
        return self._subscription.rows


class Changes(Stream[FeedEvent]):
    """What every transaction changes, as nest.Changes."""

    def __init__(self, client: Client, changes: AsyncChanges) -> None:
        super().__init__(client, changes)
        self._changes = changes

    @property
    def at(self) -> ChangePoint | None:
        """The point after what the loop has taken: `client.changes(since=feed.at)` continues there."""
        return self._changes.at
