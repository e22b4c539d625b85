"""The deadline holds whatever foreign code does, and what does not stop is counted and bounded."""

import asyncio
import contextvars
import threading
from collections.abc import AsyncIterator, Callable
from itertools import pairwise
from typing import Any

import pytest

from gateway.isolation import (
    Abandoned,
    DeadlinePassed,
    ForeignFailure,
    Isolation,
    IsolationMode,
    TooManyAbandoned,
)
from gateway.stop_signal import StopSignal

SOON = 0.02
LATE = 60.0


class Foreign:
    """Code that misbehaves until the test lets it go."""

    def __init__(self) -> None:
        self.started = threading.Event()
        self.released = threading.Event()
        self.cancellations = 0

    async def never_returns(self) -> str:
        self.started.set()
        await asyncio.Event().wait()
        return "never"

    async def ignores_cancellation(self) -> str:
        self.started.set()
        while not self.released.is_set():
            try:
                await asyncio.sleep(0.005)
            except asyncio.CancelledError:
                self.cancellations += 1
        return "late"

    async def swallows_cancellation(self) -> str:
        self.started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancellations += 1
        return "swallowed"

    def blocks_its_thread(self) -> str:
        self.started.set()
        self.released.wait()
        return "late"

    async def blocks_its_loop(self) -> str:
        return self.blocks_its_thread()


@pytest.fixture
def foreign() -> Any:
    foreign = Foreign()
    yield foreign
    foreign.released.set()


@pytest.fixture(params=["task", "thread"])
async def isolation(request: pytest.FixtureRequest) -> AsyncIterator[Isolation]:
    isolation = Isolation(request.param)
    yield isolation
    isolation.close()


async def run(
    isolation: Isolation,
    call: Callable[[], Any],
    *,
    seconds: float = LATE,
    plain: bool = False,
    abandoned: Abandoned | None = None,
    stopped: StopSignal | None = None,
) -> Any:
    method = isolation.run_plain if plain else isolation.run_async
    return await method(call, seconds=seconds, stopped=stopped or StopSignal(), abandoned=abandoned or Abandoned(4))


async def none_left(abandoned: Abandoned) -> None:
    while abandoned.count:  # noqa: ASYNC110 - the production code has no event for it
        await asyncio.sleep(0.001)


async def seen(event: threading.Event) -> None:
    assert await asyncio.to_thread(event.wait, 5)


async def test_a_value_and_the_context_variables_pass(isolation: Isolation) -> None:
    """Tracing follows a call to wherever it runs."""
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")
    variable.set("seen")

    async def read() -> str:
        return variable.get()

    async with asyncio.timeout(5):
        assert await run(isolation, read) == "seen"
        assert await run(isolation, variable.get, plain=True) == "seen"


@pytest.mark.parametrize("name", ["never_returns", "ignores_cancellation", "swallows_cancellation"])
async def test_the_deadline_holds_for_coroutines(isolation: Isolation, foreign: Foreign, name: str) -> None:
    """Never returning, ignoring and swallowing cancellation all end as a passed deadline."""
    abandoned, stopped = Abandoned(4), StopSignal()
    async with asyncio.timeout(5):
        with pytest.raises(DeadlinePassed):
            await run(isolation, getattr(foreign, name), seconds=SOON, abandoned=abandoned, stopped=stopped)
        assert stopped.is_set()
        foreign.released.set()
        await none_left(abandoned)


async def test_the_deadline_holds_for_a_blocked_thread(isolation: Isolation, foreign: Foreign) -> None:
    """A plain function cannot be stopped; it is left alone, told by the event, and counted."""
    abandoned, stopped = Abandoned(4), StopSignal()
    async with asyncio.timeout(5):
        with pytest.raises(DeadlinePassed):
            await run(
                isolation, foreign.blocks_its_thread, seconds=SOON, plain=True, abandoned=abandoned, stopped=stopped
            )
        assert stopped.is_set()
        assert abandoned.count == 1
        foreign.released.set()
        await none_left(abandoned)


async def test_the_deadline_holds_for_a_blocked_loop_of_its_own(foreign: Foreign) -> None:
    """Code that blocks inside ``async def`` blocks only its own loop."""
    isolation, abandoned = Isolation("thread"), Abandoned(4)
    async with asyncio.timeout(5):
        with pytest.raises(DeadlinePassed):
            await run(isolation, foreign.blocks_its_loop, seconds=SOON, abandoned=abandoned)
        assert abandoned.count == 1
        foreign.released.set()
        await none_left(abandoned)
    isolation.close()


