"""A LangChain vector store, with the owner's filter set by the host. Offline: words are hashed, no model is loaded."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any
from zlib import crc32

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore

from adapters.langchain import LangChainProvider
from gateway import FrontendKnowledgeRuntime


class HashedWords(Embeddings):
    """Stands for the embedding model of a real system."""

    def embed_query(self, text: str) -> list[float]:
        places = [0.001] * 256
        for word in text.lower().strip(".?").split():
            places[crc32(word.encode()) % 256] += 1.0
        return places

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


def equal(wanted: Mapping[str, Any]) -> Callable[[Document], bool]:
    """What this store takes as a filter is a function; others take a mapping."""
    return lambda document: all(document.metadata.get(key) == value for key, value in wanted.items())


async def main() -> None:
    store = InMemoryVectorStore.from_documents(
        [
            Document(page_content="A release needs two reviewers.", metadata={"title": "Releases", "owner": "ann"}),
            Document(page_content="A release needs nobody.", metadata={"title": "Bob's releases", "owner": "bob"}),
        ],
        HashedWords(),
    )
    provider = LangChainProvider(
        store,
        key="langchain",
        label="Handbook",
        scores=True,
        filter_builder=equal,
        owner_filters=lambda context: {"owner": context.owner_id},
    )
    async with FrontendKnowledgeRuntime(provider) as runtime:
        response = await runtime.search("Who reviews a release?", owner_id="ann")
        for result in response.results:
            print(f"{result.source.title}: {result.content} (score {result.score:.2f})")


if __name__ == "__main__":
    asyncio.run(main())
