"""Running foreign code so that its deadline holds whatever it does.

A call is waited for, never trusted to stop. Past its deadline, or when its caller is gone, it is told to stop and left
alone: abandoned, counted until it ends, and when too many do not end no new one is started.
"""

import asyncio
import contextvars
from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any, Literal

from .stop_signal import StopSignal
from .threads import LoopThread, WorkerThreads

IsolationMode = Literal["task", "thread"]
Call = Callable[[], Any]


class DeadlinePassed(Exception):
    """Raised when a call did not end in time."""


class TooManyAbandoned(Exception):
    """Raised at once, without calling, when as many calls as allowed do not stop."""


class ForeignFailure(Exception):
    """Raised when the foreign code raised, whatever it raised; that is the ``__cause__``."""


@dataclass(frozen=True, slots=True)
class _Outcome:
    value: Any = None
    error: BaseException | None = None


@dataclass(frozen=True, slots=True)
class _Running:
    ended: "asyncio.Future[_Outcome]"
    stop: Callable[[], object]
    give_up: Callable[[], None]


class Abandoned:
    """Counts the calls of one kind that were told to stop and have not; ``limit`` of them bar new ones."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._calls: set[_Running] = set()

    @property
    def count(self) -> int:
        """How many are there now."""
        return len(self._calls)

    def check(self) -> None:
        """Raise `TooManyAbandoned` when the limit is reached."""
        if len(self._calls) >= self.limit:
            raise TooManyAbandoned

    def add(self, call: _Running) -> None:
        self._calls.add(call)
        call.ended.add_done_callback(lambda _: self._calls.discard(call))

    def give_up(self) -> None:
        """Stop driving them at all, so that none of them can hold up the end of the event loop."""
        for call in tuple(self._calls):
            call.give_up()


class Isolation:
    """Where the code of one provider runs.

    ``task``: coroutines on the caller's loop, cheapest. ``thread``: coroutines on a loop of their own, which they may
    block. Plain functions run in worker threads either way, at most ``max_threads`` beside the abandoned ones.
    """

    def __init__(self, mode: IsolationMode = "task", *, name: str = "provider", max_threads: int = 16) -> None:
        if mode not in ("task", "thread"):
            raise ValueError(f"isolation is {mode!r}; it must be 'task' or 'thread'")
        self._own_loop = LoopThread(f"{name}-loop") if mode == "thread" else None
        self._workers = WorkerThreads(f"{name}-worker")
        self._free_threads = asyncio.Semaphore(max_threads)

    async def run_async(self, call: Call, *, seconds: float, stopped: StopSignal, abandoned: Abandoned) -> Any:
        """Call, await what it returns, and return that. Raises the three errors of this module, or is cancelled.

        ``stopped`` is set when nobody waits any more.
        """
        start = _in_task if self._own_loop is None else self._on_own_loop
        return await _ended(start, call, seconds, stopped, abandoned)

    async def run_plain(self, call: Call, *, seconds: float, stopped: StopSignal, abandoned: Abandoned) -> Any:
        """Like `run_async`, for a function that may block; the wait for a free thread counts as well."""
        abandoned.check()
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        try:
            async with asyncio.timeout(seconds):
                await self._free_threads.acquire()
        except TimeoutError:
            raise DeadlinePassed from None
        try:
            left = deadline - loop.time()
            return await _ended(self._on_worker, call, left, stopped, abandoned)
        finally:
            self._free_threads.release()

    def close(self) -> None:
        """Let go of the threads; nothing is waited for."""
        self._workers.close()
        if self._own_loop is not None:
            self._own_loop.close()

    def _on_own_loop(self, call: Call, _: StopSignal) -> _Running:
        assert self._own_loop is not None  # noqa: S101 - run_async chose this function because it is not
        there, here = self._own_loop.loop(), asyncio.get_running_loop()
        ended: asyncio.Future[_Outcome] = here.create_future()
        steps = _Steps(call)
        context = contextvars.copy_context()
        tasks: list[asyncio.Task[_Outcome]] = []

        def begin() -> None:
            task = there.create_task(_outcome(steps), context=context)
            tasks.append(task)
            task.add_done_callback(lambda done: _post(here, ended, _outcome_of(done)))

        def stop() -> None:
            for task in tasks:
                task.cancel()

        there.call_soon_threadsafe(begin)
        return _Running(ended, lambda: there.call_soon_threadsafe(stop), steps.give_up)

    def _on_worker(self, call: Call, stopped: StopSignal) -> _Running:
        here = asyncio.get_running_loop()
        ended: asyncio.Future[_Outcome] = here.create_future()
        context = contextvars.copy_context()

        def work() -> Callable[[], None]:
            outcome = _Outcome() if stopped.is_set() else context.run(_attempt, call)
            return lambda: _post(here, ended, outcome)

        self._workers.submit(work)
        return _Running(ended, lambda: None, lambda: None)


async def _ended(
    start: Callable[[Call, StopSignal], _Running],
    call: Call,
    seconds: float,
    stopped: StopSignal,
    abandoned: Abandoned,
) -> Any:
    abandoned.check()
    clock = asyncio.get_running_loop().time
    deadline = clock() + max(0.0, seconds)
    running = start(call, stopped)
    stopped.then(running.stop)
    try:
        await asyncio.wait([running.ended], timeout=max(0.0, seconds))
    finally:
        if not running.ended.done():
            stopped.set()
            abandoned.add(running)
    # A call that blocked the loop is done by now and still too late: the turn has been told otherwise or waits no more.
    if not running.ended.done() or clock() > deadline:
        raise DeadlinePassed
    outcome = _outcome_of(running.ended)
    if outcome.error is not None:
        raise ForeignFailure from outcome.error
    return outcome.value


class _Steps:
    """Drives a coroutine step by step, so that one which refuses to be cancelled can be let go of."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._given_up = False

    def give_up(self) -> None:
        self._given_up = True

    def __await__(self) -> Generator[Any, Any, Any]:
        foreign = _awaited(self._call).__await__()
        step: Callable[[Any], Any] = foreign.send
        signal: BaseException | None = None
        while True:
            try:
                pending = step(signal)
            except StopIteration as end:
                return end.value
            try:
                yield pending
            except BaseException as error:
                if self._given_up:
                    with suppress(BaseException):
                        foreign.close()
                    raise
                step, signal = foreign.throw, error
            else:
                step, signal = foreign.send, None


