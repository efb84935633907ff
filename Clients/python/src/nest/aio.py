"""The client on asyncio.

async with nest.connect("127.0.0.1:7000") as client:
    items = await client.entity("Item")
    rows = await client.fetch(items.children(1))
"""

from __future__ import annotations

import asyncio
import random
import re
import secrets
import ssl
from collections import deque
from collections.abc import AsyncIterator, Generator, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal

from . import machine as m
from .address import Address, check_clear, read_address, read_token, tls_context
from .driver import Driver
from .errors import NestError
from .history import HistoryEntry, Object, UndoState, make_entry, make_object, make_undo_state
from .machine import Machine, Options
from .model import Model, make_model, object_id
from .requests import Entity, FetchRequest, Lowered
from .rows import Change, Diff, Interrupted, PositionChange, Resumed, Rows, Snapshot, row_events
from .transactions import Receipt, Step, make_receipt, make_transaction
from .wire import compression, limits
from .wire.codec import Fields
from .wire.messages import NEWEST

Policy = Literal["keep", "force", "strict"]
#: Words whose meaning depends on the time: what the server makes of them is not kept.
_NOW = re.compile(r"\b(now|today|yesterday|tomorrow)\b", re.IGNORECASE)
_PREDICATES_MAX = 256


def connect(
    address: str = "127.0.0.1:7000",
    *,
    token: str | None = None,
    user: str = "",
    session: bytes | None = None,
    client_name: str = "nest-client python",
    zone: str = "",
    tls: ssl.SSLContext | None = None,
    server_name: str | None = None,
) -> Client:
    """A client that connects when it is entered.

    `address`: `host:port`, or `nests://host:port` for TLS with the context `tls`. `token`: what `nestc token create`
    printed; it is sent over TLS or to your own machine only. `session`: 16 secret bytes that own the undo stack: keep
    them to undo in a later run. `zone`: how dates without a zone are read in predicates, such as `Europe/Berlin`.
    """
    where = read_address(address)
    if token is not None:
        check_clear(where)
    if session is not None and len(session) != 16:
        raise NestError("INVALID", "a session has 16 bytes")
    options = Options(
        session=session or secrets.token_bytes(16),
        client_name=client_name,
        user=user,
        token=read_token(token) if token is not None else None,
        unpacks=compression.IS_AVAILABLE,
    )
    return Client(where, options, zone, tls_context(tls) if where.is_secure else None, server_name)


