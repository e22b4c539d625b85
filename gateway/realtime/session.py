"""One client and one model: a thin shell that reads both sockets and leaves every decision to the pure parts."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable

from aiohttp import WSCloseCode

from .client_side import ClientSide
from .lane import Lane
from .lookups import Lookups
from .model_side import FatalModelError, ModelSide
from .session_core import SessionCore
from .upstream import UpstreamLink, UpstreamUnavailable
from .wire import error_event, parsed, quick_type

_logger = logging.getLogger(__name__)

RENEWAL_SECONDS = 60.0
"""How long before the model's own limit a session moves to a new connection, as soon as nobody speaks."""

_AUDIO = "input_audio_buffer.append"

Connect = Callable[[bool], Awaitable[UpstreamLink]]
"""Opens a connection to the model; the argument says whether one was lost before."""


class RealtimeSession:
    """Runs from the client's connection to its end."""

    def __init__(self, core: SessionCore, client: Lane, lookups: Lookups, connect: Connect) -> None:
        self._core = core
        self._client = client
        self._lookups = lookups
        self._connect = connect
        self._client_side = ClientSide(core)
        self._model_side = ModelSide(core)
        self._link: UpstreamLink | None = None
        self._connected = asyncio.Event()
        self._finished = asyncio.Event()
        self._finishing = self._renewing = False
        self._renewal: asyncio.TimerHandle | None = None
        self._chores: set[asyncio.Task[None]] = set()

    async def run(self, client_messages: AsyncIterator[str]) -> int:
        """Serve until either side ends for good, then leave nothing running. Returns the close code for the client."""
        try:
            await self._open(again=False)
            return await self._serve(client_messages)
        except UpstreamUnavailable as error:
            self._core.to_client([error_event("model_unavailable", str(error), type="server_error")])
            return WSCloseCode.INTERNAL_ERROR
        except FatalModelError:
            _logger.info("The realtime model ended session %s.", self._core.session_id)
            return WSCloseCode.INTERNAL_ERROR
        finally:
            await self._close()

    def finish(self) -> None:
        """End as soon as nothing is under way: no response runs, no call is open."""
        self._finishing = True
        self._core.tell({"type": "gateway.going_away"})
        self._look_for_rest()

    async def _serve(self, client_messages: AsyncIterator[str]) -> int:
        reading = asyncio.create_task(self._read_client(client_messages))
        others = [asyncio.create_task(self._read_model()), asyncio.create_task(self._wait_finished())]
        try:
            done, _ = await asyncio.wait([reading, *others], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (reading, *others):
                task.cancel()
            await asyncio.gather(reading, *others, return_exceptions=True)
        for task in done:
            task.result()
        return WSCloseCode.OK if reading in done else WSCloseCode.GOING_AWAY

    async def _wait_finished(self) -> None:
        await self._finished.wait()

    async def _open(self, *, again: bool) -> None:
        self._link = await self._connect(again)
        self._core.world.model = self._link.lane
        self._core.open()
        self._connected.set()

    async def _read_client(self, messages: AsyncIterator[str]) -> None:
        async for text in messages:
            if quick_type(text) == _AUDIO:
                await self._forward_audio(text)
            elif (event := parsed(text)) is None:
                problem = "A message must be a JSON object with a 'type'."
                self._core.to_client([error_event("invalid_json", problem)])
            else:
                await self._connected.wait()
                self._client_side.take(event)
                await self._flush_model()
            self._look_for_rest()

    async def _forward_audio(self, text: str) -> None:
        if self._link is None:
            return  # nobody is there to hear it, and later it would be out of place
        if _AUDIO in self._core.dialect.raw_to_model:
            await self._link.lane.forward(text)
        elif event := parsed(text):
            self._core.to_model(event)
            await self._flush_model()

    async def _flush_model(self) -> None:
        if self._link is not None:
            await self._link.lane.flushed()

    async def _read_model(self) -> None:
        while self._link is not None:
            async for text in self._link:
                await self._from_model(text)
            await self._reopen()

    async def _from_model(self, text: str) -> None:
        core = self._core
        kind = None if core.view.must_read else quick_type(text)
        if kind is not None and (name := core.dialect.raw_from_model.get(kind)):
            await self._client.forward(text if name == kind else text.replace(f'"{kind}"', f'"{name}"', 1))
            return
        event = parsed(text)
        if event is None:
            _logger.warning("The realtime model sent something that is no event (session %s).", core.session_id)
            return
        self._model_side.take(event)
        if event["type"] == "session.created":
            self._plan_renewal()
        await self._client.flushed()
        self._look_for_rest()

    async def _reopen(self) -> None:
        link, self._link, self._core.world.model = self._link, None, None
        self._connected.clear()
        renewed, self._renewing = self._renewing, False
        self._core.lost()
        if link is not None:
            await link.aclose()
        await self._open(again=True)
        self._core.tell({"type": "gateway.reconnected", "reason": "renewed" if renewed else "connection_lost"})

    def _plan_renewal(self) -> None:
        expires_at = self._model_side.expires_at
        if self._renewal is not None:
            self._renewal.cancel()
            self._renewal = None
        if expires_at is not None:
            left = expires_at - time.time()
            self._renewal = asyncio.get_running_loop().call_later(left - min(RENEWAL_SECONDS, left / 2), self._renew)

    def _renew(self) -> None:
        self._renewal = None
        self._renewing = True
        self._core.tell({"type": "gateway.renewing", "expires_at": self._model_side.expires_at})
        self._look_for_rest()

    def _look_for_rest(self) -> None:
        """Do what waits for a moment in which nothing is under way."""
        if not (self._finishing or self._renewing) or not self._core.table.idle or self._core.table.slot.speaking:
            return
        if self._finishing:
            self._finished.set()
        elif self._link is not None and not self._chores:
            chore = asyncio.create_task(self._link.aclose())
            self._chores.add(chore)
            chore.add_done_callback(self._chores.discard)

    async def _close(self) -> None:
        if self._renewal is not None:
            self._renewal.cancel()
        self._core.end()
        await self._lookups.aclose()
        await asyncio.gather(*self._chores, return_exceptions=True)
        if self._link is not None:
            for event in self._core.dialect.farewell():
                self._link.lane.put(event)
            await self._link.aclose()
        self._link = self._core.world.model = None


__all__ = ["Connect", "RealtimeSession"]
