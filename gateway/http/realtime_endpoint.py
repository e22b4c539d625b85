"""``/v1/realtime``: a websocket becomes a session between its client and the realtime model."""

import asyncio
import logging
import secrets
from collections import Counter
from collections.abc import Callable

import aiohttp
from aiohttp import web
from opentelemetry.metrics import MeterProvider

from ..knowledge_tool import KnowledgeTool
from ..listening import Listener
from ..realtime.dialects import dialect_named
from ..realtime.ears import Ears
from ..realtime.lane import Lane
from ..realtime.lookups import Asker, Lookups
from ..realtime.pace import Pace
from ..realtime.session import RealtimeSession
from ..realtime.session_core import SessionCore, Surroundings
from ..realtime.turn_times import TurnInstruments, TurnTimes
from ..realtime.upstream import UpstreamAddress, UpstreamLink, connect, connect_again
from ..settings import GatewaySettings
from .access import Access, subprotocol

_logger = logging.getLogger(__name__)


class _Running:
    """One session while it runs, and what is needed to end it from outside."""

    def __init__(self, session: RealtimeSession, lane: Lane, socket: web.WebSocketResponse) -> None:
        self.session = session
        self.lane = lane
        self.socket = socket
        self.task: asyncio.Task[int] | None = None
        self.code_when_cut = aiohttp.WSCloseCode.SERVICE_RESTART

    def cut(self, code: aiohttp.WSCloseCode) -> None:
        self.code_when_cut = code
        if self.task is not None:
            self.task.cancel()


