"""A subscription on asyncio: the changes of a result."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Generic

from . import machine as m
from .model import Model
from .requests import FetchRequest, Lowered
from .rows import Change, Diff, Interrupted, PositionChange, Resumed, Rows, Snapshot, row_events
from .stream import Owner, Stream
from .typed import R
from .wire import limits


class Subscription(Stream[Change[R]], Generic[R]):
    """The changes of a result: an asynchronous iterator, which begins with a Snapshot.

    Most changes have `rows`, the whole result. A loop that is slow gets one Snapshot in place of many changes.
    """

    def __init__(
        self,
        client: Owner,
        request: FetchRequest[R],
        lower: Callable[[FetchRequest[Any]], Awaitable[Lowered]],
        newest: Callable[[Model], Model],
    ) -> None:
        super().__init__(client)
        self._request = request
        self._lower = lower
        self._newest = newest
        self._lowered: Lowered | None = None
        #: The newest rows, which may be newer than those of the last change; None before the first Snapshot.
        self.rows: Rows[R] | None = None

    def __repr__(self) -> str:
        return f"<Subscription of {self._request!r}>"

    async def _prepare(self) -> Callable[[m.Machine], int]:
        self._lowered = lowered = await self._lower(self._request)
        return lambda machine: machine.subscribe(lowered.wire, self._request.model.hash)

    def _receive(self, event: m.SubscriptionEvent) -> None:
        assert self._lowered
        # Rows may be of entities that the model of the request does not have.
        shape = self._lowered.shape.named_by(self._newest(self._request.model))
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
            case _:
                super()._receive(event)

    def _add(self, one: Change[R]) -> None:
        """Lets a change wait. Too many, or changes of too many rows, become one Snapshot."""
        rows = len(self.rows) if self.rows else 0
        count = len(self._waiting)
        if self.rows and count and (count >= limits.CHANGES_WAITING_MAX or count * rows > limits.ROWS_WAITING_MAX):
            self._waiting.clear()
            super()._add(Snapshot(self.rows, "too far behind"))
            if not isinstance(one, Interrupted):
                return
        super()._add(one)
