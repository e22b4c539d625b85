"""A Haystack retriever with a filter fixed when it was built: a filter that comes later narrows, never replaces it."""

import asyncio
import os

os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")  # read when Haystack is imported

from haystack import Document
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

from adapters.haystack import HaystackProvider
from gateway import FrontendKnowledgeRuntime


async def main() -> None:
    store = InMemoryDocumentStore()
    store.write_documents(
        [
            Document(content="A release needs two reviewers.", meta={"title": "Releases", "state": "public"}),
            Document(content="A release needs a secret handshake.", meta={"title": "Draft", "state": "draft"}),
        ]
    )
    public = {"field": "meta.state", "operator": "==", "value": "public"}
    draft = {"field": "meta.state", "operator": "==", "value": "draft"}
    provider = HaystackProvider(
        InMemoryBM25Retriever(store, filters=public), key="haystack", label="Handbook", filters=True
    )
    async with FrontendKnowledgeRuntime(provider) as runtime:
        response = await runtime.search("Who reviews a release?", owner_id="ann")
        for result in response.results:
            print(f"{result.source.title}: {result.content}")
        widened = await runtime.search("Who reviews a release?", owner_id="ann", filters=draft)
        print("drafts found:", len(widened.results))


if __name__ == "__main__":
    asyncio.run(main())
