"""A proxy between clients and a server that delays, cuts into pieces, stalls and breaks connections, by a seed."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Faults:
    """What happens to one direction of a connection."""

    #: Seconds before bytes go on.
    delay: float = 0.0
    #: The largest piece.
    piece: int = 65_536
    #: cut, reset or stall, after so many bytes.
    end: str | None = None
    after: int = 1 << 60


def draw(chance: random.Random) -> Faults:
    """Faults of a direction; many have none, so that clients make progress."""
    kinds = (
        Faults(delay=chance.uniform(0.001, 0.04)),
        Faults(piece=1),
        Faults(piece=chance.randint(2, 1500)),
        Faults(end="cut", after=chance.randrange(2000)),
        Faults(end="reset", after=chance.randrange(2000)),
        Faults(end="stall", after=chance.randrange(1000)),
        Faults(
            delay=chance.uniform(0.001, 0.015), piece=chance.randint(2, 400), end="cut", after=chance.randrange(6000)
        ),
        Faults(),
        Faults(),
    )
    return chance.choice(kinds)


class ChaosProxy:
    """Listens on a free port, and forwards to `target()`, the port of the server now."""

    def __init__(self, target: Callable[[], int], chance: random.Random) -> None:
        self._target = target
        self._chance = chance
        #: Whether connections that begin now have faults.
        self.is_wild = False
        self.port = 0
        self.counts: Counter[str] = Counter()
        self._server: asyncio.Server | None = None
        self._links: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> ChaosProxy:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server
        self._server.close()
        await self.break_all()

    async def break_all(self) -> None:
        """Breaks all connections at once."""
        links = list(self._links)
        for link in links:
            link.cancel()
        if links:
            await asyncio.wait(links)

    async def calm(self) -> None:
        """From now on connections have no faults; those that have some are broken."""
        if self.is_wild:
            self.is_wild = False
            await self.break_all()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.counts["connections"] += 1
        faults = (draw(self._chance), draw(self._chance)) if self.is_wild else (Faults(), Faults())
        link = asyncio.get_running_loop().create_task(self._link(reader, writer, faults))
        self._links.add(link)
        link.add_done_callback(self._links.discard)
        # A link that is cancelled before it begins closes nothing.
        link.add_done_callback(lambda _: writer.transport.abort())

    async def _link(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, faults: tuple[Faults, Faults]
    ) -> None:
        other: asyncio.StreamWriter | None = None
        try:
            back, other = await asyncio.open_connection("127.0.0.1", self._target())
            ways = [
                asyncio.ensure_future(self._forward(reader, other, faults[0])),
                asyncio.ensure_future(self._forward(back, writer, faults[1])),
            ]
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.wait(ways)
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            for one in (writer, other):
                if one:
                    one.transport.abort()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, faults: Faults) -> None:
        left = faults.after
        try:
            while data := await reader.read(65_536):
                if faults.delay:
                    await asyncio.sleep(faults.delay)
                while data:
                    piece, data = data[: min(faults.piece, left)], data[min(faults.piece, left) :]
                    left -= len(piece)
                    writer.write(piece)
                    await writer.drain()
                    # A turn of the loop between two pieces: otherwise the kernel joins them again.
                    await asyncio.sleep(0)
                    if left <= 0 and faults.end:
                        self.counts[faults.end] += 1
                        if faults.end == "stall":
                            # Nothing is lost, but nothing arrives; then it breaks.
                            await asyncio.sleep(0.5)
                        return
        except OSError:
            pass
