"""Notices that a sound card's thread has stopped calling, which is how an unplugged device shows itself."""

import asyncio
import contextlib

from .aside import in_loop

_SILENCE_SECONDS = 10.0  # a wireless card may take seconds to begin, and so may a busy machine


class Heartbeat:
    """`beat` and `end` are called in the sound card's thread; `lost` waits in the loop until neither is alive."""

    def __init__(self, silence_seconds: float = _SILENCE_SECONDS) -> None:
        self._loop = asyncio.get_running_loop()
        self._silence_seconds = silence_seconds
        self._beats = 0
        self._ended = asyncio.Event()

    def beat(self) -> None:
        self._beats += 1

    def end(self) -> None:
        """The library says itself that the stream is over."""
        in_loop(self._loop, self._ended.set)

    async def lost(self) -> None:
        """Return when the stream has ended, or no beat came for a while."""
        while not self._ended.is_set():
            before = self._beats
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._silence_seconds):
                    await self._ended.wait()
            if self._beats == before:
                return


__all__ = ["Heartbeat"]
