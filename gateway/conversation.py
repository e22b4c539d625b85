"""A small client of the gateway: it speaks to it as any other client does, over the websocket, in text.

The command line, the examples and the tests ask their questions with it.
"""

import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from .realtime.holding import HOLDING_MARK


class ConversationError(Exception):
    """Raised when no gateway answers, or when it ends the conversation; one sentence for a person."""


@dataclass(slots=True)
class Turn:
    """What one question led to. Times are milliseconds since the question was sent."""

    question: str
    query: str = ""
    status: str = ""
    answer: str = ""
    sources: list[dict[str, Any]] = field(default_factory=list)
    citations: list[dict[str, Any]] = field(default_factory=list)
    knowledge_milliseconds: float | None = None
    first_word_milliseconds: float | None = None
    milliseconds: float = 0.0


class Conversation:
    """A session with a gateway; `ask` yields the gateway's events while it fills in the `Turn`."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket

    async def ask(self, turn: Turn) -> AsyncIterator[dict[str, Any]]:
        """Send the question and yield every event until its answer is complete; a holding sentence is no answer."""
        started = time.perf_counter()
        content = [{"type": "input_text", "text": turn.question}]
        item = {"type": "message", "role": "user", "content": content}
        await self._socket.send_json({"type": "conversation.item.create", "item": item})
        await self._socket.send_json({"type": "response.create"})
        fillers: set[str] = set()
        async for event in self._events():
            turn.milliseconds = (time.perf_counter() - started) * 1000
            response = event.get("response") or {}
            if HOLDING_MARK in (response.get("metadata") or {}):
                fillers.add(response["id"])
            filler = event.get("response_id", response.get("id")) in fillers
            if not filler:
                _take(event, turn)
            yield event
            if event["type"] == "response.done" and not filler:
                return

    async def answer(self, question: str) -> Turn:
        """Ask and wait for the whole answer. Raises `ConversationError` when the gateway reports an error."""
        turn = Turn(question)
        async for _ in self.ask(turn):
            pass
        return turn

    async def _events(self) -> AsyncIterator[dict[str, Any]]:
        async for message in self._socket:
            if message.type is not aiohttp.WSMsgType.TEXT:
                continue
            event = json.loads(message.data)
            if event["type"] == "error":
                raise ConversationError(f"the gateway reported: {event['error'].get('message', 'an error')}")
            yield event
        raise ConversationError("the gateway closed the connection before it had answered.")


def _take(event: dict[str, Any], turn: Turn) -> None:
    match event["type"]:
        case "knowledge.started":
            turn.query = event.get("query", "")
        case "knowledge.completed":
            turn.status = event["status"]
            turn.sources = event.get("sources", [])
            turn.knowledge_milliseconds = event.get("elapsed_ms")
        case "knowledge.citations":
            turn.citations = event["citations"]
        case "response.output_text.delta" | "response.output_audio_transcript.delta":
            if turn.first_word_milliseconds is None:
                turn.first_word_milliseconds = turn.milliseconds
            turn.answer += event["delta"]


@asynccontextmanager
async def conversation(url: str) -> AsyncIterator[Conversation]:
    """Connect to a gateway and ask it for text and for the knowledge events; the socket is closed on leaving."""
    async with aiohttp.ClientSession() as http:
        try:
            socket = await http.ws_connect(f"{url}?knowledge_events=1", max_msg_size=2**24)
        except aiohttp.ClientError as error:
            raise ConversationError(f"no gateway answers at {url}. Start one with: earpiece serve") from error
        async with socket:
            session = {"type": "realtime", "output_modalities": ["text"]}
            await socket.send_json({"type": "session.update", "session": session})
            yield Conversation(socket)


__all__ = ["Conversation", "ConversationError", "Turn", "conversation"]
