"""Subscriptions, and the views of one connection that show them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from ..errors import ProtocolError
from ..wire.bodies import Diff, Request
from ..wire.messages import decode
from ..wire.results import SnapshotAssembler, State, apply_diff
from .calls import Call

SNAPSHOT_PARTS = ("snapshot", "snapshotSections", "snapshotRows")


@dataclass(slots=True, eq=False)
class Subscription:
    """What a program follows. It outlives connections: it holds the state from which it resumes."""

    number: int
    request: Request
    model: int | None
    view: View | None = None
    held: State | None = None
    #: The history that `held` is of.
    history: bytes | None = None
    #: The last object that its window was around.
    anchor: int | None = None
    #: SUBSCRIBE without an answer.
    pending: Call | None = None
    #: When to subscribe again, because the server could not take it.
    retry_at: float | None = None
    is_interrupted: bool = False

    @property
    def has_window(self) -> bool:
        return bool(self.request.get("range") or self.request.get("around"))

    def fits(self, state: State) -> bool:
        """Whether the rows of a state have the values that the request asks for."""
        projection = tuple(self.request.get("projection") or ())
        return not projection or projection == state.projection

    def remember_anchor(self, state: State | None) -> None:
        """The window is around the anchor of this state from now on."""
        if state and state.position and state.position.anchor:
            self.anchor = state.position.anchor

    def request_now(self) -> Request:
        """The request with the last anchor of its window."""
        around = self.request.get("around")
        if not around or self.anchor is None:
            return self.request
        request = self.request.copy()
        request["around"] = {"anchor": self.anchor, "before": around["before"], "after": around["after"]}
        return request


@dataclass(slots=True, eq=False)
class View:
    """A result on one connection. Equal subscriptions share one."""

    id: int
    projection: tuple[int, ...]
    has_window: bool
    state: State | None = None
    assembler: SnapshotAssembler | None = None
    reason: str = "first"
    subscriptions: list[Subscription] = field(default_factory=list)
    #: A diff did not fit: its frames mean nothing any more.
    is_broken: bool = False

    def snapshot(self, name: str, body: bytes, has_more: bool) -> State | None:
        """A frame of a snapshot; returns the state with the last one."""
        fields = decode(name, body, len(self.projection))
        if name == "snapshot":
            self.assembler = SnapshotAssembler(fields, self.projection)
            self.reason = fields["reason"]
        elif self.assembler is None:
            raise ProtocolError("PROTOCOL", "a snapshot has no beginning")
        add_part(self.assembler, name, fields)
        if has_more:
            return None
        state, self.assembler = self.assembler.finish(), None
        self.state = state if self.has_window else replace(state, position=None)
        return self.state

    def diff(self, body: bytes) -> tuple[State, Diff]:
        """Applies a DIFF; returns the state before it, and its fields."""
        fields = decode("diff", body, len(self.projection), self.has_window)
        before = self.state
        if before is None or self.assembler:
            raise ProtocolError("PROTOCOL", "a diff comes before a state")
        self.state = apply_diff(before, fields)
        return before, fields

    def progress(self, revision: int) -> None:
        """The state is exact at this revision too."""
        if self.state and self.state.revision < revision:
            self.state = replace(self.state, revision=revision)


def add_part(assembler: SnapshotAssembler, name: str, fields: Any) -> None:
    """Adds a frame that continues a snapshot."""
    if name == "snapshotSections":
        assembler.add_sections(fields["sections"])
    elif name == "snapshotRows":
        assembler.add_rows(fields["rows"])
