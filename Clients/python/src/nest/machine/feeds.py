"""The change feeds of a machine: each has its own cursor in the journal, which outlives connections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..errors import NestError, ProtocolError
from ..wire import limits
from ..wire.bodies import Since, Subscribed
from ..wire.messages import decode, encode
from .calls import Call
from .context import Context
from .events import ChangesCame, Ended, FeedAdvanced, FeedBegan, Interrupted


@dataclass(slots=True, eq=False)
class Feed:
    """What a program follows."""

    number: int
    #: The program has everything up to here; None until the server has named the start.
    head: Since | None
    entities: Sequence[int]
    model: int | None
    #: The id under which its changes come; None while they do not.
    view: int | None = None
    #: SUBSCRIBE_CHANGES without an answer.
    pending: Call | None = None
    retry_at: float | None = None
    is_paused: bool = False
    has_begun: bool = False

    def move(self, revision: int, place: int) -> Since:
        """The program has everything up to here now."""
        assert self.head
        self.head = {"history_id": self.head["history_id"], "revision": revision, "place": place}
        return self.head


class Feeds:
    """All feeds of a client."""

    def __init__(self, machine: Context) -> None:
        self._machine = machine
        self._all: dict[int, Feed] = {}
        self._by_view: dict[int, Feed] = {}

    def __iter__(self) -> Iterator[Feed]:
        return iter(list(self._all.values()))

    def __contains__(self, view: int) -> bool:
        """Whether the frames with this id are those of a feed."""
        return view in self._by_view

    def open(self, number: int, since: Since | None, entities: Sequence[int], model: int | None) -> None:
        one = self._all[number] = Feed(number, since, entities, model)
        self._begin(one)

    def close(self, number: int) -> None:
        """The program ends a feed."""
        one = self._all.get(number)
        if one:
            self._detach(one, is_left=True)
            self._end(one, None)

    def end_all(self, error: NestError | None) -> None:
        """The client ends."""
        for one in self:
            self._end(one, error)

    def pause(self, number: int, is_paused: bool) -> None:
        """Lets the server keep the changes of a feed whose program is slow. Other feeds go on."""
        one = self._all.get(number)
        if not one or one.is_paused == is_paused:
            return
        one.is_paused = is_paused
        if is_paused:
            self._detach(one, is_left=True)
        else:
            self._begin(one)

    def welcomed(self) -> None:
        """There is a connection again: feeds go on, unless the server's model does not extend theirs."""
        for one in self:
            error = self._machine.models.error(one.model)
            if error:
                self._end(one, error)
            else:
                self._begin(one)

    def lost(self, error: NestError) -> None:
        for one in self:
            was_live = one.view is not None
            self._detach(one, is_left=False)
            if was_live:
                self._machine.emit(Interrupted(one.number, error))

    @property
    def retry_at(self) -> float | None:
        return min((one.retry_at for one in self if one.retry_at is not None), default=None)

    def time(self, now: float) -> None:
        for one in self:
            if one.retry_at is not None and now >= one.retry_at:
                self._begin(one)

    def progress(self, revision: int) -> None:
        """All changes up to this revision have come."""
        for one in list(self._by_view.values()):
            if one.head and one.head["revision"] < revision:
                self._machine.emit(FeedAdvanced(one.number, one.move(revision, 0)))

    def frame(self, name: str, id: int, body: bytes) -> None:
        """A frame with the id of a feed."""
        one = self._by_view[id]
        if name == "changeSet":
            self._changed(one, body)
        elif name == "subscriptionEnd":
            fields = decode("subscriptionEnd", body)
            self._end(one, NestError(fields["code"], fields["message"]))
        else:
            raise ProtocolError("PROTOCOL", f"the message {name} has the id of a feed")

    def _changed(self, one: Feed, body: bytes) -> None:
        part = decode("changeSet", body)
        assert one.head
        if part["revision"] <= one.head["revision"]:
            raise ProtocolError("PROTOCOL", f"changes of revision {part['revision']} come twice, or out of order")
        # Inside a change set the head is the revision before it, whatever the feed has skipped since the last one.
        revision = part["revision"] - 1 if part["place"] else part["revision"]
        at = one.move(revision, part["place"])
        self._machine.emit(ChangesCame(one.number, part, at, len(body)))

    def _begin(self, one: Feed) -> None:
        """Subscribes from the cursor, if there is a connection."""
        one.retry_at = None
        if not self._machine.is_ready or one.is_paused or one.view is not None or one.pending:
            return
        body = encode("subscribeChanges", {"since": one.head, "entities": one.entities})
        call = one.pending = Call("subscribeChanges", body, "subscribed", model=one.model)
        call.answered = lambda fields: self._subscribed(one, call, fields)
        call.refused = lambda error: self._not_subscribed(one, call, error)
        self._machine.submit(call)

    def _subscribed(self, one: Feed, call: Call, fields: Subscribed) -> None:
        if one.pending is not call:
            # The program has ended or paused it meanwhile.
            self._leave(fields["view"])
            return
        one.pending = None
        if fields["first"] != "current":
            raise ProtocolError("PROTOCOL", "a change feed cannot begin with a state")
        one.view = fields["view"]
        self._by_view[one.view] = one
        if one.head is None:
            assert self._machine.welcome
            history = self._machine.welcome["history_id"]
            one.head = {"history_id": history, "revision": fields["revision"], "place": 0}
        one.has_begun = True
        self._machine.emit(FeedBegan(one.number, one.head))

    def _not_subscribed(self, one: Feed, call: Call, error: NestError) -> None:
        if one.pending is not call:
            return
        one.pending = None
        if error.name == "SHUTTING_DOWN":
            # The next connection begins it.
            return
        if one.has_begun and error.retry in (1, 2, 4):
            pause = limits.SUBSCRIBE_AGAIN_SECONDS_MAX * (1 + self._machine.random()) / 2
            one.retry_at = self._machine.now + max(pause, error.retry_after)
        else:
            self._end(one, error)

    def _end(self, one: Feed, error: NestError | None) -> None:
        self._all.pop(one.number, None)
        self._detach(one, is_left=False)
        self._machine.emit(Ended(one.number, error))

    def _detach(self, one: Feed, is_left: bool) -> None:
        """Forgets the view. `is_left`: the server must know."""
        one.pending = None
        one.retry_at = None
        view, one.view = one.view, None
        if view is not None:
            del self._by_view[view]
            if is_left:
                self._leave(view)

    def _leave(self, view: int) -> None:
        if self._machine.is_ready:
            call = Call("unsubscribe", encode("unsubscribe", {"view": view}), "done")
            call.answered = lambda _: None
            self._machine.submit(call)
