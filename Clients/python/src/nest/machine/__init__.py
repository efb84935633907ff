"""The client as a machine without I/O: bytes and time in; bytes, events and deadlines out.

It has no socket, no clock and no randomness of its own, so a test can play any server and any time.
"""

from .events import (
    Answered,
    Changed,
    ChangesCame,
    Closed,
    Ended,
    Event,
    Failed,
    FeedAdvanced,
    FeedBegan,
    Granted,
    Interrupted,
    Lost,
    PieceCame,
    PositionChanged,
    Ready,
    Replaced,
    Resumed,
    SubscriptionEvent,
    TransferEvent,
    ValueBegan,
)
from .machine import Machine, Options, Phase

__all__ = [
    "Answered",
    "Changed",
    "ChangesCame",
    "Closed",
    "Ended",
    "Event",
    "Failed",
    "FeedAdvanced",
    "FeedBegan",
    "Granted",
    "Interrupted",
    "Lost",
    "Machine",
    "Options",
    "Phase",
    "PieceCame",
    "PositionChanged",
    "Ready",
    "Replaced",
    "Resumed",
    "SubscriptionEvent",
    "TransferEvent",
    "ValueBegan",
]
