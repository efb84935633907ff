"""Signs of life: PING after a silence, and the end after another."""

from __future__ import annotations

from enum import Enum

from ..wire import limits


class Health(Enum):
    FINE = "fine"
    #: The client must send PING.
    SILENT = "silent"
    #: The server has not answered PING: the connection must be closed.
    DEAD = "dead"


class KeepAlive:
    """Watches one connection from WELCOME on."""

    __slots__ = ("_interval", "_last_received", "_pinged_at")

    def __init__(self, now: float, interval: float) -> None:
        self._interval = max(interval, limits.PING_INTERVAL_SECONDS_MIN)
        self._last_received = now
        self._pinged_at: float | None = None

    @property
    def deadline(self) -> float:
        if self._pinged_at is None:
            return self._last_received + self._interval
        return self._pinged_at + limits.PING_TIMEOUT_SECONDS

    def received(self, now: float) -> None:
        """Any byte is a sign of life."""
        self._last_received = now
        self._pinged_at = None

    def check(self, now: float) -> Health:
        if now < self.deadline:
            return Health.FINE
        if self._pinged_at is not None:
            return Health.DEAD
        self._pinged_at = now
        return Health.SILENT
