"""A provider whose moments can be watched and held."""

import asyncio
from typing import Any

from knowledge_provider import RetrievalContext, RetrievalRequest
from tests.gateway.realtime.played import SECONDS


class WatchedProvider:
    """Answers when it is let; says when it was asked, stopped and closed."""

    def __init__(self, *, held: bool = False, content: str = "Releases require two reviewers.") -> None:
        self.content = content
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
        return [{"id": "1", "content": self.content, "source": source}]

    async def close(self) -> None:
        self.closed += 1

    async def until_asked(self) -> None:
        async with asyncio.timeout(SECONDS):
            await self.asked.wait()

    async def until_stopped(self) -> None:
        async with asyncio.timeout(SECONDS):
            await self.stopped.wait()
