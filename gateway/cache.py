"""Ask once for the same thing: one flight for callers at the same time, a short memory for callers soon after."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from .stop_signal import StopSignal

Value = TypeVar("Value")
Work = Callable[[StopSignal], Coroutine[Any, Any, Value]]


class FlightEnded(Exception):
    """Raised to those who wait when a flight was ended from outside, because the gateway closes."""


@dataclass(slots=True)
class _Flight(Generic[Value]):
    task: asyncio.Task[Value]
    stopped: StopSignal
    waiting: int = 0

    def stop(self) -> None:
        self.stopped.set()  # at once, and not when the task comes to know of it: it may be about to call the provider
        self.task.cancel()


class SingleFlight(Generic[Value]):
    """Callers with equal keys share one piece of work; it is cancelled when the last of them is.

    The work is given an event that is set when nobody waits for it any more.
    """

    def __init__(self) -> None:
        self._flights: dict[Hashable, _Flight[Value]] = {}

    def __contains__(self, key: Hashable) -> bool:
        return key in self._flights

    async def run(self, key: Hashable, work: Work[Value]) -> Value:
        """Return what ``work`` returns, or raise what it raises. Raises `FlightEnded` after `end_all`."""
        flight = self._flights.get(key) or self._start(key, work)
        flight.waiting += 1
        try:
            await asyncio.wait([flight.task])
        finally:
            flight.waiting -= 1
            if not flight.waiting and not flight.task.done():
                self._forget(key, flight)
                flight.stop()
        if flight.task.cancelled():
            raise FlightEnded
        return flight.task.result()

    def end_all(self) -> None:
        """Cancel every flight; those who wait get `FlightEnded` and stay uncancelled themselves."""
        for flight in self._flights.values():
            flight.stop()

    def _start(self, key: Hashable, work: Work[Value]) -> _Flight[Value]:
        stopped = StopSignal()
        flight = _Flight(asyncio.create_task(work(stopped)), stopped)
        self._flights[key] = flight
        flight.task.add_done_callback(lambda task: self._landed(key, flight))
        return flight

    def _landed(self, key: Hashable, flight: _Flight[Value]) -> None:
        self._forget(key, flight)
        if not flight.task.cancelled():
            flight.task.exception()  # seen, also when the last caller has just left

    def _forget(self, key: Hashable, flight: _Flight[Value]) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]


class TtlCache(Generic[Value]):
    """The last answers, each for a limited time, at most ``capacity`` of them."""

    def __init__(self, *, capacity: int = 256, clock: Callable[[], float] = time.monotonic) -> None:
        self._capacity = capacity
        self._clock = clock
        self._entries: OrderedDict[Hashable, tuple[float, Value]] = OrderedDict()

    def get(self, key: Hashable) -> Value | None:
        """Return the value while it is fresh."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        expires, value = entry
        if self._clock() >= expires:
            del self._entries[key]
            return None
        self._entries.move_to_end(key)
        return value

    def put(self, key: Hashable, value: Value, *, seconds: float) -> None:
        """Keep the value for so many seconds; none at all when they are not positive."""
        if seconds <= 0:
            return
        self._entries[key] = (self._clock() + seconds, value)
        self._entries.move_to_end(key)
        while len(self._entries) > self._capacity:
            self._entries.popitem(last=False)

    def forget(self, concerns: Callable[[Hashable], bool] = lambda key: True) -> None:
        """Drop the values whose key ``concerns`` the caller; all of them by default."""
        for key in [key for key in self._entries if concerns(key)]:
            del self._entries[key]


__all__ = ["FlightEnded", "SingleFlight", "TtlCache"]
