"""``/v1/realtime``: a websocket becomes a session between its client and the realtime model."""

import asyncio
import logging
import secrets
from collections import Counter
from collections.abc import AsyncIterator

import aiohttp
from aiohttp import web

from ..knowledge_tool import KnowledgeTool
from ..realtime.dialects import dialect_named
from ..realtime.lane import Lane
from ..realtime.lookups import Asker
from ..realtime.session import RealtimeSession
from ..realtime.session_core import SessionCore
from ..realtime.upstream import UpstreamAddress, UpstreamLink, connect, connect_again
from ..settings import GatewaySettings
from .access import Access, subprotocol

_logger = logging.getLogger(__name__)


class RealtimeEndpoint:
    """Serves the sessions of one gateway and knows them all. ``upstream`` is set before the first one comes."""

    def __init__(self, *, settings: GatewaySettings, tool: KnowledgeTool, access: Access) -> None:
        self.upstream: UpstreamAddress | None = None
        self._settings = settings
        self._tool = tool
        self._access = access
        self._http: aiohttp.ClientSession | None = None
        self._running: dict[asyncio.Task[None], web.WebSocketResponse] = {}
        self._per_owner: Counter[str] = Counter()
        self._draining = False

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Authenticate, take the websocket, and run its session to the end."""
        owner = self._access.owner(request)
        self._check_counts(owner)
        protocol = subprotocol(request)
        socket = web.WebSocketResponse(
            compress=False,
            heartbeat=self._settings.ping_seconds,
            max_msg_size=self._settings.max_message_bytes,
            protocols=(protocol,) if protocol else (),
        )
        self._per_owner[owner] += 1
        try:
            await socket.prepare(request)
            await self._run(socket, request, owner)
        finally:
            self._per_owner[owner] -= 1
            self._per_owner += Counter()
        return socket

    async def aclose(self) -> None:
        """End every session: its calls are settled, its socket closed as going away."""
        self._draining = True
        sessions = dict(self._running)
        for task in sessions:
            task.cancel()
        await asyncio.gather(*sessions, return_exceptions=True)
        if self._http is not None:
            await self._http.close()

    async def _run(self, socket: web.WebSocketResponse, request: web.Request, owner: str) -> None:
        session = self._session(socket, request, owner)
        task = asyncio.create_task(session.run(_texts(socket)))
        self._running[task] = socket
        try:
            await asyncio.wait([task])
            if not task.cancelled() and (error := task.exception()) is not None:
                _logger.error("A realtime session ended with %s.", type(error).__qualname__, exc_info=error)
        finally:
            task.cancel()
            del self._running[task]
            await socket.close(code=aiohttp.WSCloseCode.GOING_AWAY if self._draining else aiohttp.WSCloseCode.OK)

    def _session(self, socket: web.WebSocketResponse, request: web.Request, owner: str) -> RealtimeSession:
        core = SessionCore(
            client=Lane(socket),
            dialect=dialect_named(self._settings.dialect),
            tool=self._tool,
            asker=Asker(owner, f"sess_{secrets.token_hex(12)}"),
            on_barge_in=self._settings.on_barge_in,
            knowledge_events=request.query.get("knowledge_events") == "1",
        )
        model = request.query.get("model", "")

        async def open_link(again: bool) -> UpstreamLink:
            assert self.upstream is not None, "the gateway is started before it serves"  # noqa: S101
            if not again:
                return await connect(self._client(), self.upstream, core.dialect, model=model)
            attempts = self._settings.reconnect_attempts
            return await connect_again(self._client(), self.upstream, core.dialect, model=model, attempts=attempts)

        return RealtimeSession(core, open_link)

    def _client(self) -> aiohttp.ClientSession:
        if self._http is None:
            self._http = aiohttp.ClientSession()
        return self._http

    def _check_counts(self, owner: str) -> None:
        if self._draining:
            raise web.HTTPServiceUnavailable(text="The gateway is closing.", headers={"Retry-After": "1"})
        full = len(self._running) >= self._settings.max_sessions
        if full or self._per_owner[owner] >= self._settings.max_sessions_per_owner:
            raise web.HTTPTooManyRequests(text="Too many sessions. Close one first.", headers={"Retry-After": "5"})


async def _texts(socket: web.WebSocketResponse) -> AsyncIterator[str]:
    async for message in socket:
        if message.type is aiohttp.WSMsgType.TEXT:
            yield message.data


__all__ = ["RealtimeEndpoint"]
