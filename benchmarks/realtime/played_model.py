"""A realtime model that a benchmark plays: it sends what it is told to and hands over what it is sent."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
from aiohttp import web

Event = dict[str, Any]


class Connection:
    """One connection of a gateway to the model. ``received`` holds the texts that came, audio left out."""

    def __init__(self, socket: web.WebSocketResponse) -> None:
        self.socket = socket
        self.received: asyncio.Queue[str] = asyncio.Queue()
        self.audio: asyncio.Queue[str] = asyncio.Queue()

    async def send(self, type: str, **fields: Any) -> None:
        await self.socket.send_str(json.dumps({"type": type, **fields}))

    async def until(self, word: str) -> str:
        """Return the next text that holds a word."""
        while word not in (text := await self.received.get()):
            pass
        return text

    async def call(self, response_id: str) -> None:
        """Send all of a response that calls the tool once."""
        item = {"id": f"item_{response_id}", "type": "function_call", "name": "knowledge", "call_id": response_id}
        at = {"response_id": response_id, "output_index": 0}
        arguments = json.dumps({"query": f"release policy {response_id}"})
        await self.send("response.created", response={"id": response_id})
        await self.send("response.output_item.added", **at, item=item)
        done = {"item_id": item["id"], "call_id": response_id, "arguments": arguments}
        await self.send("response.function_call_arguments.done", **at, **done)
        item = {**item, "status": "completed", "arguments": arguments}
        await self.send("response.output_item.done", **at, item=item)
        await self.send("response.done", response={"id": response_id, "status": "completed", "output": [item]})

    async def end_follow_up(self, response_id: str) -> None:
        """Answer the request to go on with an empty response."""
        await self.until("response.create")
        await self.send("response.created", response={"id": f"f_{response_id}"})
        await self.send("response.done", response={"id": f"f_{response_id}", "status": "completed", "output": []})


class PlayedModel:
    """Listens on a free port; ``connections`` yields each connection once its session is greeted."""

    def __init__(self) -> None:
        self.connections: asyncio.Queue[Connection] = asyncio.Queue()
        self.url = ""

    @asynccontextmanager
    async def listening(self) -> AsyncIterator["PlayedModel"]:
        application = web.Application()
        application.router.add_get("/v1/realtime", self._serve)
        runner = web.AppRunner(application, shutdown_timeout=0.1, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.url = f"ws://127.0.0.1:{runner.addresses[0][1]}/v1/realtime"
        try:
            yield self
        finally:
            await runner.cleanup()

    async def _serve(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(compress=False)
        await socket.prepare(request)
        connection = Connection(socket)
        await connection.send("session.created", session={"id": "sess"})
        await self.connections.put(connection)
        async for message in socket:
            if message.type is aiohttp.WSMsgType.TEXT:
                audio = message.data.startswith('{"type":"input_audio_buffer.append"')
                (connection.audio if audio else connection.received).put_nowait(message.data)
        return socket


__all__ = ["Connection", "PlayedModel"]