class Client:
    """A client of one server, which connects again by itself until it is closed."""

    def __init__(
        self, address: Address, options: Options, zone: str, tls: ssl.SSLContext | None, server_name: str | None
    ) -> None:
        self._address = address
        self._options = options
        self._zone = zone
        self._tls = tls
        self._server_name = server_name
        self._driver: Driver | None = None
        self._model: Model | None = None
        self._predicates: dict[tuple[int, int, str], bytes] = {}

    def __await__(self) -> Generator[Any, None, Client]:
        """Connects; `close` ends the client."""
        return self.__aenter__().__await__()

    async def __aenter__(self) -> Client:
        if self._driver:
            raise NestError("INVALID", "a client is entered once: make another one with connect()")
        machine = Machine(self._options, random.SystemRandom().random)
        self._driver = Driver(machine, self._address, self._tls, self._server_name)
        await self._driver.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the client: its subscriptions end, and requests that wait fail with CLOSED."""
        if self._driver:
            self._driver.close()

    @property
    def session(self) -> bytes:
        """The secret that owns the undo stack."""
        return self._options.session

    @property
    def is_connected(self) -> bool:
        return self._driver is not None and self._driver.machine.phase.value == "ready"

    @property
    def _running(self) -> Driver:
        if not self._driver:
            raise NestError("INVALID", "enter the client first: async with nest.connect(…) as client")
        return self._driver

    @property
    def _welcome(self) -> Fields:
        welcome = self._running.machine.welcome
        if welcome is None:
            raise NestError("CLOSED", "the client was never connected")
        return welcome

    # The model

    async def model(self) -> Model:
        """The server's model: its entities and their properties by name."""
        hash = self._welcome["model_hash"]
        if self._model is None or self._model.hash != hash:
            fields = await self._running.call("getModel", "model", model=hash)
            self._model = make_model(hash, fields)
        return self._model

    async def entity(self, name: str) -> Entity:
        """The request for all objects of an entity, which also makes the steps that write them."""
        model = await self.model()
        return Entity(model, model.entity(name))

    # Reads

    async def fetch(self, request: FetchRequest, *, at_least: int | Literal["newest"] = 0) -> Rows:
        """The rows of a request. `at_least`: the revision of your own write, to read it at any node of a cluster."""
        lowered = await self._lower(request)
        fields = {"at_least": NEWEST if at_least == "newest" else at_least, "request": lowered.wire}
        state = await self._running.call(
            "fetch",
            "snapshot",
            fields,
            model=request.model.hash,
            projection=lowered.projection,
            has_window=lowered.has_window,
        )
        return Rows(state, lowered.shape)

    async def count(self, request: FetchRequest) -> int:
        """How many rows a request has."""
        return (await self.fetch(request.window(0, 0))).total

    async def object(self, object: Any) -> Object:
        """One object with all it has."""
        model = await self.model()
        fields = await self._running.call("getObject", "object", {"id": object_id(object)}, model=model.hash)
        return make_object(fields, model)

    def subscribe(
        self,
        request: FetchRequest,
        *,
        properties: Sequence[str] = (),
        window: range | None = None,
    ) -> Subscription:
        """Follows a request: an iterator of changes, which begins with a Snapshot."""
        if properties:
            request = request.properties(*properties)
        if window is not None:
            if window.step != 1:
                raise NestError("INVALID", "a window has every row of a range")
            request = request.window(window.start, len(window))
        return Subscription(self, request)

    async def _lower(self, request: FetchRequest) -> Lowered:
        predicate = b""
        if request.predicates:
            texts = request.predicates
            text = texts[0] if len(texts) == 1 else " AND ".join(f"({one})" for one in texts)
            predicate = await self._predicate(request, text)
        return request.lower(predicate)

    async def _predicate(self, request: FetchRequest, text: str) -> bytes:
        key = (request.model.hash, request.description.number, text)
        found = self._predicates.get(key)
        if found is not None:
            return found
        fields = {"entity": request.description.number, "text": text, "now": 0, "zone": self._zone}
        answer = await self._running.call("parsePredicate", "predicate", fields, model=request.model.hash)
        predicate: bytes = answer["predicate"]
        if not _NOW.search(text):
            if len(self._predicates) >= _PREDICATES_MAX:
                self._predicates.clear()
            self._predicates[key] = predicate
        return predicate

    # Writes

    async def transaction(
        self,
        steps: Sequence[Step],
        *,
        name: str = "",
        expect: Mapping[Any, int] | None = None,
        coalescing: tuple[str, float] | None = None,
    ) -> Receipt:
        """Writes all steps or none, as one undo entry. Returns when it is durable.

        `expect`: object -> revision; CONFLICT if the object has changed since. `coalescing`: a key and seconds; the
        transaction joins the undo entry of the write before, if that had the same key and is not older.
        """
        if not steps:
            raise NestError("INVALID", "a transaction has at least one step")
        model = steps[0].model
        if any(step.model.hash != model.hash for step in steps):
            raise NestError("INVALID", "the steps are of different models")
        fields = make_transaction(steps, secrets.token_bytes(16), name, expect or {}, coalescing)
        answer = await self._running.call("transaction", "receipt", fields, model=model.hash, is_write=True)
        return make_receipt(answer, model, steps)

    async def undo(self, *, policy: Policy = "keep", rehome: bool = False, expected: int | None = None) -> Receipt:
        """Takes back the newest undo entry of the session; NOTHING_TO_UNDO if there is none.

        `policy`: `keep` leaves what others have changed since, `force` overwrites it, `strict` refuses. `expected`:
        the revision of the entry that is meant, by `undo_state`.
        """
        return await self._take_back("undo", policy=policy, rehomes=rehome, expected=expected)

    async def redo(self, *, policy: Policy = "keep", rehome: bool = False, expected: int | None = None) -> Receipt:
        return await self._take_back("redo", policy=policy, rehomes=rehome, expected=expected)

    async def revert(
        self, revision: int, *, policy: Policy = "keep", rehome: bool = False, of_anyone: bool = False
    ) -> Receipt:
        """Takes back any one past transaction by its revision, as a new undo entry."""
        return await self._take_back("revert", policy=policy, rehomes=rehome, revision=revision, of_anyone=of_anyone)

    async def _take_back(self, message: str, **fields: Any) -> Receipt:
        made = {"key": secrets.token_bytes(16), **fields}
        answer = await self._running.call(message, "receipt", made, is_write=True)
        return make_receipt(answer, await self.model() if answer["conflicts"] else None)

    async def undo_state(self) -> UndoState:
        return make_undo_state(await self._running.call("getUndoState", "undoState", {"follows": False}))

    async def history(
        self, *, limit: int = 100, before: int = 0, only_mine: bool = False, object: Any = None
    ) -> list[HistoryEntry]:
        """Committed transactions, newest first: those before a revision, of this session, of an object."""
        fields = {
            "before": before,
            "limit": limit,
            "only_mine": only_mine,
            "object": None if object is None else object_id(object),
        }
        answer = await self._running.call("getHistory", "history", fields)
        return [make_entry(one) for one in answer["entries"]]


