"""Which requests wait, and which are in flight."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator

from ..wire import limits
from .calls import Call


class CallTable:
    """The requests of a client: first those of the machine, which end with the connection, then those of the program.

    Requests of the program wait in the order of their numbers, also after a lost connection: the server executes the
    writes of a connection in the order in which they arrive.
    """

    __slots__ = ("_own", "_waiting", "_in_flight")

    def __init__(self) -> None:
        self._own: deque[Call] = deque()
        self._waiting: OrderedDict[int, Call] = OrderedDict()
        #: By request id.
        self._in_flight: dict[int, Call] = {}

    def __iter__(self) -> Iterator[Call]:
        yield from list(self._in_flight.values())
        yield from list(self._own)
        yield from list(self._waiting.values())

    @property
    def is_full(self) -> bool:
        return len(self._waiting) >= limits.CLIENT_REQUESTS_WAITING_MAX

    @property
    def in_flight_count(self) -> int:
        return len(self._in_flight)

    def add(self, call: Call) -> None:
        """Lets a call wait. One of the program has a new number."""
        if call.is_own:
            self._own.append(call)
        else:
            self._waiting[call.number] = call

    def next(self) -> Call | None:
        """Takes out the first call that waits."""
        if self._own:
            return self._own.popleft()
        return self._waiting.popitem(last=False)[1] if self._waiting else None

    def sent(self, id: int, call: Call) -> None:
        self._in_flight[id] = call

    def at(self, id: int) -> Call | None:
        return self._in_flight.get(id)

    def answered(self, id: int) -> Call | None:
        """Takes out a call that has its final reply."""
        return self._in_flight.pop(id, None)

    def take_transfers(self, after: int = 0) -> list[Call]:
        """Takes out the calls in flight that have a stream, of those with a higher id."""
        found = [id for id, call in self._in_flight.items() if id > after and call.transfer]
        return [self._in_flight.pop(id) for id in found]

    def not_executed(self, after: int) -> None:
        """The server has not executed, and will not execute, requests with a higher id: they wait again."""
        self._put_back([id for id in self._in_flight if id > after])

    def put_back(self, id: int) -> None:
        """One request was not executed: it waits again."""
        self._put_back([id] if id in self._in_flight else [])

    def lost(self) -> None:
        """The connection was lost: what was in flight may have been executed, and waits again."""
        for call in self._in_flight.values():
            call.may_be_executed = call.may_be_executed or call.is_write
        self._put_back(list(self._in_flight))
        self._own.clear()

    def _put_back(self, ids: list[int]) -> None:
        for id in ids:
            call = self._in_flight.pop(id)
            call.assembler = None
            if not call.is_own and not call.is_abandoned:
                self._waiting[call.number] = call
        if ids:
            self._waiting = OrderedDict(sorted(self._waiting.items()))

    def remove_if(self, test: Callable[[Call], bool]) -> list[Call]:
        """Takes out those requests of the program that wait and for which this is true."""
        removed = [call for call in self._waiting.values() if test(call)]
        for call in removed:
            del self._waiting[call.number]
        return removed

    def is_waiting(self, number: int) -> bool:
        return number in self._waiting

    def remove(self, number: int) -> Call | None:
        """Takes out a call that waits."""
        return self._waiting.pop(number, None)

    def find_in_flight(self, number: int) -> tuple[int, Call] | None:
        """The request id of a call in flight, and the call. O(n) in the calls in flight."""
        return next(((id, call) for id, call in self._in_flight.items() if call.number == number), None)
