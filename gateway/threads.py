"""Threads for code that may block. All are daemons: a provider that never returns cannot keep the process alive."""

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue

Work = Callable[[], Callable[[], None]]

_DRAIN_SECONDS = 1.0


class WorkerThreads:
    """Threads that run plain functions and are used again; started when none is idle. The caller bounds them."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._work: SimpleQueue[Work | None] = SimpleQueue()
        self._idle = 0
        self._started = 0

    def submit(self, work: Work) -> None:
        """Run ``work``, which must not raise, in an idle thread or a new one.

        It returns how to tell that it is done; that is called when its thread is free again, so that whoever is told
        and submits more finds the thread.
        """
        with self._lock:
            starts = self._idle == 0
            if starts:
                self._started += 1
            else:
                self._idle -= 1
        if starts:
            threading.Thread(target=self._serve, name=self._name, daemon=True).start()
        self._work.put(work)

    def close(self) -> None:
        """Let every thread end when it is free; nothing is waited for."""
        with self._lock:
            started, self._started = self._started, 0
        for _ in range(started):
            self._work.put(None)

    def _serve(self) -> None:
        while work := self._work.get():
            tell = work()
            with self._lock:
                self._idle += 1
            tell()
            del work, tell  # an idle thread holds on to nobody's request


class LoopThread:
    """An event loop on a thread of its own, so that whatever blocks it delays nobody else."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._loop: asyncio.AbstractEventLoop | None = None

    def loop(self) -> asyncio.AbstractEventLoop:
        """Return the loop, started on first use."""
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=_serve_loop, args=(self._loop,), name=self._name, daemon=True).start()
        return self._loop

    def close(self) -> None:
        """End the loop as soon as it is free; nothing is waited for."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)


def _serve_loop(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        if tasks:
            loop.run_until_complete(asyncio.wait(tasks, timeout=_DRAIN_SECONDS))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()


__all__ = ["LoopThread", "WorkerThreads"]
