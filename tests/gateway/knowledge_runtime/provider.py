"""A provider that the tests of the runtime ask, and how they ask."""

import asyncio
from typing import Any

from gateway import FrontendKnowledgeRuntime
from knowledge_provider import KnowledgeResponse, RetrievalContext, RetrievalRequest

PASSAGE = {"id": "1", "content": "Releases need two reviewers.", "source": {"uri": "https://docs.example.com/releases"}}


class Provider:
    """Records every call and answers as the test says; ``gate`` holds its calls in the middle."""

    def __init__(self, answer: Any = None, *, held: bool = False, capabilities: Any = None, bases: Any = None) -> None:
        self.answer = [PASSAGE] if answer is None else answer
        self.calls: list[tuple[RetrievalRequest, RetrievalContext]] = []
        self.started = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.gate = asyncio.Event()
        if not held:
            self.gate.set()
        self.closed = 0
        self._capabilities = capabilities or {}
        self._bases = bases

    def describe(self) -> Any:
        return {
            "protocolVersion": 1,
            "key": "search",
            "label": "Search",
            "capabilities": self._capabilities,
            "knowledgeBases": self._bases,
        }

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        self.calls.append((request, context))
        self.started.set()
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer() if callable(self.answer) else self.answer

    async def close(self) -> None:
        self.closed += 1


async def ask(runtime: FrontendKnowledgeRuntime, query: str = "release policy", **changes: Any) -> KnowledgeResponse:
    return await runtime.search(query, **({"owner_id": "ann"} | changes))
