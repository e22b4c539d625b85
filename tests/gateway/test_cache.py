"""Callers with one question share one piece of work, and for a short time its answer."""

import asyncio

import pytest

from gateway.cache import FlightEnded, SingleFlight, TtlCache
from gateway.stop_signal import StopSignal


class Work:
    """Counts its runs and ends when it is told to."""

    def __init__(self) -> None:
        self.runs = 0
        self.started = asyncio.Event()
        self.release = asyncio.Event()
        self.cancelled = asyncio.Event()

    async def __call__(self, stopped: StopSignal) -> int:
        self.runs += 1
        self.started.set()
        try:
            await self.release.wait()
        except asyncio.CancelledError:
            assert stopped.is_set()
            self.cancelled.set()
            raise
        return self.runs


async def test_equal_keys_share_one_flight_and_others_do_not() -> None:
    """Two callers at the same time cost one call; another key is another call."""
    flights: SingleFlight[int] = SingleFlight()
    work, other = Work(), Work()
    async with asyncio.timeout(5):
        callers = [asyncio.create_task(flights.run("a", work)) for _ in range(3)]
        stranger = asyncio.create_task(flights.run("b", other))
        await work.started.wait()
        await other.started.wait()
        work.release.set()
        other.release.set()
        assert await asyncio.gather(*callers, stranger) == [1, 1, 1, 1]
    assert (work.runs, other.runs) == (1, 1)
    assert "a" not in flights


async def test_a_cancelled_caller_leaves_the_flight_to_the_other() -> None:
    """One user's barge-in does not take the answer away from another session."""
    flights: SingleFlight[int] = SingleFlight()
    work = Work()
    async with asyncio.timeout(5):
        leaving, staying = (asyncio.create_task(flights.run("a", work)) for _ in range(2))
        await work.started.wait()
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        assert not work.cancelled.is_set()
        work.release.set()
        assert await staying == 1


async def test_the_last_cancelled_caller_cancels_the_work() -> None:
    """Nobody waits, so nothing goes on; and the next caller starts anew at once."""
    flights: SingleFlight[int] = SingleFlight()
    work = Work()
    async with asyncio.timeout(5):
        callers = [asyncio.create_task(flights.run("a", work)) for _ in range(2)]
        await work.started.wait()
        for caller in callers:
            caller.cancel()
        await work.cancelled.wait()
        work.release.set()
        assert await flights.run("a", work) == 2


async def test_an_error_reaches_every_caller() -> None:
    """A failure is shared like a result, and is forgotten with the flight."""
    flights: SingleFlight[int] = SingleFlight()
    gate = asyncio.Event()

    async def fail(stopped: StopSignal) -> int:
        await gate.wait()
        raise LookupError("gone")

    async with asyncio.timeout(5):
        callers = [asyncio.create_task(flights.run("a", fail)) for _ in range(2)]
        await asyncio.sleep(0)
        gate.set()
        assert [type(found) for found in await asyncio.gather(*callers, return_exceptions=True)] == [LookupError] * 2
    assert "a" not in flights


async def test_ending_all_flights_does_not_cancel_those_who_wait() -> None:
    """When the gateway closes a caller gets an error that it can answer with; its own task goes on."""
    flights: SingleFlight[int] = SingleFlight()
    work = Work()
    async with asyncio.timeout(5):
        caller = asyncio.create_task(flights.run("a", work))
        await work.started.wait()
        flights.end_all()
        with pytest.raises(FlightEnded):
            await caller
    assert not caller.cancelled()


def test_a_value_is_fresh_for_its_time_only() -> None:
    """The time to live is a bound."""
    now = [0.0]
    cache: TtlCache[str] = TtlCache(clock=lambda: now[0])
    cache.put("a", "found", seconds=30)
    cache.put("b", "never kept", seconds=0)
    now[0] = 29.9
    assert (cache.get("a"), cache.get("b")) == ("found", None)
    now[0] = 30
    assert cache.get("a") is None


def test_the_least_recently_used_value_leaves_first() -> None:
    """The cache stays small."""
    cache: TtlCache[int] = TtlCache(capacity=2)
    cache.put("a", 1, seconds=9)
    cache.put("b", 2, seconds=9)
    assert cache.get("a") == 1
    cache.put("c", 3, seconds=9)
    assert (cache.get("a"), cache.get("b"), cache.get("c")) == (1, None, 3)
