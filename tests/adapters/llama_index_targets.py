"""Retrievers and indices of LlamaIndex for the tests of its adapter."""

import asyncio
import threading
from typing import Any

from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import NodeRelationship, NodeWithScore, QueryBundle, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores import SimpleVectorStore

from adapters.llama_index import LlamaIndexProvider, equal_filters
from tests.adapters.asking import subclasses_of
from tests.adapters.embedding import embedded


class HashEmbedding(BaseEmbedding):
    """MockEmbedding would give all texts one vector."""

    def _get_text_embedding(self, text: str) -> list[float]:
        return embedded(text)

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._get_text_embedding(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)


class NativeEmbedding(HashEmbedding):
    async def _aget_query_embedding(self, query: str) -> list[float]:
        await asyncio.sleep(0)
        return self._get_text_embedding(query)


class AsyncStore(SimpleVectorStore):
    async def aquery(self, query: Any, **arguments: Any) -> Any:
        await asyncio.sleep(0)
        return self.query(query, **arguments)


def nodes() -> list[TextNode]:
    first = TextNode(
        text="Releases require two reviewers.",
        id_="release-1",
        metadata={"title": "Releases", "url": "https://docs.example.com/r", "page_label": "3", "owner": "ann"},
    )
    first.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id="handbook")
    second = TextNode(
        text="Travel is booked by the office.",
        id_="travel-1",
        start_char_idx=10,
        end_char_idx=41,
        metadata={"owner": "bob"},
    )
    return [first, second]


def index(embedding: BaseEmbedding | None = None) -> VectorStoreIndex:
    return VectorStoreIndex(nodes=nodes(), embed_model=embedding or HashEmbedding())


def provider(target: Any, **options: Any) -> LlamaIndexProvider:
    return LlamaIndexProvider(target, key="llama-index", label="LlamaIndex", **options)


class Blocking(BaseRetriever):
    """Like most retrievers of the core: no coroutine, so LlamaIndex itself would call it on the event loop."""

    def __init__(self) -> None:
        super().__init__()
        self.started = threading.Event()
        self.release = threading.Event()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        self.started.set()
        self.release.wait(20)
        return [NodeWithScore(node=TextNode(text=threading.current_thread().name, id_="thread"))]


class Native(BaseRetriever):
    def __init__(self) -> None:
        super().__init__()
        self.started = asyncio.Event()
        self.ended = 0

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        raise AssertionError("the blocking side was asked")

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        self.started.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended += 1
        return []


class Answers(BaseRetriever):
    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.answer = answer

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer  # type: ignore[no-any-return]


def scoped() -> list[LlamaIndexProvider]:
    """An index that blocks and one that does not, each asked for what the owner may see."""
    native = StorageContext.from_defaults(vector_store=AsyncStore())
    asynchronous = VectorStoreIndex(nodes=nodes(), embed_model=NativeEmbedding(), storage_context=native)
    mine = {"filter_builder": equal_filters, "owner_filters": lambda context: {"owner": context.owner_id}}
    blocking, awaited = (provider(one, workers=8, waiting=100, **mine) for one in (index(), asynchronous))
    assert (blocking._uses_coroutine, awaited._uses_coroutine) == (False, True)
    return [blocking, awaited]


def vendor_exceptions() -> list[type[Exception]]:
    vendors = ("llama_index.core", "llama_index.retrievers", "workflows.errors")
    return [kind for kind in subclasses_of(Exception) if kind.__module__.startswith(vendors)]
