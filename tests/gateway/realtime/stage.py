"""A real gateway between a client and a model that are both in the hands of the test."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp

from gateway.application import GatewayApplication, create_gateway_application
from gateway.settings import GatewaySettings
from knowledge_provider import KnowledgeRetrievalProvider
from tests.gateway.realtime.played import SECONDS, Event, Peer, PlayedModel, Turn

ASK = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "How many reviewers?"}]}


@dataclass
class Stage:
    """The gateway, the client in front of it and the model behind it.

    ``opening`` is the update of the session with which the gateway has offered its tool; without a provider, None.
    """

    gateway: GatewayApplication
    client: Peer
    model: Peer
    opening: Event | None = None

    def turn(self, response_id: str = "resp_1") -> Turn:
        return Turn(self.model, response_id)

    async def calls(
        self, call_id: str = "call_1", *, query: str = "reviewers", name: str = "knowledge", response_id: str = "resp_1"
    ) -> None:
        """The model sends a whole response that calls a tool."""
        turn = self.turn(response_id)
        await turn.begin()
        await turn.call(call_id, name=name, query=query)
        await turn.end()

    async def answers(self, text: str = "Two.", *, response_id: str = "resp_2") -> None:
        """The model sends a whole response that says something."""
        turn = self.turn(response_id)
        await turn.begin()
        await turn.say(text)
        await turn.end()

    async def output(self) -> Event:
        """The next tool output that the model is sent, as the model reads it."""
        item = (await self.model.until("conversation.item.create"))["item"]
        output: Event = json.loads(item["output"])
        return output

    async def speech_starts(self, item_id: str = "item_9") -> None:
        await self.model.send("input_audio_buffer.speech_started", item_id=item_id, audio_start_ms=0)

    async def speech_stops(self, item_id: str = "item_9") -> None:
        await self.model.send("input_audio_buffer.speech_stopped", item_id=item_id, audio_end_ms=900)

    async def sends_the_model_nothing(self) -> None:
        """Nothing but what the client sends now: it is the next thing that the model gets."""
        await self.client.send("input_audio_buffer.clear")
        event = await self.model.next()
        assert event["type"] == "input_audio_buffer.clear", event

    @asynccontextmanager
    async def closing(self) -> AsyncIterator[None]:
        """Close the gateway, and see the end of it after the block."""
        task = asyncio.create_task(self.gateway.aclose())
        try:
            yield
        finally:
            async with asyncio.timeout(SECONDS):
                await task


@asynccontextmanager
async def open_gateway(
    provider: KnowledgeRetrievalProvider | None, **settings: Any
) -> AsyncIterator[GatewayApplication]:
    """A gateway that closes quickly; ``settings`` are those of `GatewaySettings`.

    Its deadline is so far away that whatever a test sees end was ended by something else.
    """
    chosen = GatewaySettings(**{"drain_seconds": 0.2, "timeout_seconds": 60.0, **settings})
    async with create_gateway_application(provider, settings=chosen) as gateway:
        yield gateway


@asynccontextmanager
async def dial(gateway: GatewayApplication, *, events: bool = False, **options: Any) -> AsyncIterator[Peer]:
    """A client of a gateway; ``events`` asks for the gateway's own events as well."""
    url = gateway.url + ("?knowledge_events=1" if events else "")
    async with aiohttp.ClientSession() as http, http.ws_connect(url, **options) as socket:
        yield Peer(socket)


@asynccontextmanager
async def dialled(
    provider: KnowledgeRetrievalProvider | None, *, events: bool = False, **settings: Any
) -> AsyncIterator[Peer]:
    """A client of a gateway of its own."""
    async with open_gateway(provider, **settings) as gateway, dial(gateway, events=events) as client:
        yield client


@asynccontextmanager
async def staged(
    model: PlayedModel, provider: KnowledgeRetrievalProvider | None, *, events: bool = False, **settings: Any
) -> AsyncIterator[Stage]:
    """A session that the model has greeted."""
    async with (
        open_gateway(provider, upstream=model.url, **settings) as gateway,
        dial(gateway, events=events) as client,
    ):
        peer = await model.connection()
        await peer.send("session.created", session={"id": "sess", "tools": []})
        await client.until("session.created")
        opening = await peer.until("session.update") if provider is not None else None
        yield Stage(gateway, client, peer, opening)
