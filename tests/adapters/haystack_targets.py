"""Components and pipelines of Haystack for the tests of its adapter."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import haystack.document_stores.errors  # noqa: F401 - defines some of its exceptions
from haystack import Document, Pipeline, component
from haystack.components.joiners import DocumentJoiner
from haystack.components.retrievers import TextEmbeddingRetriever
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

from adapters._threads import Mode
from adapters.haystack import HaystackProvider
from tests.adapters.asking import subclasses_of
from tests.adapters.embedding import embedded

_EXECUTOR = ThreadPoolExecutor(1, thread_name_prefix="in-memory-store")


@component
class WordEmbedder:
    @component.output_types(embedding=list[float])
    def run(self, text: str) -> dict[str, Any]:
        return {"embedding": embedded(text)}


@component
class Blocking:
    """A component without a coroutine, as most integrations are."""

    def __init__(self) -> None:
        self.started = threading.Event()
        self.release = threading.Event()

    @component.output_types(documents=list[Document])
    def run(self, query: str) -> dict[str, Any]:
        self.started.set()
        self.release.wait(20)
        return {"documents": [Document(content=threading.current_thread().name)]}


@component
class Native:
    """A component with a coroutine that notices when it is cancelled."""

    def __init__(self) -> None:
        self.started = asyncio.Event()
        self.ended = 0

    @component.output_types(documents=list[Document])
    def run(self, query: str) -> dict[str, Any]:
        raise AssertionError("the blocking side was asked")

    @component.output_types(documents=list[Document])
    async def run_async(self, query: str) -> dict[str, Any]:
        self.started.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended += 1
        return {"documents": []}


@component
class Answers:
    """Answers whatever the test says."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    @component.output_types(documents=list[Document])
    def run(self, query: str, top_k: int = 5) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def in_memory_store(**options: Any) -> InMemoryDocumentStore:
    """An empty store that lives as long as the tests.

    A store without an executor of the caller's joins its own thread when it is collected. Where that happens while
    another thread starts, both wait for one lock of ``threading``, and no thread of the process starts any more.
    """
    return InMemoryDocumentStore(async_executor=_EXECUTOR, **options)


def store() -> InMemoryDocumentStore:
    texts: list[tuple[str, dict[str, Any]]] = [
        ("Releases require two reviewers.", {"title": "Releases", "url": "https://docs.example.com/r", "owner": "ann"}),
        ("Travel is booked by the office.", {"file_path": "/srv/travel.md", "owner": "bob", "set": {1, 2}}),
        ("Releases are announced on Monday.", {"owner": "bob", "page": 2}),
    ]
    found = in_memory_store()
    found.write_documents([Document(content=text, meta=meta, embedding=embedded(text)) for text, meta in texts])
    return found


def bm25(**options: Any) -> InMemoryBM25Retriever:
    return InMemoryBM25Retriever(store(), **options)


def hybrid(documents: InMemoryDocumentStore) -> Pipeline:
    """Two searches of one question, joined: the query goes to two places, the number to a third."""
    pipeline = Pipeline()
    pipeline.add_component("words", InMemoryBM25Retriever(documents))
    vectors = TextEmbeddingRetriever(retriever=InMemoryEmbeddingRetriever(documents), text_embedder=WordEmbedder())
    pipeline.add_component("vectors", vectors)
    pipeline.add_component("joiner", DocumentJoiner(join_mode="reciprocal_rank_fusion"))
    pipeline.connect("words", "joiner")
    pipeline.connect("vectors", "joiner")
    return pipeline


def provider(target: Any, **options: Any) -> HaystackProvider:
    return HaystackProvider(target, key="haystack", label="Haystack", **options)


def owned_by(owner: str) -> dict[str, Any]:
    return {"field": "meta.owner", "operator": "==", "value": owner}


def scoped() -> list[HaystackProvider]:
    """A component, and a pipeline of two branches, each asked for what the owner may see."""
    options: dict[str, Any] = {"filters": True, "owner_filters": lambda context: owned_by(context.owner_id)}
    pairs: list[tuple[Any, Mode]] = [(bm25(), "auto"), (hybrid(store()), "thread")]
    return [provider(target, mode=mode, workers=8, waiting=100, **options) for target, mode in pairs]


def vendor_exceptions() -> list[type[Exception]]:
    return [kind for kind in subclasses_of(Exception) if kind.__module__.startswith("haystack.")]
