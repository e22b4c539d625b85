"""A provider that can be held in the middle of a retrieval."""

import asyncio
from typing import Any

from knowledge_provider import ProviderDescription, RetrievalContext, RetrievalRequest


class HeldProvider:
    """Answers at once, or, after ``hold``, tells when it is entered and waits; remembers who asked and who stopped."""

    def __init__(self) -> None:
        self.asked: list[tuple[RetrievalRequest, RetrievalContext]] = []
        self.entered = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.released = asyncio.Event()
        self.released.set()

    def hold(self) -> None:
        self.released.clear()

    def describe(self) -> ProviderDescription:
        return ProviderDescription(protocol_version=1, key="held", label="Held")

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> list[dict[str, Any]]:
        self.asked.append((request, context))
        self.entered.set()
        try:
            await self.released.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        source = {"title": "Release handbook", "uri": "https://docs.example.com/releases"}
        return [{"id": "1", "content": f"Two reviewers, {context.owner_id}.", "source": source}]
