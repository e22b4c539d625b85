"""A small realtime model server: no key, no network, no weights, and no language model.

It speaks the GA protocol over a real websocket, so that everything in front of it is used as it is with a real model.
"""

import asyncio

import aiohttp
from aiohttp import web

from .embedded_session import NOT_A_LANGUAGE_MODEL, EmbeddedSession
from .wire import encoded, parsed

_MAX_MESSAGE_BYTES = 16 * 2**20


class EmbeddedModel:
    """Serves ``/v1/realtime`` on a loopback port of its own between ``start`` and ``aclose``."""

    def __init__(self, *, host: str = "127.0.0.1", port: int = 0) -> None:
        self._host = host
        self._port = port
        self._runner: web.AppRunner | None = None
        self._sockets: set[web.WebSocketResponse] = set()

    @property
    def url(self) -> str:
        """The websocket address, known after ``start``."""
        return f"ws://{self._host}:{self._port}/v1/realtime"

    async def start(self) -> None:
        """Listen. Raises OSError when the port is taken."""
        application = web.Application()
        application.router.add_get("/v1/realtime", self._serve)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, self._host, self._port)
        await site.start()
        self._port = self._runner.addresses[0][1]

    async def aclose(self) -> None:
        """Close every conversation and stop listening."""
        if self._runner is not None:
            closing = [socket.close(code=aiohttp.WSCloseCode.GOING_AWAY) for socket in self._sockets]
            await asyncio.gather(*closing, return_exceptions=True)
            await self._runner.cleanup()
            self._runner = None

    async def _serve(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(compress=False, max_msg_size=_MAX_MESSAGE_BYTES, protocols=("realtime",))
        await socket.prepare(request)
        self._sockets.add(socket)
        outbox: asyncio.Queue[str] = asyncio.Queue()
        # An item goes on changing while its response runs; what was said of it is fixed at the moment it is said.
        session = EmbeddedSession(lambda event: outbox.put_nowait(encoded(event)))
        writer = asyncio.create_task(_write(outbox, socket))
        session.open()
        try:
            async for message in socket:
                if message.type is aiohttp.WSMsgType.TEXT:
                    _receive(session, message.data)
        finally:
            self._sockets.discard(socket)
            await session.close()
            writer.cancel()
            await asyncio.gather(writer, return_exceptions=True)
        return socket


def _receive(session: EmbeddedSession, text: str) -> None:
    session.receive(parsed(text) or {"type": "not an event"})


async def _write(outbox: asyncio.Queue[str], socket: web.WebSocketResponse) -> None:
    while True:
        await socket.send_str(await outbox.get())


__all__ = ["NOT_A_LANGUAGE_MODEL", "EmbeddedModel"]
