"""A follower of a subscription that checks every change, with code of its own and with nestc beside it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import nest
from nest import Deleted, Diff, Inserted, Moved, SectionDeleted, SectionInserted
from nest.wire.rows import make_key

from .server import NESTC, Server


def plain_digest(sections: Any) -> int:
    """The digest of protocol.md, section 12, word by word."""
    digest = 0
    for section in sections:
        for row in section.rows:
            z = make_key(section.key).hash ^ row.id * 0x9E3779B97F4A7C15 % 2**64
            z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
            z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
            digest = (digest * 0x0C9B1D3F5A276E85 + (z ^ z >> 31) % (2**61 - 2) + 1) % (2**61 - 1)
    return digest


def shape(rows: nest.Rows) -> list[tuple[Any, list[int]]]:
    return [(section.key, [row.id for row in section.rows]) for section in rows.sections]


def applied(state: Any, events: Any) -> Any:
    """A diff on ids alone, as section 11 of protocol.md writes it."""
    state = [(key, list(ids)) for key, ids in state]
    leaving = [(e.at, None) for e in events if isinstance(e, Deleted)]
    leaving += [(e.source, e.target) for e in events if isinstance(e, Moved)]
    arriving = [(e.at, e.row.id) for e in events if isinstance(e, Inserted)]
    for (section, row), target in sorted(leaving, key=lambda one: one[0], reverse=True):
        id = state[section][1].pop(row)
        if target:
            arriving.append((target, id))
    for event in reversed([e for e in events if isinstance(e, SectionDeleted)]):
        assert state.pop(event.at)[1] == [], "a deleted section has rows"
    for event in events:
        if isinstance(event, SectionInserted):
            state.insert(event.at, (event.key, []))
    for (section, row), id in sorted(arriving):
        state[section][1].insert(row, id)
    return state


class Follower:
    """A subscription whose every change is checked, and nestc with the same request beside it."""

    def __init__(self, server: Server, subscription: nest.Subscription, options: list[str], shown: list[str]) -> None:
        self.subscription = subscription
        self.options = [*options, ",".join(shown)]
        self.digests: dict[int, str] = {}
        self.compared = 0
        self._seen: dict[int, str] = {}
        self._server = server

    async def follow(self) -> None:
        before: Any = None
        async for change in self.subscription:
            rows = getattr(change, "rows", None)
            if rows is None:
                continue
            assert before is None or rows.revision >= before.revision, "revisions grow"
            if isinstance(change, Diff):
                assert applied(shape(before), change.events) == shape(rows), "the events lead to other rows"
            assert plain_digest(rows.sections) == rows.digest
            self._saw(rows.revision, f"{rows.digest:016x}")
            before = rows

    async def watch(self) -> None:
        """Reads the digests that nestc prints."""
        process = await asyncio.create_subprocess_exec(
            NESTC,
            "subscribe",
            "--json",
            *self.options,
            **self._server.command,
            stdout=asyncio.subprocess.PIPE,
            limit=1 << 24,
        )
        assert process.stdout
        try:
            async for line in process.stdout:
                event = json.loads(line)
                if event["event"] in ("snapshot", "diff"):
                    self.digests[event.get("revision", event.get("to"))] = event["digest"]
            raise AssertionError("nestc has ended")
        finally:
            process.kill()
            await process.wait()

    def _saw(self, revision: int, digest: str) -> None:
        self._seen[revision] = digest

    def compare(self) -> None:
        """Compares the digests of all revisions that both have seen."""
        for revision in self._seen.keys() & self.digests.keys():
            assert self._seen[revision] == self.digests[revision], f"the digest at revision {revision}"
            self.compared += 1
        self._seen.clear()
