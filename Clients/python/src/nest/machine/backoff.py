"""The pauses between attempts to connect."""

from __future__ import annotations

from collections.abc import Callable

from ..wire import limits


class Backoff:
    """Doubles the pause with each attempt that fails soon, with jitter, so that clients do not come back at once."""

    __slots__ = ("_random", "_longest", "_attempts")

    def __init__(self, random: Callable[[], float], longest: float) -> None:
        self._random = random
        self._longest = longest
        self._attempts = 0

    def lived(self, seconds: float, is_node: bool) -> bool:
        """A connection, maybe to a node of a cluster, was ready for so long. Returns whether to try again at once."""
        if seconds < (limits.RECONNECT_NODE_HEALTHY_SECONDS if is_node else limits.RECONNECT_HEALTHY_SECONDS):
            return False
        self._attempts = 0
        return True

    def next(self) -> float:
        """The next pause in seconds: between half of the doubled one and all of it."""
        longest = min(limits.RECONNECT_SECONDS_MIN * 2.0 ** min(self._attempts, 16), self._longest)
        self._attempts += 1
        return longest * (1 + self._random()) / 2
