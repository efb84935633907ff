"""The subscriptions of a machine, and the views of its connection.

detached ──SUBSCRIBE──▶ pending ──SUBSCRIBED──▶ in a view
   ▲                                               │
   └──────────────── connection lost ──────────────┘
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..errors import NestError, ProtocolError
from ..wire import limits
from ..wire.bodies import Request, Subscribed, Totals
from ..wire.messages import decode, encode
from ..wire.results import DiffMismatch, State
from .calls import Call
from .context import Context
from .events import Changed, Ended, Interrupted, PositionChanged, Replaced, Resumed
from .views import SNAPSHOT_PARTS, Subscription, View

FEATURE_RESUME = 1 << 1


class Subscriptions:
    """What programs follow. Subscriptions outlive connections; views do not."""

    def __init__(self, machine: Context) -> None:
        self._machine = machine
        self._all: dict[int, Subscription] = {}
        self._views: dict[int, View] = {}
        self._own: list[int] = []

    def __iter__(self) -> Iterator[Subscription]:
        return iter(list(self._all.values()))

    def open(self, number: int, request: Request, model: int | None) -> None:
        one = self._all[number] = Subscription(number, request, model)
        self.begin(one)

    def close(self, number: int) -> None:
        """The program ends a subscription."""
        one = self._all.pop(number, None)
        if one:
            self._leave(one)
            self._machine.emit(Ended(number, None))

    def end(self, one: Subscription, error: NestError | None) -> None:
        self._all.pop(one.number, None)
        one.pending = None
        one.view = None
        self._machine.emit(Ended(one.number, error))

    def end_all(self, error: NestError | None) -> None:
        """The client ends."""
        for one in self:
            self.end(one, error)

    def welcomed(self) -> None:
        """There is a connection again: subscriptions resume, unless the server's model does not extend theirs."""
        for one in self:
            error = self._machine.models.error(one.model)
            if error:
                self.end(one, error)
            else:
                self.begin(one)

    def lost(self, error: NestError) -> None:
        """The connection was lost: subscriptions keep their states."""
        self._own.clear()
        self._views.clear()
        for one in self:
            self._interrupt(one, error)

    def remember_own(self, revisions: list[int]) -> None:
        """Revisions that this connection wrote."""
        self._own += [revision for revision in revisions if revision not in self._own]
        del self._own[: -limits.OWN_REVISIONS_MAX]

    def progress(self, revision: int) -> None:
        """Each view that holds a state is exact at this revision."""
        for view in self._views.values():
            view.progress(revision)

    @property
    def retry_at(self) -> float | None:
        return min((one.retry_at for one in self if one.retry_at is not None), default=None)

    def time(self, now: float) -> None:
        for one in self:
            if one.retry_at is not None and now >= one.retry_at:
                self.begin(one)

    def begin(self, one: Subscription) -> None:
        """Subscribes, if there is a connection."""
        one.retry_at = None
        welcome = self._machine.welcome
        if not welcome or not self._machine.is_ready or one.view or one.pending:
            return
        one.request = self._machine.models.spelled_out(one.request, one.model)
        resume = None
        if one.held and one.history and welcome["features"] & FEATURE_RESUME and one.fits(one.held):
            resume = {"history_id": one.history, "revision": one.held.revision}
        body = encode("subscribe", {"resume": resume, "at_least": 0, "request": one.request_now()})
        call = Call("subscribe", body, "subscribed", model=one.model)
        call.answered = lambda fields: self._subscribed(one, call, fields)
        call.refused = lambda error: self._not_subscribed(one, call, error)
        one.pending = call
        self._machine.submit(call)

    def _subscribed(self, one: Subscription, call: Call, fields: Subscribed) -> None:
        id, first = fields["view"], fields["first"]
        # Otherwise the program has ended it meanwhile: it leaves the view again.
        is_wanted = one.pending is call
        one.pending = None if is_wanted else one.pending
        if first == "alreadySubscribed":
            self._join(one, id, is_wanted)
            return
        projection = tuple(fields["projection"])
        if projection != tuple(one.request.get("projection") or projection):
            raise ProtocolError("PROTOCOL", "the rows of a subscription have other values than it asks for")
        view = self._views[id] = View(id, projection, one.has_window)
        if first != "snapshot":
            if one.held is None:
                raise ProtocolError("PROTOCOL", "a difference comes for a subscription without a state")
            view.state = one.held
            if first == "current":
                view.progress(fields["revision"])
        if not is_wanted:
            self._unsubscribe(view)
            return
        self._enter(one, view)
        if view.state:
            self._resumed(one, view.state)

    def _join(self, one: Subscription, id: int, is_wanted: bool) -> None:
        """Enters a view of another subscription, whose frames serve both."""
        view = self._views.get(id)
        if view is None:
            raise ProtocolError("PROTOCOL", "a subscription has a view that the connection does not have")
        if not is_wanted:
            self._unsubscribe(view)
            return
        if view.is_broken:
            # The state was found to be wrong in the meantime: the next connection begins without it.
            one.held = None
            self._machine.close_connection(NestError("PROTOCOL", "a diff did not fit"))
            return
        held = one.held
        self._enter(one, view)
        if view.state is None:
            return
        if held and held.sections == view.state.sections:
            self._resumed(one, view.state)
        else:
            one.is_interrupted = False
            self._machine.emit(Replaced(one.number, view.state, "first"))

    def _enter(self, one: Subscription, view: View) -> None:
        one.view = view
        view.subscriptions.append(one)

    def _resumed(self, one: Subscription, state: State) -> None:
        if one.is_interrupted:
            one.is_interrupted = False
            self._machine.emit(Resumed(one.number, state))

    def _not_subscribed(self, one: Subscription, call: Call, error: NestError) -> None:
        if one.pending is not call:
            return
        one.pending = None
        if error.name == "SHUTTING_DOWN":
            # The next connection begins it.
            return
        if one.held and error.retry in (1, 2, 4):
            pause = limits.SUBSCRIBE_AGAIN_SECONDS_MAX * (1 + self._machine.random()) / 2
            one.retry_at = self._machine.now + max(pause, error.retry_after)
        else:
            self.end(one, error)

    def frame(self, name: str, id: int, body: bytes, has_more: bool) -> None:
        """A frame with the id of a view."""
        view = self._views.get(id)
        if view is None or view.is_broken:
            # A frame of a view that the client has left.
            return
        try:
            if name in SNAPSHOT_PARTS:
                state = view.snapshot(name, body, has_more)
                if state:
                    for one in view.subscriptions:
                        one.is_interrupted = False
                        self._machine.emit(Replaced(one.number, state, view.reason))
            elif name == "diff":
                before, diff = view.diff(body)
                assert view.state
                own = tuple(r for r in self._own if before.revision < r <= view.state.revision)
                for one in view.subscriptions:
                    self._machine.emit(Changed(one.number, before, view.state, diff, own))
            elif name == "totals":
                self._totals(view, decode("totals", body))
            elif name == "subscriptionEnd":
                fields = decode("subscriptionEnd", body)
                del self._views[id]
                for one in view.subscriptions:
                    one.view = None
                    self.end(one, NestError(fields["code"], fields["message"]))
            else:
                raise ProtocolError("PROTOCOL", f"the message {name} has the id of a view")
        except DiffMismatch:
            self._drop(view, is_snapshot=name in SNAPSHOT_PARTS)

    def _totals(self, view: View, fields: Totals) -> None:
        if view.state is None or view.assembler or not view.has_window:
            raise ProtocolError("PROTOCOL", "totals come for a view without a window")
        view.state = replace(view.state, position=fields["position"])
        for one in view.subscriptions:
            self._machine.emit(PositionChanged(one.number, view.state))

    def _drop(self, view: View, is_snapshot: bool) -> None:
        """The two sides differ: drops the state, and subscribes again without it.

        If a snapshot itself is wrong, the next one may be too: it is requested after a pause.
        """
        view.is_broken = True
        subscriptions, view.subscriptions = view.subscriptions, []
        for _ in subscriptions:
            self._unsubscribe(view)
        for one in subscriptions:
            one.remember_anchor(view.state)
            one.view = None
            one.held = None
            if is_snapshot:
                one.retry_at = self._machine.now + limits.SUBSCRIBE_AGAIN_SECONDS_MAX
            else:
                self.begin(one)

    def _interrupt(self, one: Subscription, error: NestError) -> None:
        one.pending = None
        one.retry_at = None
        if one.view and one.view.state:
            one.held = one.view.state
            one.remember_anchor(one.held)
            # Before its snapshot was complete, the subscription holds the state of another history, maybe.
            welcome = self._machine.welcome
            one.history = welcome["history_id"] if welcome else None
        one.view = None
        if one.held and not one.is_interrupted:
            one.is_interrupted = True
            self._machine.emit(Interrupted(one.number, error))

    def _unsubscribe(self, view: View) -> None:
        """Ends one of the subscriptions that the server counts for a view."""
        if not self._machine.is_ready:
            return
        call = Call("unsubscribe", encode("unsubscribe", {"view": view.id}), "done")
        call.answered = lambda _: self._unsubscribed(view)
        self._machine.submit(call)

    def _unsubscribed(self, view: View) -> None:
        """Until now a SUBSCRIBE that the server has read before could join the view."""
        if not view.subscriptions and self._views.get(view.id) is view:
            del self._views[view.id]

    def _leave(self, one: Subscription) -> None:
        one.pending = None
        view, one.view = one.view, None
        if view:
            view.subscriptions.remove(one)
            self._unsubscribe(view)
