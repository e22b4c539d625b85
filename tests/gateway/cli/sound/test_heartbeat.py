"""A device that goes away is noticed: at once where the library says so, else by its silence."""

import asyncio
import threading

from gateway.cli.sound.aside import in_loop
from gateway.cli.sound.heartbeat import Heartbeat


async def test_the_end_that_the_library_tells_is_heard_at_once() -> None:
    """From its own thread, long before the silence would be noticed."""
    heartbeat = Heartbeat(silence_seconds=600)
    threading.Thread(target=heartbeat.end).start()
    async with asyncio.timeout(5):
        await heartbeat.lost()


async def test_a_thread_that_calls_no_more_is_lost_and_one_that_calls_is_not() -> None:
    """As long as it beats nothing is lost; then silence is enough."""
    heartbeat = Heartbeat(silence_seconds=0.05)
    beating = True

    def beat() -> None:
        heartbeat.beat()
        if beating:
            asyncio.get_running_loop().call_soon(beat)

    beat()
    lost = asyncio.create_task(heartbeat.lost())
    done, _ = await asyncio.wait({lost}, timeout=0.3)
    assert not done
    beating = False
    async with asyncio.timeout(5):
        await lost


def test_a_loop_that_has_ended_is_told_nothing() -> None:
    """The sound card's thread may call a moment longer than the chat lives."""
    loop = asyncio.new_event_loop()
    loop.close()
    in_loop(loop, print, "nobody hears this")
