"""The client on asyncio.

async with nest.connect("127.0.0.1:7000") as client:
    items = await client.entity("Item")
    rows = await client.fetch(items.children(1))
"""

from __future__ import annotations

import asyncio
import random
import secrets
import ssl
import warnings
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import aclosing
from types import TracebackType
from typing import IO, Any, Literal, overload

from .address import Address, check_clear, read_addresses, read_token, tls_context
from .changes import ChangePoint, Changes, EntityName
from .driver import Driver
from .entities import Entity, find_entity
from .errors import NestError
from .history import HistoryEntry, Object, UndoState, make_entry, make_object, make_undo_state
from .machine import Machine, Options, Phase
from .model import LargeValue, Model, make_model, object_id
from .predicates import Predicates
from .requests import FetchRequest, Lowered
from .rows import Row, Rows
from .subscription import Subscription
from .transactions import Receipt, Step, make_receipt, make_transaction
from .typed import E, R, Typed
from .values import Progress, Source, ValueReader, send_value
from .wire import compression, limits
from .wire.bodies import Predicate, Welcome
from .wire.messages import NEWEST

Policy = Literal["keep", "force", "strict"]
State = Literal["connecting", "ready", "reconnecting", "closed"]


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
    """A client that connects when it is entered.

    `address`: `host:port`, or `nests://host:port` for TLS; several, in a list or with commas between, for the nodes of
    a cluster. `token`: what `nestc token create` printed; it is sent over TLS or to your own machine only. `user`: your
    name for others, on a server without tokens. `session`: 16 secret bytes that own the undo stack: keep them to undo
    in a later run. `zone`: how dates without a zone are read in predicates, such as `Europe/Berlin`; UTC if left out.

    `tls`: the context of a `nests://` address, which is set to TLS 1.3 and `nest/1`; the system's certificates if left
    out. `server_name`: the name in the certificate, if it is not the host. `request_timeout`: seconds until a request
    fails that has no answer, also while there is no connection; None: never. `reconnect_pause_max`: the longest pause
    between attempts to connect, in seconds.
    """
    servers = read_addresses(address)
    if token is not None:
        for server in servers:
            check_clear(server)
    is_secure = servers[0].is_secure
    if not is_secure and (tls is not None or server_name is not None):
        raise NestError("INVALID", f"{servers[0]} is without TLS: write nests://{servers[0].host}:{servers[0].port}")
    if session is not None and len(session) != 16:
        raise NestError("INVALID", "a session has 16 bytes")
    options = Options(
        session=session or secrets.token_bytes(16),
        client_name=client_name,
        user=user,
        token=read_token(token) if token is not None else None,
        unpacks=compression.IS_AVAILABLE,
        reconnect_pause_max=reconnect_pause_max,
        server_count=len(servers),
    )
    context = tls_context(tls) if is_secure else None
    return Client(servers, options, zone, context, server_name, request_timeout)


