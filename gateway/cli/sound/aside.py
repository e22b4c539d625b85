"""Calls into the sound library that may block, or never return, as when a sound server hangs."""

import asyncio
import contextlib
import functools
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")


def in_loop(loop: asyncio.AbstractEventLoop, tell: Callable[P, object], *args: P.args, **named: P.kwargs) -> None:
    """Call ``tell`` in the loop's thread. A loop that has ended is told nothing: the sound outlives it for a moment."""
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(functools.partial(tell, *args, **named))


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
        in_loop(loop, tell, result, error)

    threading.Thread(target=run, name="earpiece-sound", daemon=True).start()
    async with asyncio.timeout(seconds):
        return await done


__all__ = ["aside", "in_loop"]
