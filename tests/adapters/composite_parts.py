"""Parts of a composite that do as a test says."""

import asyncio
from collections.abc import Mapping
from typing import Any

from adapters.composite import CompositeProvider
from knowledge_provider import KnowledgeBase, ProviderDescription, RetrievalContext, RetrievalRequest


class Scripted:
    """A part that answers, fails or waits as the test says, and remembers what it was asked."""

    def __init__(
        self, *ids: str, error: Exception | None = None, key: str = "part", bases: tuple[str, ...] = ()
    ) -> None:
        self.ids = ids
        self.error = error
        self.key = key
        self.bases = bases
        self.asked: list[RetrievalRequest] = []
        self.hold: asyncio.Event | None = None
        self.cancelled = 0
        self.closed = 0

    def describe(self) -> ProviderDescription:
        bases = tuple(KnowledgeBase(id=base) for base in self.bases)
        return ProviderDescription(
            protocol_version=1,
            key="part",
            label="Part",
            capabilities={"filters": True},
            knowledge_bases=bases or None,
        )

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        self.asked.append(request)
        if self.hold is not None:
            try:
                await self.hold.wait()
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
        if self.error is not None:
            raise self.error
        return [{"id": name, "content": f"text of {name}"} for name in self.ids]

    async def close(self) -> None:
        self.closed += 1


def composite(parts: Mapping[str, Any], **options: Any) -> CompositeProvider:
    return CompositeProvider(parts, key="all", label="All", **options)


def ids(answer: Mapping[str, Any]) -> list[str]:
    return [result.id for result in answer["results"]]