class RealtimeEndpoint:
    """Serves the sessions of one gateway and knows them all. ``upstream`` is set before the first one comes."""

    def __init__(
        self,
        *,
        settings: GatewaySettings,
        tool: KnowledgeTool,
        access: Access,
        meter_provider: MeterProvider | None = None,
    ) -> None:
        self.upstream: UpstreamAddress | None = None
        self._settings = settings
        self._tool = tool
        self._access = access
        self._instruments = TurnInstruments(meter_provider=meter_provider)
        self._http: aiohttp.ClientSession | None = None
        self._running: set[_Running] = set()
        self._per_owner: Counter[str] = Counter()
        self._owner_paces: dict[str, Pace] = {}
        self._draining = False
        self._watch: asyncio.TimerHandle | None = None

    @property
    def sessions(self) -> int:
        """How many sessions run."""
        return sum(self._per_owner.values())

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """Authenticate, take the websocket, and run its session to the end."""
        owner = self._access.owner(request)
        self._check_counts(owner)
        protocol = subprotocol(request)
        socket = web.WebSocketResponse(
            compress=False,
            heartbeat=self._settings.ping_seconds,
            timeout=2.0,
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
            if not self._per_owner[owner]:
                self._owner_paces.pop(owner, None)
        return socket

    async def aclose(self) -> None:
        """End the sessions: each when it has nothing under way (1001), all of them at the drain limit (1012)."""
        self._draining = True
        tasks = [running.task for running in self._running if running.task is not None]
        for running in self._running:
            running.session.finish()
        if tasks:
            await asyncio.wait(tasks, timeout=self._settings.drain_seconds)
        for running in self._running:
            running.cut(aiohttp.WSCloseCode.SERVICE_RESTART)
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._watch is not None:
            self._watch.cancel()
        if self._http is not None:
            await self._http.close()

    async def _run(self, socket: web.WebSocketResponse, request: web.Request, owner: str) -> None:
        running = self._session(socket, request, owner)
        pace = self._pace(owner)
        running.task = asyncio.create_task(running.session.run(pace.texts(socket)))
        self._running.add(running)
        self._watch_stalls()
        code: int = running.code_when_cut
        try:
            await asyncio.wait([running.task])
            if running.task.cancelled():
                code = running.code_when_cut
            elif (error := running.task.exception()) is None:
                code = running.task.result()
            elif not isinstance(error, (aiohttp.ClientError, ConnectionError)):  # those are a client that has gone
                code = aiohttp.WSCloseCode.INTERNAL_ERROR
                _logger.error("A realtime session ended with %s.", type(error).__qualname__, exc_info=error)
        finally:
            running.task.cancel()
            self._running.discard(running)
            await _close(running, code)

    def _pace(self, owner: str) -> Pace:
        settings = self._settings
        shared = self._owner_paces.setdefault(
            owner, Pace(settings.owner_messages_per_second, settings.owner_bytes_per_second)
        )
        return Pace(settings.messages_per_second, settings.bytes_per_second, shared=shared)

    def _session(self, socket: web.WebSocketResponse, request: web.Request, owner: str) -> _Running:
        settings = self._settings
        asker = Asker(owner, f"sess_{secrets.token_hex(12)}")
        lookups = Lookups(self._tool, asker, on_barge_in=settings.on_barge_in)
        lane = Lane(socket)
        core = SessionCore(
            Surroundings(client=lane, retrievals=lookups, later=_later),
            dialect=dialect_named(settings.dialect),
            tool=self._tool.definition_for(owner),
            tells=request.query.get("knowledge_events") == "1",
            session_id=asker.session_id,
            slow_seconds=settings.slow_seconds,
            holds=settings.holding_sentence,
            transcription_model=settings.transcription_model,
        )
        lookups.settled = core.settled
        self._listen_in(core, asker)
        model = request.query.get("model", "")

        async def open_link(again: bool) -> UpstreamLink:
            assert self.upstream is not None, "the gateway is started before it serves"  # noqa: S101
            if not again:
                return await connect(self._client(), self.upstream, core.dialect, model=model)
            attempts = settings.reconnect_attempts
            return await connect_again(self._client(), self.upstream, core.dialect, model=model, attempts=attempts)

        return _Running(RealtimeSession(core, lane, lookups, open_link), lane, socket)

    def _listen_in(self, core: SessionCore, asker: Asker) -> None:
        core.world.times = times = TurnTimes(core.tell, self._instruments)
        if not self._settings.prefetch:
            return
        listener = Listener(
            self._tool.runtime,
            owner_id=asker.owner_id,
            session_id=asker.session_id,
            started=core.prefetching,
            within=lambda: times.within(core.turn_id),
        )
        core.world.ears = Ears(listener)
        core.world.prefetched = lambda: listener.counts

    def _client(self) -> aiohttp.ClientSession:
        if self._http is None:
            self._http = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
        return self._http

    def _check_counts(self, owner: str) -> None:
        if self._draining:
            raise web.HTTPServiceUnavailable(text="The gateway is closing.", headers={"Retry-After": "1"})
        full = self.sessions >= self._settings.max_sessions
        if full or self._per_owner[owner] >= self._settings.max_sessions_per_owner:
            raise web.HTTPTooManyRequests(text="Too many sessions. Close one first.", headers={"Retry-After": "5"})

    def _watch_stalls(self) -> None:
        """One timer for all sessions cuts those whose client has long stopped to read."""
        loop = asyncio.get_running_loop()
        if self._watch is not None:
            self._watch.cancel()
        for running in self._running:
            since = running.lane.busy_since
            if running.lane.overflowed or (since and loop.time() - since > self._settings.stalled_seconds):
                running.cut(aiohttp.WSCloseCode.POLICY_VIOLATION)
        pause = min(1.0, self._settings.stalled_seconds / 2)
        self._watch = loop.call_later(pause, self._watch_stalls) if self._running else None


async def _close(running: _Running, code: int) -> None:
    """Send what is queued and close, without waiting long for a client that does not read."""
    try:
        async with asyncio.timeout(2.0):
            await running.lane.drained()
            await running.socket.close(code=code)
    except TimeoutError:
        pass
    finally:
        running.lane.close()


def _later(seconds: float, do: Callable[[], None]) -> None:
    asyncio.get_running_loop().call_later(seconds, do)


__all__ = ["RealtimeEndpoint"]
