"""A host with a service over rows in memory, and indexes that do not answer as they should."""

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from knowledge_provider import RetrievalContext
from knowledge_service import (
    SYSTEM,
    AdapterSearch,
    ExecutionContext,
    IndexFailed,
    IndexHit,
    KnowledgeAdapter,
    KnowledgeService,
    KnowledgeSource,
    MemoryDataEngine,
    RowPolicy,
    ServiceEvent,
    source_from,
)
from knowledge_service.indexes.memory import MemoryIndex

ADA = ExecutionContext(user_id="ada")
AGENT = ExecutionContext(user_id="bob", roles=frozenset({"agent"}))
POLICY = RowPolicy.of({"where": {"public": True}}, {"roles": ["agent"]})


def declared(name: str = "articles", **more: Any) -> KnowledgeSource:
    content = {"kind": "object", "object": "article", "contentFields": ["body"], "metadataFields": ["public"]}
    return source_from({"id": name, "label": name.title(), "adapter": "memory", "source": content, **more})


def context(owner: str = "ada", seconds: float = 5.0) -> RetrievalContext:
    return RetrievalContext(owner_id=owner, deadline=time.monotonic() + seconds, trace_id="t1")


class Host:
    """Rows with their policy, and a service that knows one user, Ada."""

    def __init__(self, **options: Any) -> None:
        self.engine = MemoryDataEngine({"article": POLICY})
        self.engine.rows["article"] = {}
        self.events: list[ServiceEvent] = []
        self.index = MemoryIndex()
        options = {"callers": {"ada": ADA, "system": SYSTEM}.get, **options}
        self.service = KnowledgeService(data_engine=self.engine, listeners=[self.events.append], **options)
        self.service.register_adapter("memory", self.index)

    def rows(self, count: int, *, public: bool = True, start: int = 0) -> None:
        for number in range(start, start + count):
            self.engine.put("article", f"{number:04}", body=f"refund {number}", public=public)

    def mount(self, name: str, index: KnowledgeAdapter) -> None:
        """One more index, and a source in it, both of this name."""
        self.service.register_adapter(name, index)
        self.service.register_source(declared(name, adapter=name))

    async def ids(self, query: str = "refund", caller: ExecutionContext | None = ADA, **options: Any) -> list[str]:
        found = await self.service.search(query, execution_context=caller, **options)
        return [hit.source_record_id or "" for hit in found.hits]


class StuckIndex(MemoryIndex):
    """Does not answer before it is released, and does not stop when told to."""

    def __init__(self) -> None:
        super().__init__()
        self.released = asyncio.Event()

    async def search(self, query: str, options: AdapterSearch) -> Sequence[IndexHit]:
        while not self.released.is_set():
            try:
                await self.released.wait()
            except asyncio.CancelledError:
                continue
        return []


class BrokenIndex(MemoryIndex):
    async def search(self, query: str, options: AdapterSearch) -> Sequence[IndexHit]:
        raise IndexFailed("broken", "is down: password=hunter2")