async def longest_gap_beside(foreign: Foreign) -> float:
    """Beat 100 times while foreign code blocks its loop; return the longest pause, the last one included."""
    isolation = Isolation("thread")
    clock = asyncio.get_running_loop().time
    foreign.started.clear()
    foreign.released.clear()
    call = asyncio.create_task(run(isolation, foreign.blocks_its_loop))
    await seen(foreign.started)
    beats = [clock()]
    for _ in range(100):
        await asyncio.sleep(0.002)
        beats.append(clock())
    assert not call.done()
    foreign.released.set()
    assert await call == "late"
    beats.append(clock())
    isolation.close()
    return max(later - earlier for earlier, later in pairwise(beats))


async def test_a_blocked_loop_of_its_own_delays_nothing_here(foreign: Foreign) -> None:
    """While foreign code holds its loop, the gateway's loop goes on and misses no frame of 20 ms."""
    async with asyncio.timeout(30):
        # The fault would show each time; what else the machine does shows now and then.
        gaps = [await longest_gap_beside(foreign)]
        while gaps[-1] > 0.02 and len(gaps) < 10:
            gaps.append(await longest_gap_beside(foreign))
    assert min(gaps) < 0.02


@pytest.mark.parametrize("error", [ValueError, SystemExit, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError])
@pytest.mark.parametrize("plain", [False, True])
async def test_whatever_is_raised_is_a_failure(isolation: Isolation, error: type[BaseException], plain: bool) -> None:
    """BaseException-derived errors too: SystemExit ends no loop, and nobody's own cancellation cancels the caller."""

    def fail() -> None:
        raise error

    async def fail_later() -> None:
        await asyncio.sleep(0)
        raise error

    async with asyncio.timeout(5):
        with pytest.raises(ForeignFailure) as caught:
            await run(isolation, fail if plain else fail_later, plain=plain)
    assert type(caught.value.__cause__) is error


async def test_code_that_cancels_its_own_task_does_not_cancel_the_caller(isolation: Isolation) -> None:
    """Some client libraries cancel the task they run in when their connection breaks."""

    async def cancel_myself() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)

    async with asyncio.timeout(5):
        with pytest.raises(ForeignFailure):
            await run(isolation, cancel_myself)
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_the_callers_cancellation_reaches_the_code(isolation: Isolation) -> None:
    """The task is cancelled and the event set, at once."""
    started, cancelled, stopped = threading.Event(), threading.Event(), StopSignal()

    async def wait() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    async with asyncio.timeout(5):
        caller = asyncio.create_task(run(isolation, wait, stopped=stopped))
        await seen(started)
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
        assert stopped.is_set()
        await seen(cancelled)


async def test_code_that_swallows_the_callers_cancellation_turns_it_into_no_result(
    isolation: Isolation, foreign: Foreign
) -> None:
    """Cancellation is never turned into a result."""
    abandoned = Abandoned(4)
    async with asyncio.timeout(5):
        caller = asyncio.create_task(run(isolation, foreign.swallows_cancellation, abandoned=abandoned))
        await seen(foreign.started)
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
        await none_left(abandoned)
    assert foreign.cancellations == 1


@pytest.mark.parametrize("plain", [False, True])
async def test_a_call_cancelled_before_it_starts_is_never_made(isolation: Isolation, plain: bool) -> None:
    """Cancelled is cancelled, also between the decision and the first step."""
    calls: list[int] = []

    async def call() -> None:
        calls.append(1)

    async with asyncio.timeout(5):
        caller = asyncio.create_task(run(isolation, (lambda: calls.append(1)) if plain else call, plain=plain))
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
        await run(isolation, lambda: None)
    assert calls == []


async def test_a_plain_call_that_was_stopped_on_its_way_to_a_thread_is_never_made(isolation: Isolation) -> None:
    """A thread cannot be cancelled, so it looks before it starts."""
    calls: list[int] = []
    stopped = StopSignal()
    stopped.set()
    async with asyncio.timeout(5):
        await run(isolation, lambda: calls.append(1), plain=True, stopped=stopped)
    assert calls == []