async def _awaited(call: Call) -> Any:
    value = call()
    return await value if isawaitable(value) else value


async def _outcome(steps: _Steps) -> _Outcome:
    # BaseException, because SystemExit in a task would end the gateway's loop, and CancelledError nobody asked for is
    # a failure of the provider like any other.
    try:
        return _Outcome(await steps)
    except BaseException as error:
        return _Outcome(error=error)


def _attempt(call: Call) -> _Outcome:
    try:
        return _Outcome(call())
    except BaseException as error:
        return _Outcome(error=error)


def _in_task(call: Call, _: StopSignal) -> _Running:
    steps = _Steps(call)
    task = asyncio.create_task(_outcome(steps))

    def give_up() -> None:
        steps.give_up()
        task.cancel()

    return _Running(task, task.cancel, give_up)


def _outcome_of(ended: "asyncio.Future[_Outcome]") -> _Outcome:
    return _Outcome(error=asyncio.CancelledError()) if ended.cancelled() else ended.result()


def _post(loop: asyncio.AbstractEventLoop, ended: "asyncio.Future[_Outcome]", outcome: _Outcome) -> None:
    def settle() -> None:
        if not ended.done():
            ended.set_result(outcome)

    with suppress(RuntimeError):  # the gateway's loop has ended and nobody can be told
        loop.call_soon_threadsafe(settle)


__all__ = ["Abandoned", "DeadlinePassed", "ForeignFailure", "Isolation", "IsolationMode", "TooManyAbandoned"]
