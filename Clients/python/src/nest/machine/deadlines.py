"""The times of a client: how long a server may take for HELLO, when it is silent, when the next attempt is made."""

from __future__ import annotations

from collections.abc import Callable

from ..wire import limits
from .alive import Health, KeepAlive
from .backoff import Backoff


class Deadlines:
    """What must happen when. Times are seconds of the driver's clock."""

    __slots__ = ("_backoff", "_connect_at", "_handshake_at", "_alive", "_ready_since", "_retry_after")

    def __init__(self, random: Callable[[], float], pause_max: float) -> None:
        self._backoff = Backoff(random, pause_max)
        self._connect_at: float | None = None
        self._handshake_at: float | None = None
        self._alive: KeepAlive | None = None
        self._ready_since: float | None = None
        self._retry_after = 0.0

    @property
    def next(self) -> float | None:
        times = (self._connect_at, self._handshake_at, self._alive.deadline if self._alive else None)
        return min((time for time in times if time is not None), default=None)

    @property
    def was_ready(self) -> bool:
        """Whether the server has accepted the client on this connection."""
        return self._ready_since is not None

    def opened(self, now: float) -> None:
        self._handshake_at = now + limits.HANDSHAKE_SECONDS

    def welcomed(self, now: float, ping_interval: float) -> None:
        self._handshake_at = None
        self._ready_since = now
        self._alive = KeepAlive(now, ping_interval)

    def received(self, now: float) -> None:
        if self._alive:
            self._alive.received(now)

    def wait_for(self, seconds: float) -> None:
        """The server asks for a pause of so many seconds before the next attempt to connect."""
        self._retry_after = max(self._retry_after, seconds)

    def closed(self, now: float, is_node: bool) -> float:
        """The connection, maybe to a node of a cluster, has ended. Returns the pause until the next attempt."""
        is_healthy = self._ready_since is not None and self._backoff.lived(now - self._ready_since, is_node)
        pause = max(0.0 if is_healthy else self._backoff.next(), self._retry_after)
        self.stop()
        self._connect_at = now + pause
        return pause

    def stop(self) -> None:
        """There is no connection, and none is wanted."""
        self._connect_at = self._handshake_at = self._alive = self._ready_since = None
        self._retry_after = 0.0

    def leave(self) -> None:
        """The connection is being closed: nothing is expected of it any more."""
        self._handshake_at = self._alive = None

    def connects(self, now: float) -> bool:
        """Whether it is time for the next attempt to connect."""
        if self._connect_at is None or now < self._connect_at:
            return False
        self._connect_at = None
        return True

    def has_missed_handshake(self, now: float) -> bool:
        return self._handshake_at is not None and now >= self._handshake_at

    def health(self, now: float) -> Health:
        return self._alive.check(now) if self._alive else Health.FINE
