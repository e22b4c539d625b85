"""Calls into the sound library that may block, or never return, as when a sound server hangs."""

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


async def aside(work: Callable[[], T], *, seconds: float, undo: Callable[[T], None] | None = None) -> T:
    """Run ``work`` in a daemon thread, so that it can keep neither the loop nor the end of the process waiting.

    Raises what it raises, and TimeoutError after ``seconds``. ``undo`` gets a result that comes when nobody waits for
    it any more: a microphone must not stay open unseen.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def tell(result: T | None, error: Exception | None) -> None:
        if done.cancelled():
            if error is None and undo is not None:
                threading.Thread(target=undo, args=(result,), name="earpiece-sound", daemon=True).start()
        elif error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result, error = None, None
        try:
            result = work()
        except Exception as problem:
            error = problem
        if not loop.is_closed():
            loop.call_soon_threadsafe(tell, result, error)

    threading.Thread(target=run, name="earpiece-sound", daemon=True).start()
    async with asyncio.timeout(seconds):
        return await done


__all__ = ["aside"]