class Subscription:
    """The changes of a result. Each change has `rows`, the whole result; it is an iterator and a context.

    A loop that is slow gets one Snapshot in place of many changes. It ends when the subscription is closed, and raises
    the error with which the server has ended it.
    """

    def __init__(self, client: Client, request: FetchRequest) -> None:
        self._client = client
        self._request = request
        self._lowered: Lowered | None = None
        self._number: int | None = None
        self._changes: deque[Change] = deque()
        self._arrived = asyncio.Event()
        self._error: NestError | None = None
        self._is_ended = False
        #: The newest rows; None before the first Snapshot.
        self.rows: Rows | None = None

    async def __aenter__(self) -> Subscription:
        await self._start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __aiter__(self) -> AsyncIterator[Change]:
        return self

    async def __anext__(self) -> Change:
        await self._start()
        while not self._changes:
            if self._is_ended:
                if self._error:
                    raise self._error
                raise StopAsyncIteration
            self._arrived.clear()
            await self._arrived.wait()
        return self._changes.popleft()

    def close(self) -> None:
        """Ends the subscription; its loop is done."""
        if self._number is not None and not self._is_ended:
            self._client._running.unsubscribe(self._number)
        self._is_ended = True
        self._changes.clear()
        self._arrived.set()

    async def _start(self) -> None:
        if self._lowered or self._is_ended:
            return
        lowered = await self._client._lower(self._request)
        if self._lowered or self._is_ended:
            return
        self._lowered = lowered
        self._number = self._client._running.subscribe(lowered.wire, self._request.model.hash, self._receive)

    def _receive(self, event: m.Event) -> None:
        assert self._lowered
        shape = self._lowered.shape
        match event:
            case m.Replaced(_, state, reason):
                self.rows = Rows(state, shape)
                self._add(Snapshot(self.rows, reason))
            case m.Changed(_, before, state, diff, own):
                self.rows = Rows(state, shape)
                self._add(Diff(self.rows, row_events(diff, before, state, shape), own))
            case m.PositionChanged(_, state):
                self.rows = Rows(state, shape)
                self._add(PositionChange(self.rows))
            case m.Interrupted(_, error):
                self._add(Interrupted(error))
            case m.Resumed(_, state):
                self.rows = Rows(state, shape)
                self._add(Resumed(self.rows))
            case m.Ended(_, error):
                self._is_ended = True
                self._error = error
                self._arrived.set()

    def _add(self, change: Change) -> None:
        if len(self._changes) >= limits.CHANGES_WAITING_MAX and self.rows:
            is_interrupted = isinstance(change, Interrupted)
            self._changes.clear()
            self._changes.append(Snapshot(self.rows, "too far behind"))
            if not is_interrupted:
                self._arrived.set()
                return
        self._changes.append(change)
        self._arrived.set()
