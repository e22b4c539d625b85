"""How fast one client, and all of one owner together, may send. What comes faster is read later; nothing is dropped."""

import asyncio
from collections.abc import AsyncIterator

import aiohttp
from aiohttp import web


class Pace:
    """A bucket for messages and one for bytes, both holding a few seconds' worth.

    ``shared`` is a pace that others keep as well: the slower of the two holds.
    """

    def __init__(
        self,
        messages_per_second: float,
        bytes_per_second: float,
        *,
        burst_seconds: float = 2.0,
        shared: "Pace | None" = None,
    ) -> None:
        self._messages_per_second = messages_per_second
        self._bytes_per_second = bytes_per_second
        self._burst_seconds = burst_seconds
        self._shared = shared
        self._ahead = 0.0

    def pause_after(self, size: int, now: float) -> float:
        """Return the seconds to wait after a message of this size, at the monotonic time ``now``.

        The message takes up the time that it would need at the permitted rates; a burst may run ahead of that.
        """
        cost = max(1 / self._messages_per_second, size / self._bytes_per_second)
        self._ahead = max(self._ahead, now) + cost
        others = self._shared.pause_after(size, now) if self._shared else 0.0
        return max(others, self._ahead - now - self._burst_seconds)

    async def texts(self, socket: web.WebSocketResponse) -> AsyncIterator[str]:
        """Yield the text messages of a socket, no faster than permitted."""
        clock = asyncio.get_running_loop().time
        async for message in socket:
            if message.type is not aiohttp.WSMsgType.TEXT:
                continue
            yield message.data
            if pause := self.pause_after(len(message.data), clock()):
                await asyncio.sleep(pause)


__all__ = ["Pace"]