@pytest.mark.parametrize("plain", [False, True])
async def test_past_the_bound_new_calls_are_refused_at_once(
    isolation: Isolation, foreign: Foreign, plain: bool
) -> None:
    """Stuck calls are bounded; when they end the count falls and calls are made again."""
    abandoned = Abandoned(2)
    stuck: Callable[[], Any] = foreign.blocks_its_thread if plain else foreign.ignores_cancellation
    calls: list[int] = []
    async with asyncio.timeout(5):
        for _ in range(2):
            with pytest.raises(DeadlinePassed):
                await run(isolation, stuck, seconds=SOON, plain=plain, abandoned=abandoned)
        assert abandoned.count == 2
        with pytest.raises(TooManyAbandoned):
            await run(isolation, lambda: calls.append(1), plain=plain, abandoned=abandoned)
        assert calls == []
        foreign.released.set()
        await none_left(abandoned)
        await run(isolation, lambda: calls.append(1), plain=plain, abandoned=abandoned)
    assert calls == [1]


async def test_stuck_threads_do_not_take_the_place_of_good_calls(foreign: Foreign) -> None:
    """An abandoned call is counted once, as abandoned; the threads for live calls stay free."""
    isolation, abandoned = Isolation(max_threads=1), Abandoned(4)
    async with asyncio.timeout(5):
        for _ in range(3):
            with pytest.raises(DeadlinePassed):
                await run(isolation, foreign.blocks_its_thread, seconds=SOON, plain=True, abandoned=abandoned)
        assert await run(isolation, lambda: "fine", plain=True, abandoned=abandoned) == "fine"
    isolation.close()


async def test_waiting_for_a_free_thread_counts_against_the_deadline(foreign: Foreign) -> None:
    """A full pool makes nobody wait longer than promised, and the call that waited in vain is never made."""
    isolation = Isolation(max_threads=1)
    calls: list[int] = []
    async with asyncio.timeout(5):
        busy = asyncio.create_task(run(isolation, foreign.blocks_its_thread, plain=True))
        await seen(foreign.started)
        with pytest.raises(DeadlinePassed):
            await run(isolation, lambda: calls.append(1), seconds=SOON, plain=True)
        foreign.released.set()
        assert await busy == "late"
    assert calls == []
    isolation.close()


async def test_a_call_that_waited_for_a_thread_gets_only_what_is_left(
    foreign: Foreign, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The wait and the call share one deadline; a call does not get its whole time anew when a thread is free."""
    isolation, late = Isolation(max_threads=1), Foreign()
    loop, skipped = asyncio.get_running_loop(), 0.0
    clock = loop.time
    monkeypatch.setattr(loop, "time", lambda: clock() + skipped)
    busy = asyncio.create_task(run(isolation, foreign.blocks_its_thread, seconds=10 * LATE, plain=True))
    await seen(foreign.started)
    waits = asyncio.create_task(run(isolation, late.blocks_its_thread, plain=True))
    await asyncio.sleep(0)  # it waits for the thread from here on
    skipped += 0.7 * LATE
    foreign.released.set()
    await seen(late.started)
    skipped += 0.7 * LATE
    try:
        async with asyncio.timeout(5):
            with pytest.raises(DeadlinePassed):
                await waits
            assert await busy == "late"
    finally:
        late.released.set()
        isolation.close()


async def test_threads_are_used_again(isolation: Isolation) -> None:
    """A thread per call would cost more than many a retrieval."""
    async with asyncio.timeout(5):
        names = {await run(isolation, threading.get_ident, plain=True) for _ in range(20)}
    assert len(names) == 1


def test_a_loop_ends_although_code_on_it_refuses_to() -> None:
    """asyncio.run waits for every task; code that ignores cancellation is let go of and does not hold it up."""
    foreign = Foreign()

    async def main() -> None:
        abandoned = Abandoned(4)
        with pytest.raises(DeadlinePassed):
            await run(Isolation(), foreign.ignores_cancellation, seconds=SOON, abandoned=abandoned)
        abandoned.give_up()

    thread = threading.Thread(target=lambda: asyncio.run(main()), daemon=True)
    thread.start()
    thread.join(5)
    ended = not thread.is_alive()
    foreign.released.set()
    assert ended


@pytest.mark.parametrize("mode", ["process", "", None])
def test_an_unknown_mode_is_a_programmers_mistake(mode: IsolationMode) -> None:
    """There are two."""
    with pytest.raises(ValueError, match="must be 'task' or 'thread'"):
        Isolation(mode)
