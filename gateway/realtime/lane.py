"""One direction of a socket: what is sent keeps its order, and nobody who decides has to wait for the network."""

import asyncio
import logging
from collections import deque
from typing import Protocol

import aiohttp

from .wire import encoded

_logger = logging.getLogger(__name__)

_HIGH_WATER_BYTES = 256 * 1024


class Socket(Protocol):
    """The part of aiohttp's websockets, of either side, that is used to send."""

    @property
    def closed(self) -> bool: ...

    async def send_str(self, data: str) -> None: ...


class Lane:
    """Sends on one socket. ``put`` never waits; ``forward`` waits as long as the other side reads slowly.

    ``busy_since`` is the loop's time at which the send now under way began, for whoever looks for stalled readers.
    """

    def __init__(self, socket: Socket, *, max_queued_bytes: int = 16 * 2**20) -> None:
        self._socket = socket
        self._loop = asyncio.get_running_loop()
        self._queue: deque[str] = deque()
        self._queued_bytes = 0
        self._max_queued_bytes = max_queued_bytes
        self._writer: asyncio.Task[None] | None = None
        self.busy_since: float | None = None
        self.overflowed = False

    def put(self, event: dict[str, object]) -> None:
        """Send this event after all that was sent before it. What a closed or overfull lane gets is dropped."""
        text = encoded(event)
        if self.overflowed or self._socket.closed:
            return
        self._queue.append(text)
        self._queued_bytes += len(text)
        self.overflowed = self._queued_bytes > self._max_queued_bytes
        if self._writer is None:
            self._writer = self._loop.create_task(self._write())

    async def forward(self, text: str) -> None:
        """Send this text as it is, in order. Returns when the socket can take more."""
        while self._writer is not None:
            await asyncio.wait([self._writer])
        await self._send(text)

    async def drained(self) -> None:
        """Wait until everything that was put has been sent."""
        while self._writer is not None:
            await asyncio.wait([self._writer])

    async def flushed(self) -> None:
        """Wait while more is queued than the socket takes: whoever reads for this lane reads no faster than it."""
        if self._queued_bytes > _HIGH_WATER_BYTES:
            await self.drained()

    def close(self) -> None:
        """Send nothing more."""
        self._queue.clear()
        if self._writer is not None:
            self._writer.cancel()

    async def _write(self) -> None:
        try:
            while self._queue:
                text = self._queue.popleft()
                self._queued_bytes -= len(text)
                await self._send(text)
        finally:
            self._writer = None

    async def _send(self, text: str) -> None:
        self.busy_since = self._loop.time()
        try:
            await self._socket.send_str(text)
        except (aiohttp.ClientError, ConnectionError):
            # The reader of the same socket notices the end and sees to everything.
            self._queue.clear()
        except Exception as error:
            # One text that cannot be sent must not hold up those behind it. Its words are nobody's to log.
            _logger.error("A text of %s characters could not be sent: %s.", len(text), type(error).__name__)
        finally:
            self.busy_since = None


__all__ = ["Lane", "Socket"]
