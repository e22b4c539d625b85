"""Retrievers and stores of LangChain for the tests of its adapter."""

import asyncio
import threading
from collections.abc import Callable, Mapping
from typing import Any

import langchain_core.exceptions
from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore
from pydantic import Field

from adapters.langchain import LangChainProvider
from tests.adapters.embedding import embedded


class WordEmbeddings(Embeddings):
    """An embedding with a coroutine."""

    def embed_query(self, text: str) -> list[float]:
        return embedded(text)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    async def aembed_query(self, text: str) -> list[float]:
        return self.embed_query(text)


class BlockingEmbeddings(Embeddings):
    def embed_query(self, text: str) -> list[float]:
        return WordEmbeddings().embed_query(text)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]


DOCUMENTS = [
    Document(
        page_content="Releases require two reviewers.",
        id="release-1",
        metadata={"title": "Releases", "source": "https://docs.example.com/releases", "page": 3, "owner": "ann"},
    ),
    Document(
        page_content="Travel is booked by the office.",
        metadata={"source": "/srv/private/travel.md", "owner": "bob", "_id": "travel-1", "nested": {"a": 1}},
    ),
]


def store(embeddings: Embeddings | None = None) -> InMemoryVectorStore:
    return InMemoryVectorStore.from_documents(DOCUMENTS, embeddings or WordEmbeddings())


def equal(filters: Mapping[str, Any]) -> Callable[[Document], bool]:
    """The filter of this store is a function of a document."""
    return lambda document: all(document.metadata.get(key) == value for key, value in filters.items())


def provider(target: Any, **options: Any) -> LangChainProvider:
    return LangChainProvider(target, key="langchain", label="LangChain", **options)


class Blocking(BaseRetriever):
    """Knows only how to block, and ignores how many documents are asked for."""

    release: Any = None
    started: Any = None

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        if self.started is not None:
            self.started.set()
            self.release.wait(20)
        return [Document(page_content=threading.current_thread().name)] * 12


class NoRunManager(BaseRetriever):
    """LangChain gives this class an async method of its own making, which proves nothing."""

    def _get_relevant_documents(self, query: str) -> list[Document]:  # type: ignore[override]
        return [Document(page_content=threading.current_thread().name)]


class Native(BaseRetriever):
    """Brings a coroutine; its blocking side must never be used."""

    started: Any = Field(default_factory=asyncio.Event)
    ended: int = 0

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        raise AssertionError("the blocking side was asked")

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        self.started.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended += 1
        return []


def scoped() -> list[LangChainProvider]:
    """A store asked for what the owner may see."""
    return [provider(store(), filter_builder=equal, owner_filters=lambda context: {"owner": context.owner_id})]


def held() -> Blocking:
    """One that blocks until it is released."""
    return Blocking(release=threading.Event(), started=threading.Event())


def failing(error: Exception) -> Any:
    def fail(_: str) -> list[Document]:
        raise error

    return RunnableLambda(fail)


def vendor_exceptions() -> list[type[Exception]]:
    everything = vars(langchain_core.exceptions).values()
    return [kind for kind in everything if isinstance(kind, type) and issubclass(kind, Exception)]
