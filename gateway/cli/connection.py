"""The websocket to the gateway. It is opened again whenever it is lost; nothing is kept for the next one."""

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any, Literal

import aiohttp

State = Literal["connecting", "open", "away", "refused"]

_FIRST_WAIT_SECONDS = 0.4
_LONGEST_WAIT_SECONDS = 8.0


class Connection:
    """``run`` keeps it up; ``on_state`` hears each change, ``on_event`` each event. `send` never waits."""

    def __init__(
        self,
        url: str,
        *,
        token: str = "",
        on_state: Callable[[State], None],
        on_event: Callable[[Mapping[str, Any]], None],
    ) -> None:
        self.state: State = "connecting"
        self._url = url
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._on_state = on_state
        self._on_event = on_event
        self._outgoing: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    @property
    def waiting(self) -> int:
        """How many events wait to be sent."""
        return self._outgoing.qsize()

    def send(self, event: dict[str, Any]) -> None:
        self._outgoing.put_nowait(event)

    async def run(self, *, keep: bool = True) -> None:
        """Connect, and connect again, until cancelled; with ``keep`` False return when the first connection ends."""
        wait = _FIRST_WAIT_SECONDS
        async with aiohttp.ClientSession() as http:
            while True:
                connected = await self._connection(http)
                if not keep or self.state == "refused":
                    return
                wait = _FIRST_WAIT_SECONDS if connected else min(wait * 2, _LONGEST_WAIT_SECONDS)
                await asyncio.sleep(wait)

    async def _connection(self, http: aiohttp.ClientSession) -> bool:
        try:
            address = f"{self._url}?knowledge_events=1"
            async with http.ws_connect(address, headers=self._headers, max_msg_size=2**24) as socket:
                self._outgoing = asyncio.Queue()
                self._become("open")
                sender = asyncio.create_task(self._write(socket))
                try:
                    async for message in socket:
                        if message.type is aiohttp.WSMsgType.TEXT:
                            self._on_event(json.loads(message.data))
                finally:
                    sender.cancel()
                    await asyncio.gather(sender, return_exceptions=True)
            self._become("away")
        except aiohttp.WSServerHandshakeError as error:
            self._become("refused" if error.status in (401, 403) else "away")
            return False
        except (aiohttp.ClientError, OSError):
            self._become("away")
            return False
        return True

    async def _write(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        while True:
            await socket.send_json(await self._outgoing.get())

    def _become(self, state: State) -> None:
        self.state = state
        self._on_state(state)


__all__ = ["Connection", "State"]
