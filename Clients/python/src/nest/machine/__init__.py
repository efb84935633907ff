"""The client as a machine without I/O: bytes and time in; bytes, events and deadlines out.

It has no socket, no clock and no randomness of its own, so a test can play any server and any time.
"""

from .events import (
    Answered,
    Changed,
    Closed,
    Ended,
    Event,
    Failed,
    Interrupted,
    Lost,
    PositionChanged,
    Ready,
    Replaced,
    Resumed,
)
from .machine import Machine, Options

__all__ = [
    "Answered",
    "Changed",
    "Closed",
    "Ended",
    "Event",
    "Failed",
    "Interrupted",
    "Lost",
    "Machine",
    "Options",
    "PositionChanged",
    "Ready",
    "Replaced",
    "Resumed",
]
