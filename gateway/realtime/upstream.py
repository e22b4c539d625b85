"""The connection to the realtime model: opened, and opened again with growing pauses."""

import asyncio
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass

import aiohttp

from .dialects import Dialect
from .lane import Lane


class UpstreamUnavailable(Exception):
    """Raised when the model cannot be reached; ``fatal`` when trying again would not help."""

    def __init__(self, *, fatal: bool) -> None:
        super().__init__(
            "The realtime model refuses this gateway." if fatal else "The realtime model is not reachable."
        )
        self.fatal = fatal


@dataclass(frozen=True, slots=True)
class UpstreamAddress:
    """Where the model is, and how to be let in. The key is never part of a message or a log."""

    url: str
    key: str = ""
    model: str = ""
    connect_seconds: float = 10.0
    ping_seconds: float = 60.0
    max_message_bytes: int = 16 * 2**20

    def __repr__(self) -> str:
        return f"UpstreamAddress(url={self.url!r}, model={self.model!r})"


class UpstreamLink:
    """One open connection: ``lane`` to send on, iterated for what the model says."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self.lane = Lane(socket)

    async def __aiter__(self) -> AsyncIterator[str]:
        async for message in self._socket:
            if message.type is aiohttp.WSMsgType.TEXT:
                yield message.data

    async def aclose(self) -> None:
        """Send what is queued, then close; bounded, whatever the other side does."""
        try:
            async with asyncio.timeout(2.0):
                await self.lane.drained()
                await self._socket.close()
        except TimeoutError:
            pass
        finally:
            self.lane.close()


async def connect(
    http: aiohttp.ClientSession, address: UpstreamAddress, dialect: Dialect, *, model: str = ""
) -> UpstreamLink:
    """Connect once. Raises `UpstreamUnavailable`."""
    try:
        async with asyncio.timeout(address.connect_seconds):
            socket = await http.ws_connect(
                dialect.url(address.url, model or address.model),
                headers=dialect.headers(address.key),
                heartbeat=address.ping_seconds,
                max_msg_size=address.max_message_bytes,
                timeout=aiohttp.ClientWSTimeout(ws_close=1.0),
            )
    except aiohttp.WSServerHandshakeError as error:
        raise UpstreamUnavailable(fatal=error.status in (400, 401, 403, 404)) from error
    except (TimeoutError, aiohttp.ClientError, OSError) as error:
        raise UpstreamUnavailable(fatal=False) from error
    return UpstreamLink(socket)


async def connect_again(
    http: aiohttp.ClientSession, address: UpstreamAddress, dialect: Dialect, *, model: str, attempts: int
) -> UpstreamLink:
    """Connect with pauses that double from 0.2 s to at most 5 s. Raises `UpstreamUnavailable` in the end."""
    pause = 0.2
    for attempt in range(attempts):
        if attempt:
            await asyncio.sleep(pause * random.uniform(0.8, 1.2))  # noqa: S311
            pause = min(pause * 2, 5.0)
        try:
            return await connect(http, address, dialect, model=model)
        except UpstreamUnavailable as error:
            if error.fatal:
                raise
    raise UpstreamUnavailable(fatal=False)


__all__ = ["UpstreamAddress", "UpstreamLink", "UpstreamUnavailable", "connect", "connect_again"]
