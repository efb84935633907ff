"""What the parts of a machine use of the whole."""

from __future__ import annotations

from typing import Protocol

from ..errors import NestError
from ..wire.bodies import Welcome
from .calls import Call
from .events import Event
from .models import Models


class Context(Protocol):
    now: float
    #: The newest WELCOME; None before the first one.
    welcome: Welcome | None
    models: Models

    @property
    def is_ready(self) -> bool:
        """Whether requests are sent now."""

    def random(self) -> float:
        """A number from 0 to 1, for jitter."""

    def emit(self, event: Event) -> None:
        """Reports an event to the driver."""

    def submit(self, call: Call) -> None:
        """Lets a request of the machine itself wait; the next flush sends it."""

    def close_connection(self, error: NestError) -> None:
        """Asks the driver to close the connection."""
