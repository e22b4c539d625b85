"""One client and one model: a thin shell that reads both sockets and does what the pure parts decide."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable

from .client_side import ClientSide
from .model_side import FatalModelError, ModelSide
from .session_core import SessionCore
from .upstream import UpstreamLink, UpstreamUnavailable
from .wire import error_event

_logger = logging.getLogger(__name__)

Connect = Callable[[bool], Awaitable[UpstreamLink]]
"""Opens a connection to the model; the argument says whether one was lost before."""


class RealtimeSession:
    """Runs from the client's connection to its end."""

    def __init__(self, core: SessionCore, connect: Connect) -> None:
        self._core = core
        self._connect = connect
        self._client_side = ClientSide(core)
        self._model_side = ModelSide(core)
        self._link: UpstreamLink | None = None

    async def run(self, client_messages: AsyncIterator[str]) -> None:
        """Serve until either side ends for good; afterwards nothing of this session is left running."""
        try:
            await self._open(again=False)
            tasks = {
                asyncio.create_task(self._read_client(client_messages)),
                asyncio.create_task(self._read_model()),
            }
            try:
                done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
            for task in done:
                task.result()
        except UpstreamUnavailable as error:
            self._core.to_client([error_event("model_unavailable", str(error), type="server_error")])
        except FatalModelError:
            _logger.info("The realtime model ended session %s.", self._core.asker.session_id)
        finally:
            await self._close()

    async def _open(self, *, again: bool) -> None:
        self._link = await self._connect(again)
        self._core.model = self._link.lane
        self._core.offer_tool()

    async def _read_client(self, messages: AsyncIterator[str]) -> None:
        async for text in messages:
            await self._client_side.receive(text)

    async def _read_model(self) -> None:
        while True:
            if self._link is not None:
                async for text in self._link:
                    await self._model_side.receive(text)
                await self._lost()
            await self._open(again=True)

    async def _lost(self) -> None:
        core, link = self._core, self._link
        self._link = core.model = None
        core.perform(core.table.connection_lost())
        core.to_client(core.view.connection_lost())
        if link is not None:
            await link.aclose()

    async def _close(self) -> None:
        await self._core.aclose()
        link, self._link = self._link, None
        if link is not None:
            for event in self._core.dialect.farewell():
                self._core.to_model(event)
            self._core.model = None
            await link.aclose()
        await self._core.client.drained()


__all__ = ["Connect", "RealtimeSession"]