class Client:
    """A client of a server, or of a cluster, which connects again by itself until it is closed.

    It belongs to the event loop in which it was entered: other threads use nest.sync, or run_coroutine_threadsafe.
    """

    def __init__(
        self,
        addresses: Sequence[Address],
        options: Options,
        zone: str,
        tls: ssl.SSLContext | None,
        server_name: str | None,
        request_timeout: float | None,
    ) -> None:
        self._driver: Driver | None = None
        self._addresses = addresses
        self._options = options
        self._zone = zone
        self._tls = tls
        self._server_name = server_name
        self._request_timeout = request_timeout
        self._model: Model | None = None
        self._predicates = Predicates(self._parse)

    def __repr__(self) -> str:
        return f"<Client of {', '.join(map(str, self._addresses))}, {self.state}>"

    def __await__(self) -> Generator[Any, None, Client]:
        """Connects; `close` ends the client."""
        return self.__aenter__().__await__()

    async def __aenter__(self) -> Client:
        if self._driver:
            raise NestError("INVALID", "a client is entered once: make another one with connect()")
        machine = Machine(self._options, random.SystemRandom().random)
        self._driver = Driver(machine, self._addresses, self._tls, self._server_name, self._request_timeout)
        await self._driver.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def close(self) -> None:
        """Ends the client: its subscriptions end, and requests that wait fail with CLOSED."""
        if self._driver:
            self._driver.close()

    async def aclose(self) -> None:
        """As `close`; returns when the connection is closed."""
        self.close()
        if self._driver:
            await self._driver.wait_closed()

    def __del__(self) -> None:
        driver = self._driver
        if driver is None or driver.machine.error or not driver.run_soon(driver.close):
            return
        warnings.warn(f"{self!r} was never closed: use `async with`", ResourceWarning, stacklevel=2)

    @property
    def session(self) -> bytes:
        """The secret that owns the undo stack."""
        return self._options.session

    @property
    def state(self) -> State:
        """`reconnecting` while a connection that was there is lost; requests wait until it is back."""
        machine = self._driver.machine if self._driver else None
        if machine and machine.error:
            return "closed"
        if machine is None or machine.welcome is None:
            return "connecting"
        return "ready" if machine.phase is Phase.READY else "reconnecting"

    @property
    def is_connected(self) -> bool:
        """Whether the server has accepted the client, and the connection is there."""
        return self.state == "ready"

    @property
    def _running(self) -> Driver:
        if not self._driver:
            raise NestError("INVALID", "enter the client first: async with nest.connect(…) as client")
        return self._driver

    @property
    def _welcome(self) -> Welcome:
        welcome = self._running.machine.welcome
        if welcome is None:
            raise NestError("CLOSED", "the client was never connected")
        return welcome

    # The model

    async def model(self) -> Model:
        """The server's model: its entities and their properties by name."""
        while (model := self._read_model()) is None:
            await self._running.call("getModel", "model")
        return model

    def _read_model(self) -> Model | None:
        """The server's model, if the client has read it."""
        hash = self._welcome["model_hash"]
        if self._model is None or self._model.hash != hash:
            fields = self._running.machine.models.get(hash)
            if fields is None:
                return None
            self._model = make_model(hash, fields)
        return self._model

    def _newest(self, model: Model) -> Model:
        """What names the entities that a request for this model finds: the server's model, which extends it."""
        return self._read_model() or model

    @overload
    async def entity(self, name: str) -> Entity: ...
    @overload
    async def entity(self, name: type[Typed[E, Any, Any]]) -> E: ...
    async def entity(self, name: str | type[Typed[Any, Any, Any]]) -> Any:
        """The request for all objects of an entity, which also makes the steps that write them.

        By its name, or by a class of `nestc model generate python`, whose objects the rows are then: UNKNOWN_ENTITY or
        UNKNOWN_PROPERTY if the server's model has no entity of its name, or lacks one of its `columns`.
        """
        return find_entity(await self.model(), name)

    async def named_request(self, name: str, source: Any = None, **variables: Any) -> FetchRequest[Row]:
        """A request that the model names: `Thing.others` for a fetched property of Core Data, or a template's name.

        `source`: the object that `$FETCH_SOURCE` stands for. `$FETCH_SOURCE.price` is the value that it has now: ask
        again after it has changed. `variables`: the values of the others.
        """
        model = await self.model()
        named = model.requests.get(name)
        if named is None:
            raise NestError("INVALID", f"the model names no request '{name}', only {', '.join(model.requests)}")
        if (source is None) != (named.source is None):
            needs = "has no source" if named.source is None else "needs its source"
            raise NestError("INVALID", f"the request {name} {needs}")
        values: dict[str, Any] = {}
        if named.source is not None:
            source = object_id(source)
            paths = named.paths()
            kind: Any = find_entity(model, model.by_number[named.source].name)
            rows = await self.fetch(kind.where(f"SELF == {source}").properties(*(paths or ["@entity"])))
            if not rows:
                raise NestError("NOT_FOUND", f"there is no object {source} of {model.by_number[named.source].name}")
            values = {path: rows[0][path] for path in paths}
        request: Any = find_entity(model, model.by_number[named.entity].name)
        found: FetchRequest[Row] = request.where(named.bound(source, values, variables))
        return found._with(sort_keys=tuple(named.sort.split(","))) if named.sort else found

    # Reads

    async def fetch(self, request: FetchRequest[R], *, at_least: int | Literal["newest"] = 0) -> Rows[R]:
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
        return Rows(state, lowered.shape.named_by(self._newest(request.model)))

    async def count(self, request: FetchRequest[Any]) -> int:
        """How many rows a request has."""
        return (await self.fetch(request.window(0, 0))).total

    async def object(self, object: Any) -> Object:
        """One object with all it has."""
        model = await self.model()
        fields = await self._running.call("getObject", "object", {"id": object_id(object)}, model=model.hash)
        return make_object(fields, model)

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
        """Follows a request: an iterator of changes, which begins with a Snapshot.

        `properties`: the values to send, as of `request.properties`; empty or None: as the request has, with its
        rows. For a request with types, give mypy None, because it cannot see that a sequence is empty.
        """
        if properties:
            request = request.properties(*properties)
        if window is not None:
            if not isinstance(window, range) or window.step != 1:
                raise NestError("INVALID", f"a window is a range of rows, such as range(0, 50), not {window!r}")
            request = request.window(window.start, len(window))
        return Subscription(self, request, self._lower, self._newest)

    def changes(self, *, since: ChangePoint | None = None, entities: Sequence[EntityName] = ()) -> Changes:
        """Follows what every transaction changes, in order and without gaps: an iterator, which begins with Following.

        `since`: the `at` of an earlier change, also of another run; from now on if left out. `entities`: only objects
        of these, and of the entities below them; all if left out.
        """
        return Changes(self, since, entities, self.model, self._newest)

    async def _lower(self, request: FetchRequest[Any]) -> Lowered:
        read = self._predicates.read(request.model.hash, request.description.number, request.predicates)
        return request.lower(await read)

    async def _parse(self, model: int, entity: int, text: str) -> bytes:
        fields = {"entity": entity, "text": text, "now": 0, "zone": self._zone}
        answer: Predicate = await self._running.call("parsePredicate", "predicate", fields, model=model)
        return answer["predicate"]

    # Writes

    async def transaction(
        self,
        steps: Step | Iterable[Step],
        *,
        name: str = "",
        expect: Mapping[Any, int] | None = None,
        coalescing: tuple[str, float] | None = None,
        key: bytes | None = None,
    ) -> Receipt:
        """Writes all steps or none, as one undo entry, or a single step. Returns when it is durable.

        `expect`: object -> revision; CONFLICT if the object has changed since. `coalescing`: a key and seconds; the
        transaction joins the undo entry of the write before, if that had the same key and is not older. `key`: 16
        bytes, those of an earlier error or your own: the same write with the same key is executed at most once.
        """
        steps = [steps] if isinstance(steps, Step) else list(steps)
        for step in steps:
            if not isinstance(step, Step):
                raise NestError("INVALID", f"a transaction takes steps, such as entity.insert(…), not {step!r}")
        if not steps:
            raise NestError("INVALID", "a transaction has at least one step")
        models = {step.model.hash: step.model for step in steps}
        newest = self._running.machine.models.newest(models)
        if newest is None:
            raise NestError("INVALID", "the steps are of different models, of which none extends the others")
        model = models[newest]
        fields = make_transaction(steps, key or secrets.token_bytes(16), name, expect or {}, coalescing)
        answer = await self._running.call("transaction", "receipt", fields, model=model.hash, is_write=True)
        return make_receipt(answer, self._newest(model), steps)

    async def reserve_ids(self, count: int) -> range:
        """Reserves ids for objects that a program shows before the server has inserted them, durable on return.

        `entity.insert(…, as_id=id)` uses one; an id that is not reserved, or was used, is INVALID. They belong to the
        session, and no other object ever gets them, whether they are used or not. A session keeps its newest 1,048,576
        unused ids, in at most 100 pieces; older ones are lost. Used in ascending order, they are few pieces. Under
        another history id, which a restored store has, do not use ids that were reserved before.

        `count`: 1 to 65,536. Each call is a commit: ask for many at once.
        """
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            most = limits.RESERVED_IDS_PER_REQUEST_MAX
            raise NestError("INVALID", f"reserve_ids takes a number from 1 to {most}, not {count!r}")
        ids = await self._running.call("reserve", "reserved", {"count": count})
        if ids["count"] != count:
            raise NestError("PROTOCOL", f"the server reserved {ids['count']} ids instead of {count}")
        first: int = ids["first"]
        return range(first, first + count)

    # Large values

    async def send_value(
        self, entity: FetchRequest[Any], property: str, source: Source, *, progress: Progress | None = None
    ) -> LargeValue:
        """Sends the bytes of a large value. A transaction of this session sets the result, once and within a day.

        `source`: bytes, a text, or an open file, of which the rest is read. All of it is in memory meanwhile.
        `progress`: called after each piece with the bytes so far, and with all.

        VALUE_TOO_LARGE: more than the server accepts. INVALID_TEXT: a largeText that is not UTF-8, or has a NUL.
        CONNECTION_LOST: nothing was stored, send it again.
        """
        return await send_value(self._running, entity, property, source, progress)

    async def read_value(
        self,
        entity: FetchRequest[Any],
        object: Any,
        property: str,
        *,
        at_least: int = 0,
        offset: int = 0,
        progress: Progress | None = None,
    ) -> bytes:
        """The bytes of an object's large value, from `offset` on. NOT_FOUND if it has none.

        After a lost connection it goes on where it was, up to 5 times without a byte in between. CONFLICT: meanwhile
        the object has got another value. CHECKSUM: what came is not what was sent.
        """
        reader = ValueReader(self._running, entity, object, property, at_least, offset, progress)
        return b"".join([piece async for piece in reader.pieces()])

    async def read_text(
        self,
        entity: FetchRequest[Any],
        object: Any,
        property: str,
        *,
        at_least: int = 0,
        progress: Progress | None = None,
    ) -> str:
        """The same as text. INVALID_TEXT if the bytes are not UTF-8."""
        try:
            return (await self.read_value(entity, object, property, at_least=at_least, progress=progress)).decode()
        except UnicodeDecodeError:
            raise NestError("INVALID_TEXT", "the value is not UTF-8") from None

    async def save_value(
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
        """As `read_value`, into a binary file: piece by piece, no faster than the file takes them.

        If it raises an error, the file may have a part of the value. Only without an error all of it is there.
        """
        reader = ValueReader(self._running, entity, object, property, at_least, offset, progress)
        async with aclosing(reader.pieces()) as pieces:
            async for piece in pieces:
                await asyncio.to_thread(_write_all, file, piece)
        assert reader.value
        return reader.value

    async def undo(
        self, *, policy: Policy = "keep", rehome: bool = False, expected: int | None = None, key: bytes | None = None
    ) -> Receipt:
        """Takes back the newest undo entry of the session; NOTHING_TO_UNDO if there is none.

        `policy`: `keep` leaves what others have changed since, `force` overwrites it, `strict` refuses. `rehome`: an
        object whose owner is gone comes back under the nearest living one above. `expected`: the revision of the entry
        that is meant, by `undo_state`. `key`: as of `transaction`.
        """
        return await self._take_back("undo", key, policy=policy, rehomes=rehome, expected=expected)

    async def redo(
        self, *, policy: Policy = "keep", rehome: bool = False, expected: int | None = None, key: bytes | None = None
    ) -> Receipt:
        """Does again what the session's newest undo has taken back; NOTHING_TO_REDO if there is nothing."""
        return await self._take_back("redo", key, policy=policy, rehomes=rehome, expected=expected)

    async def revert(
        self,
        revision: int,
        *,
        policy: Policy = "keep",
        rehome: bool = False,
        of_anyone: bool = False,
        key: bytes | None = None,
    ) -> Receipt:
        """Takes back any one past transaction by its revision, as a new undo entry.

        `of_anyone`: also one of another session.
        """
        fields = {"policy": policy, "rehomes": rehome, "revision": revision, "of_anyone": of_anyone}
        return await self._take_back("revert", key, **fields)

    async def _take_back(self, message: str, key: bytes | None, **fields: Any) -> Receipt:
        made = {"key": key or secrets.token_bytes(16), **fields}
        answer = await self._running.call(message, "receipt", made, is_write=True)
        return make_receipt(answer, await self.model() if answer["conflicts"] else None)

    async def undo_state(self) -> UndoState:
        """What the next undo and redo of the session take back."""
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


def _write_all(file: IO[bytes], data: bytes) -> None:
    """Writes all of it: a file without a buffer may take less at once."""
    view = memoryview(data)
    while view:
        view = view[file.write(view) or 0 :]
