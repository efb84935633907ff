"""What a machine makes of bytes that are cut anywhere, and of damaged ones."""

from __future__ import annotations

import os
import random
import unittest
from typing import Any

from nest.errors import NestError, ProtocolError
from nest.wire.messages import decode
from nest.wire.rows import Position

from . import vectors
from .page import (
    PREFACE,
    REQUEST,
    VIEW,
    Page,
    changes,
    error,
    frame,
    insertion,
    receipt,
    snapshot,
    subscribed,
    welcome,
    write,
)


def conversation() -> bytes:
    """What a server sends in a life with everything in it."""
    return b"".join(
        (
            PREFACE,
            welcome(),
            frame("ping", payload=b"abcdefgh"),
            subscribed(1),
            snapshot([2, 3]),
            frame("own", revisions=[8]),
            insertion([2, 3], 4, 7, 8),
            subscribed(2, "current", 7, view=VIEW + 2),
            changes(8, 5, view=VIEW + 2),
            changes(8, view=VIEW + 2),
            frame("progress", revision=8),
            receipt(3),
            snapshot([5, 6], id=4),
            error(5, "NOT_FOUND"),
            frame("totals", VIEW + 1, revision=8, position=Position(1, 1, 0, 0, 0, None)),
            insertion([2, 3, 4], 5, 8, 9),
            frame("subscriptionEnd", VIEW, code="SCHEMA_CHANGED", message="m"),
            frame("goAway", code="SHUTTING_DOWN", last_request_id=9, retry_after=5, message="bye"),
        )
    )


class Bytes(unittest.TestCase):
    def play(self, parts: list[bytes]) -> tuple[list[str], bytes]:
        page = Page()
        page.machine.subscribe(REQUEST, 5)
        page.machine.follow_changes(None, [])
        write(page)
        page.machine.call("fetch", "snapshot", {"at_least": 0, "request": REQUEST}, projection=(1,))
        page.machine.call("getObject", "object", {"id": 9})
        page.open()
        page.get(*parts)
        page.lose()
        return [repr(self.plain(event)) for event in page.events()], page.machine.take_output()

    def plain(self, event: Any) -> Any:
        """An event in a form that is equal when it says the same."""
        error = getattr(event, "error", None)
        if isinstance(error, NestError):
            return type(event).__name__, error.name, error.text, error.retry
        return event

    def seed(self) -> random.Random:
        seed = int(os.environ.get("NEST_SEED", random.SystemRandom().randrange(2**32)))
        print(f"NEST_SEED={seed}", flush=True)
        return random.Random(seed)

    def test_the_cuts_of_the_transport_change_nothing(self) -> None:
        data = conversation()
        whole = self.play([data])
        self.assertEqual(
            [event[:8] for event in whole[0][:2]], ["Ready(we", "Replaced"], "the conversation does not end early"
        )
        self.assertIn("bye", whole[0][-1])
        self.assertEqual(sum(event.startswith("ChangesCame") for event in whole[0]), 2)
        self.assertEqual(self.play([bytes((byte,)) for byte in data]), whole)
        chance = self.seed()
        for _ in range(50):
            cuts = sorted(chance.sample(range(len(data)), 5))
            parts = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]
            self.assertEqual(self.play(parts), whole)

    def test_damaged_bytes_never_raise(self) -> None:
        data = conversation()
        chance = self.seed()
        for _ in range(1500):
            damaged = bytearray(data)
            for _ in range(chance.choice((1, 1, 2, 8))):
                damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
            end = chance.choice((len(damaged), chance.randrange(len(damaged))))
            with self.subTest(bytes(damaged[:end]).hex()):
                self.play([bytes(damaged[:end])])

    def test_damaged_bodies_are_refused_with_one_exception(self) -> None:
        chance = self.seed()
        frames = [v for v in vectors.load("frames") if v["type"] not in vectors.OF_NODES and not v["flags"] & 2]
        refused = 0
        for _ in range(6000):
            vector = chance.choice(frames)
            body = bytearray(vectors.bytes_of(vector["hex"])[12:])
            for _ in range(chance.choice((1, 2, 4))):
                if body:
                    body[chance.randrange(len(body))] = chance.randrange(256)
            cut = bytes(body[: chance.randrange(len(body) + 1)]) if chance.random() < 0.3 else bytes(body)
            width = vector["fields"].get("valueCount", 0)
            try:
                decode(vector["type"], cut, width, chance.random() < 0.5)
            except ProtocolError:
                refused += 1
        self.assertGreater(refused, 500)


if __name__ == "__main__":
    unittest.main()
