"""A realtime model played by the test itself, on a real websocket, and providers whose moments can be watched."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from gateway.application import GatewayApplication, create_gateway_application
from gateway.settings import GatewaySettings
from knowledge_provider import RetrievalContext, RetrievalRequest

Event = dict[str, Any]
SECONDS = 5


class Peer:
    """One end of a websocket in a test: what came in waits in a queue."""

    def __init__(self, socket: web.WebSocketResponse | aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket

    async def send(self, type: str, **fields: Any) -> None:
        await self.socket.send_str(json.dumps({"type": type, **fields}))

    async def next(self) -> Event:
        """The next event, or {"type": "closed"}."""
        async with asyncio.timeout(SECONDS):
            message = await self.socket.receive()
        if message.type is not aiohttp.WSMsgType.TEXT:
            return {"type": "closed", "code": self.socket.close_code}
        event: Event = json.loads(message.data)
        return event

    async def until(self, type: str) -> Event:
        """The next event of this type; what comes before it is passed over."""
        while (event := await self.next())["type"] != type:
            assert event["type"] != "closed", f"closed while waiting for {type}"
        return event

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


class WatchedProvider:
    """Answers when it is let; says when it was asked, stopped and closed."""

    def __init__(self, *, held: bool = False) -> None:
        self.asked = asyncio.Event()
        self.stopped = asyncio.Event()
        self.go_on = asyncio.Event()
        self.requests: list[tuple[RetrievalRequest, RetrievalContext]] = []
        self.closed = 0
        if not held:
            self.go_on.set()

    def describe(self) -> dict[str, Any]:
        return {"protocolVersion": 1, "key": "watched", "label": "Watched"}

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> list[dict[str, Any]]:
        self.requests.append((request, context))
        self.asked.set()
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.stopped.set()
            raise
        source = {"title": "Release handbook", "uri": "https://docs.example.com/releases"}
        return [{"id": "1", "content": "Releases require two reviewers.", "source": source}]

    async def close(self) -> None:
        self.closed += 1


OpenGateway = Callable[..., AbstractAsyncContextManager[GatewayApplication]]
Dial = Callable[..., AbstractAsyncContextManager[Peer]]


@pytest.fixture
async def model() -> AsyncIterator[PlayedModel]:
    played = PlayedModel()
    await played.start()
    yield played
    await played.aclose()


@pytest.fixture
def open_gateway() -> OpenGateway:
    @asynccontextmanager
    async def opened(provider: object | None, **values: Any) -> AsyncIterator[GatewayApplication]:
        settings = GatewaySettings(**{"drain_seconds": 0.2, **values})
        async with create_gateway_application(provider, settings=settings) as gateway:  # type: ignore[arg-type]
            yield gateway

    return opened


@pytest.fixture
def dial() -> Dial:
    @asynccontextmanager
    async def dialled(gateway: GatewayApplication, query: str = "", **options: Any) -> AsyncIterator[Peer]:
        async with aiohttp.ClientSession() as http, http.ws_connect(f"{gateway.url}{query}", **options) as socket:
            yield Peer(socket)

    return dialled


class Turn:
    """Plays the model's part of one turn with calls of tools, in the order of the real protocol."""

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


@pytest.fixture
def turn() -> Callable[..., Turn]:
    return Turn


@pytest.fixture
def provider() -> WatchedProvider:
    return WatchedProvider()


@pytest.fixture
def held_provider() -> WatchedProvider:
    return WatchedProvider(held=True)
