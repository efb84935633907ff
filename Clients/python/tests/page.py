"""A server that a test plays: the bytes of both sides, without a socket and without a clock."""

from __future__ import annotations

from typing import Any

from nest.machine import Event, Machine, Options
from nest.wire.frames import MORE, FrameDecoder
from nest.wire.messages import MESSAGES, NAMES, decode, encode
from nest.wire.results import WireSection, digest
from nest.wire.rows import Position, WireRow, make_key

PREFACE = b"NEST" + bytes((1, 1, 1, 0))
KEY = bytes(16)
SESSION = bytes(range(16))
HISTORY = bytes(range(16, 32))
VIEW = 0x80000005
REQUEST = {"entity": 1, "source": {"object": 1, "relationship": 6}, "projection": [1], "sort": [], "columns": []}


def frame(name: str, id: int = 0, flags: int = 0, /, **fields: Any) -> bytes:
    """A frame that a server sends."""
    body = encode(name, fields)
    return len(body).to_bytes(4, "big") + bytes((MESSAGES[name][0], flags, 0, 0)) + id.to_bytes(4, "big") + body


def welcome(**more: Any) -> bytes:
    fields = {"features": 6, "history_id": HISTORY, "revision": 7, "model_hash": 5, "requests_in_flight_max": 128}
    return frame("welcome", **{**fields, **more})


def error(id: int, code: str, retry: int = 0, retry_after: int = 0) -> bytes:
    return frame("error", id, code=code, retry=retry, retry_after=retry_after, message="no", faults=[])


def digest_of(ids: list[int]) -> int:
    return digest([WireSection(make_key(""), tuple(WireRow(id, ()) for id in ids))])


def subscribed(id: int, first: str = "snapshot", revision: int = 0, view: int = VIEW) -> bytes:
    return frame("subscribed", id, view=view, first=first, revision=revision, reason="", projection=[1])


def snapshot(ids: list[int], revision: int = 7, id: int = VIEW) -> bytes:
    """A snapshot of rows whose titles are their ids."""
    head = {
        "reason": "first",
        "revision": revision,
        "digest": digest_of(ids),
        "position": Position(len(ids), 1, 0, 0, 0, None),
        "section_count": 1,
        "sections": [{"key": make_key(""), "row_count": len(ids)}],
    }
    rows = [WireRow(one, (str(one),)) for one in ids]
    return frame("snapshot", id, MORE, **head) + frame("snapshotRows", id, rows=rows)


def insertion(
    old: list[int],
    new: int,
    start: int,
    to: int,
    view: int = VIEW,
    wrong: bool = False,
    position: Position | None = None,
) -> bytes:
    """A diff that puts a row at the end."""
    return frame(
        "diff",
        view,
        **{"from": start, "to": to},
        total=len(old) + 1,
        digest=digest_of([*old, new]) ^ (1 if wrong else 0),
        deleted_rows=[],
        deleted_sections=[],
        inserted_sections=[],
        moves=[],
        inserted_rows=[{"at": (0, len(old)), "row": WireRow(new, (str(new),))}],
        updates=[],
        position=position,
    )


def changes(revision: int, place: int = 0, view: int = VIEW) -> bytes:
    """A CHANGE_SET with one updated object."""
    objects = [{"change": "updated", "entity": 1, "id": 7, "properties": [1]}]
    fields = {"revision": revision, "time": 5, "session_number": 1, "kind": "write", "reverted": None, "name": "n"}
    return frame("changeSet", view, **fields, place=place, objects=objects, user=None, user_claimed=False)


def attribute(number: int, name: str, type: str = "string", **more: Any) -> dict[str, Any]:
    fields = {"number": number, "name": name, "type": type, "is_optional": True, "defaults_to_now": False}
    return {**fields, "default": None, "minimum": None, "maximum": None, **more}


def entity(number: int, name: str, *attributes: dict[str, Any], **more: Any) -> dict[str, Any]:
    fields = {"number": number, "name": name, "parent": None, "is_abstract": False, "attributes": list(attributes)}
    lists: dict[str, Any] = {"relationships": [], "uniqueness_constraints": [], "indexes": []}
    return {**fields, **lists, "label": None, "root": None, **more}


def model(id: int, *entities: dict[str, Any]) -> bytes:
    """MODEL with these entities, as an answer."""
    return frame("model", id, entities=list(entities))


def receipt(id: int, revision: int = 8, is_replayed: bool = False) -> bytes:
    return frame(
        "receipt", id, revision=revision, is_changed=True, is_replayed=is_replayed, results=[], name="n", conflicts=None
    )


class Page:
    """A machine and the server that it is connected to."""

    def __init__(self, random: Any = lambda: 0.5, **options: Any) -> None:
        self.machine = Machine(Options(session=SESSION, **options), random)
        self.now = 1000.0
        self.decoder = FrameDecoder(1 << 20)
        self.preface = b""

    def open(self) -> Page:
        """Connects, and reads the preface of the client."""
        assert self.machine.wants_connection
        self.machine.opened(self.now)
        self.decoder = FrameDecoder(1 << 20)
        self.preface = b""
        return self

    def ready(self, **more: Any) -> Page:
        """Connects, and answers HELLO."""
        self.open()
        assert [name for name, _, _ in self.sent()] == ["hello"]
        self.get(PREFACE + welcome(**more))
        return self

    def get(self, *data: bytes) -> None:
        """The client receives bytes."""
        for part in data:
            self.machine.received(part, self.now)

    def sent(self) -> list[tuple[str, int, Any]]:
        """What the client has sent since the last time: name, id, fields."""
        data = self.machine.take_output()
        missing = 8 - len(self.preface)
        self.preface += data[:missing]
        self.decoder.push(data[missing:])
        frames = []
        while (one := self.decoder.next()) is not None:
            name = NAMES[one.type]
            frames.append((name, one.id, decode(name, one.body)))
        return frames

    def events(self) -> list[Event]:
        return self.machine.take_events()

    def lose(self) -> None:
        self.machine.closed(self.now)

    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.machine.time(self.now)

    def reconnect(self, **more: Any) -> None:
        """Waits until the client wants to connect, and lets it."""
        while not self.machine.wants_connection:
            assert self.machine.deadline is not None
            self.now = max(self.now, self.machine.deadline)
            self.machine.time(self.now)
        self.ready(**more)


def write(page: Page, title: str = "x", model: int | None = 5) -> int:
    step = ("insert", {"entity": 1, "values": [{"property": 1, "what": ("value", title)}], "placements": []})
    fields = {"key": KEY, "name": "", "preconditions": [], "mutations": [step], "coalescing": None}
    return page.machine.call("transaction", "receipt", fields, model=model, is_write=True)


def kinds(events: Any) -> list[str]:
    return [type(event).__name__ for event in events]
