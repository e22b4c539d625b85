"""Bounded threads for libraries that only know how to block.

The event loop's default executor is not used: cancelled work keeps its thread there, and name resolution of the whole
process stands in the same queue. Threads here are daemons, so a vendor call that never returns cannot keep the process
alive.
"""

import asyncio
import contextvars
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Literal, TypeVar

from knowledge_provider import ProviderUnavailable

Mode = Literal["auto", "async", "thread"]
"""How a library is asked: in threads, by its coroutines, or by these only where they are proven not to block."""

_T = TypeVar("_T")
_Job = tuple[Future[Any], Callable[[], Any]] | None


class BoundedThreads:
    """At most ``workers`` calls run and ``waiting`` more stand in line; beyond that a call is refused at once.

    A call whose caller has gone keeps its thread until it returns. When such calls hold every thread, new ones are
    refused instead of waiting for something that may never end.
    """

    def __init__(self, provider: str, *, workers: int = 4, waiting: int = 32) -> None:
        if workers < 1 or waiting < 0:
            raise ValueError("workers must be at least 1 and waiting at least 0")
        self._provider = provider
        self._workers = workers
        self._waiting = waiting
        self._jobs: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = 0
        self._pending = 0
        self._abandoned = 0
        self._closed = False

    @property
    def busy(self) -> int:
        """Calls that run or wait, the abandoned ones among them."""
        return self._pending

    @property
    def abandoned(self) -> int:
        """Calls that still hold a thread although nobody waits for them."""
        return self._abandoned

    async def run(self, function: Callable[[], _T]) -> _T:
        """Run ``function`` in a thread with the caller's context variables; cancelling frees the caller at once."""
        future = self._submit(function)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            self._abandon(future)
            raise

    def close(self) -> None:
        """Take no more calls; drop those in line, let running ones end by themselves."""
        with self._lock:
            self._closed = True
            threads = self._threads
        for _ in range(threads):
            self._jobs.put(None)

    def _submit(self, function: Callable[[], _T]) -> Future[_T]:
        future: Future[_T] = Future()
        with self._lock:
            self._refuse_if_full()
            self._pending += 1
            needs_thread = self._threads < min(self._workers, self._pending)
            self._threads += needs_thread
        future.add_done_callback(self._finished)
        context = contextvars.copy_context()
        self._jobs.put((future, lambda: context.run(function)))
        if needs_thread:
            threading.Thread(target=self._work, name=f"earpiece-{self._provider}", daemon=True).start()
        return future

    def _refuse_if_full(self) -> None:
        if self._closed:
            raise ProviderUnavailable(self._provider, "is closed")
        if self._abandoned >= self._workers or self._pending >= self._workers + self._waiting:
            raise ProviderUnavailable(self._provider, f"is overloaded: {self._pending} calls still run")

    def _finished(self, _: Future[Any]) -> None:
        with self._lock:
            self._pending -= 1

    def _abandon(self, future: Future[Any]) -> None:
        if future.cancel() or future.done():
            return
        with self._lock:
            self._abandoned += 1
        future.add_done_callback(self._returned)

    def _returned(self, _: Future[Any]) -> None:
        with self._lock:
            self._abandoned -= 1

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            future, call = job
            if self._closed:
                future.cancel()
            if future.set_running_or_notify_cancel():
                _settle(future, call)
            del job, future, call


def _settle(future: Future[Any], call: Callable[[], Any]) -> None:
    try:
        result = call()
    except StopIteration as error:  # a future refuses to carry it, and its caller would wait for ever
        surprise = RuntimeError("the call raised StopIteration")
        surprise.__cause__ = error
        future.set_exception(surprise)
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)


__all__ = ["BoundedThreads", "Mode"]
