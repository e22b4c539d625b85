"""A realtime model with ears: the embedded one, which takes whatever it hears for one question."""

import asyncio
import base64
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
from aiohttp import web

from gateway.realtime.embedded_session import EmbeddedSession, identifier
from gateway.realtime.wire import encoded, parsed

Event = dict[str, Any]


class _HearingSession(EmbeddedSession):
    """Writes down every utterance as the same words, and answers them like typed ones."""

    def __init__(self, send: Callable[[Event], None], words: str) -> None:
        super().__init__(send)
        self.session["model"] = "hearing"
        self._words = words

    def _commit(self, event: Mapping[str, Any]) -> None:
        self._audio.clear()
        item_id, self._speech_item = self._speech_item or identifier("item"), ""
        self.emit("input_audio_buffer.committed", item_id=item_id, previous_item_id=next(reversed(self.items), None))
        message = {"object": "realtime.item", "type": "message", "role": "user", "status": "completed"}
        self.add_item({"id": item_id, **message, "content": [{"type": "input_text", "text": self._words}]})
        transcribed = "conversation.item.input_audio_transcription.completed"
        self.emit(transcribed, item_id=item_id, content_index=0, transcript=self._words)


class HearingModel:
    """``received`` holds the events of the client but its sound, which is in ``pcm``; ``spoken`` what it has said."""

    def __init__(self, words: str) -> None:
        self.url = ""
        self.received: list[Event] = []
        self.pcm = bytearray()
        self.spoken: dict[str, bytearray] = {}
        self._words = words
        self._news = asyncio.Condition()

    async def event(self, type: str) -> Event:
        """The first event of this type from the client, once it is there."""
        await self.until(lambda: any(event["type"] == type for event in self.received))
        return next(event for event in self.received if event["type"] == type)

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait until something is so of what came in or went out."""
        async with asyncio.timeout(20), self._news:
            await self._news.wait_for(true)

    async def _serve(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        outbox: asyncio.Queue[Event] = asyncio.Queue()
        session = _HearingSession(lambda event: outbox.put_nowait(parsed(encoded(event)) or {}), self._words)
        writing = asyncio.create_task(self._write(outbox, socket))
        session.open()
        async for message in socket:
            if message.type is aiohttp.WSMsgType.TEXT:
                event = parsed(message.data) or {}
                session.receive(event)
                await self._keep(event)
        await session.close()
        writing.cancel()
        return socket

    async def _keep(self, event: Event) -> None:
        if event["type"] == "input_audio_buffer.append":
            self.pcm += base64.b64decode(event["audio"])
        else:
            self.received.append(event)
        await self._tell()

    async def _write(self, outbox: "asyncio.Queue[Event]", socket: web.WebSocketResponse) -> None:
        while True:
            event = await outbox.get()
            if event["type"] == "response.output_audio.delta":
                self.spoken.setdefault(event["item_id"], bytearray()).extend(base64.b64decode(event["delta"]))
            await socket.send_json(event)
            await self._tell()

    async def _tell(self) -> None:
        async with self._news:
            self._news.notify_all()


@asynccontextmanager
async def hearing_model(words: str) -> AsyncIterator[HearingModel]:
    """A model that hears ``words`` whenever somebody speaks, on a loopback port."""
    model = HearingModel(words)
    application = web.Application()
    application.router.add_get("/v1/realtime", model._serve)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    model.url = f"ws://127.0.0.1:{runner.addresses[0][1]}/v1/realtime"
    try:
        yield model
    finally:
        await runner.cleanup()


__all__ = ["HearingModel", "hearing_model"]
