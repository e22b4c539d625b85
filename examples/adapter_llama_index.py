"""A LlamaIndex index, with the owner's filter set by the host. Offline: words are hashed, no model is loaded."""

import asyncio
from zlib import crc32

from llama_index.core import VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import TextNode

from adapters.llama_index import LlamaIndexProvider, equal_filters
from gateway import FrontendKnowledgeRuntime


class HashedWords(BaseEmbedding):
    """Stands for the embedding model of a real system."""

    def _get_text_embedding(self, text: str) -> list[float]:
        places = [0.001] * 256
        for word in text.lower().strip(".?").split():
            places[crc32(word.encode()) % 256] += 1.0
        return places

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


async def main() -> None:
    nodes = [
        TextNode(text="A release needs two reviewers.", metadata={"title": "Releases", "owner": "ann"}),
        TextNode(text="A release needs nobody.", metadata={"title": "Bob's releases", "owner": "bob"}),
    ]
    provider = LlamaIndexProvider(
        VectorStoreIndex(nodes=nodes, embed_model=HashedWords()),
        key="llama-index",
        label="Handbook",
        filter_builder=equal_filters,
        owner_filters=lambda context: {"owner": context.owner_id},
    )
    async with FrontendKnowledgeRuntime(provider) as runtime:
        response = await runtime.search("Who reviews a release?", owner_id="ann")
        for result in response.results:
            print(f"{result.source.title}: {result.content} (score {result.score:.2f})")


if __name__ == "__main__":
    asyncio.run(main())
