"""An index that fails, or hangs, as a test says."""

import asyncio
from collections.abc import Sequence

from knowledge_service import AdapterContext, DocumentRefused, KnowledgeDocument
from knowledge_service.indexes.memory import MemoryIndex


class FailingIndex(MemoryIndex):
    """Fails for every call, or for documents that hold a word; while ``go_on`` is not set its writes hang."""

    def __init__(self) -> None:
        super().__init__()
        self.error: Exception | None = None
        self.refused_word = ""
        self.batches: list[int] = []
        self.entered = asyncio.Event()
        self.go_on = asyncio.Event()
        self.go_on.set()

    async def upsert(self, documents: Sequence[KnowledgeDocument], context: AdapterContext) -> None:
        self.batches.append(len(documents))
        self.entered.set()
        await self.go_on.wait()
        if self.error is not None:
            raise self.error
        if self.refused_word and any(self.refused_word in document.content for document in documents):
            raise DocumentRefused("index", "does not take that word")
        await super().upsert(documents, context)
