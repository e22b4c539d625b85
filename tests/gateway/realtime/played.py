"""A realtime model that the test plays itself, on a real websocket."""

import asyncio
import json
from typing import Any

import aiohttp
from aiohttp import web

Event = dict[str, Any]
SECONDS = 5


class Peer:
    """One end of a websocket in a test."""

    def __init__(self, socket: web.WebSocketResponse | aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket

    async def send(self, type: str, **fields: Any) -> None:
        await self.socket.send_str(json.dumps({"type": type, **fields}))

    async def next(self) -> Event:
        """The next event, or {"type": "closed"}."""
        text = await self.next_text()
        if text is None:
            return {"type": "closed", "code": self.socket.close_code}
        event: Event = json.loads(text)
        return event

    async def next_text(self) -> str | None:
        """The next event as it was sent, or None where the socket is closed."""
        async with asyncio.timeout(SECONDS):
            message = await self.socket.receive()
        return str(message.data) if message.type is aiohttp.WSMsgType.TEXT else None

    async def until(self, type: str) -> Event:
        """The next event of this type; what comes before it is passed over."""
        while (event := await self.next())["type"] != type:
            assert event["type"] != "closed", f"closed while waiting for {type}"
        return event

    async def until_done(self) -> list[Event]:
        """The next events, up to the end of a response."""
        events = [await self.next()]
        while events[-1]["type"] != "response.done":
            assert events[-1]["type"] != "closed", events
            events.append(await self.next())
        return events

    async def close(self, code: int = 1000) -> None:
        async with asyncio.timeout(SECONDS):
            await self.socket.close(code=code)

    async def closed(self) -> int | None:
        """Wait for the end; returns the close code."""
        while (await self.next())["type"] != "closed":
            pass
        return self.socket.close_code


class PlayedModel:
    """Listens like a realtime model; every connection becomes a `Peer` for the test to play."""

    def __init__(self) -> None:
        self.connections: asyncio.Queue[Peer] = asyncio.Queue()
        self.requests: list[web.Request] = []
        self.refuse_with = 0
        self.url = ""
        self._runner: web.AppRunner | None = None
        self._ended = asyncio.Event()

    async def start(self) -> None:
        application = web.Application()
        application.router.add_get("/v1/realtime", self._serve)
        self._runner = web.AppRunner(application, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"ws://127.0.0.1:{self._runner.addresses[0][1]}/v1/realtime"

    async def aclose(self) -> None:
        self._ended.set()
        if self._runner is not None:
            await self._runner.cleanup()

    async def connection(self) -> Peer:
        async with asyncio.timeout(SECONDS):
            return await self.connections.get()

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        self.requests.append(request)
        if self.refuse_with:
            return web.Response(status=self.refuse_with, text="key sk-secret is wrong")
        socket = web.WebSocketResponse(compress=False, autoping=True)
        await socket.prepare(request)
        await self.connections.put(Peer(socket))
        await self._ended.wait()
        return socket


class Turn:
    """Plays the model's part of one response, in the order of the real protocol."""

    def __init__(self, model: Peer, response_id: str = "resp_1") -> None:
        self.model = model
        self.id = response_id
        self.output: list[Event] = []

    async def begin(self, **fields: Any) -> None:
        await self.model.send("response.created", response={"id": self.id, "status": "in_progress", **fields})

    async def call(self, call_id: str, *, name: str = "knowledge", query: str = "reviewers") -> None:
        item = {"id": f"item_{call_id}", "type": "function_call", "name": name, "call_id": call_id, "arguments": ""}
        at = {"response_id": self.id, "output_index": len(self.output)}
        arguments = json.dumps({"query": query})
        await self.model.send("response.output_item.added", **at, item={**item, "status": "in_progress"})
        await self.model.send("conversation.item.added", item=item, previous_item_id=None)
        place = {**at, "item_id": item["id"], "call_id": call_id}
        await self.model.send("response.function_call_arguments.delta", **place, delta=arguments)
        await self.model.send("response.function_call_arguments.done", **place, arguments=arguments)
        item |= {"arguments": arguments, "status": "completed"}
        self.output.append(item)
        await self.model.send("response.output_item.done", **at, item=item)
        await self.model.send("conversation.item.done", item=item, previous_item_id=None)

    async def say(self, text: str) -> None:
        item = {"id": f"item_say_{self.id}", "type": "message", "role": "assistant", "status": "completed"}
        at = {"response_id": self.id, "output_index": len(self.output), "item_id": item["id"]}
        await self.model.send("response.output_item.added", **at, item=item)
        await self.model.send("response.output_text.delta", **at, content_index=0, delta=text)
        self.output.append(item)
        await self.model.send("response.output_item.done", **at, item=item)

    async def end(self, status: str = "completed") -> None:
        response = {"id": self.id, "status": status, "output": self.output}
        await self.model.send("response.done", response=response)
