"""Every adapter passes the checks that any provider must pass, over its real library or a service on loopback."""

import asyncio
import hashlib
import runpy
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import openai
import pytest
from aiohttp import web
from haystack import Document as HaystackDocument
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore
from llama_index.core import VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import TextNode

from adapters.composite import CompositeProvider
from adapters.dify import dify_provider
from adapters.function import FunctionProvider
from adapters.haystack import HaystackProvider
from adapters.http_service import HttpProvider
from adapters.langchain import LangChainProvider
from adapters.llama_index import LlamaIndexProvider, equal_filters
from adapters.mcp import McpProvider
from adapters.openai_file_search import OpenAIFileSearchProvider
from adapters.ragflow import RAGFlowProvider
from knowledge_provider import RetrievalContext, RetrievalRequest
from knowledge_provider.conformance import Conditions
from tests.adapters.haystack_targets import in_memory_store

Factory = Callable[[], Any]
OWNERS = ("ann", "bob")
TEXTS = (
    ("ann", "The release policy asks for two reviewers."),
    ("ann", "Expenses are paid within ten days."),
    ("ann", "Vacation is asked for in the calendar."),
    ("bob", "Security is everybody's work."),
    ("bob", "The release policy of Bob asks for nobody."),
)


def places(text: str) -> list[float]:
    found = [0.001] * 64
    for word in text.lower().split():
        found[hashlib.sha256(word.encode()).digest()[0] % 64] += 1.0
    return found


def rows(owner: str, count: int) -> list[dict[str, Any]]:
    mine = [(f"{who}-{n}", text, who) for n, (who, text) in enumerate(TEXTS) if who == owner]
    return [{"id": name, "content": text, "metadata": {"owner": who}} for name, text, who in mine][:count]


@pytest.fixture(scope="module")
def services() -> Iterator[str]:
    """All services on one port of loopback, in a thread: the checks run on loops of their own."""
    loop = asyncio.new_event_loop()
    ready: list[str] = []
    started = threading.Event()

    async def canonical(request: web.Request) -> web.Response:
        body = await request.json()
        return web.json_response(rows(body["context"]["ownerId"], body["request"]["topK"]))

    async def dify(request: web.Request) -> web.Response:
        body = await request.json()
        found = rows(body["knowledge_id"], body["retrieval_setting"]["top_k"])
        return web.json_response(
            {"records": [{"content": row["content"], "score": 0.5, "title": "t"} for row in found]}
        )

    async def stores(request: web.Request) -> web.Response:
        body = await request.json()
        found = rows(request.match_info["store"], body["max_num_results"])
        data = [
            {"file_id": row["id"], "content": [{"type": "text", "text": row["content"]}], "score": 1} for row in found
        ]
        return web.json_response({"object": "page", "data": data})

    async def ragflow(request: web.Request) -> web.Response:
        if request.method == "GET":
            return web.json_response({"code": 0, "data": []})
        body = await request.json()
        owner = body["dataset_ids"][0]
        found = rows(owner, body["page_size"])
        chunks = [{"id": row["id"], "content": row["content"], "dataset_id": owner, "similarity": 0.5} for row in found]
        return web.json_response({"code": 0, "data": {"chunks": chunks, "doc_aggs": {}}})

    async def serve() -> None:
        app = web.Application()
        app.router.add_post("/search", canonical)
        app.router.add_post("/retrieval", dify)
        app.router.add_post("/v1/vector_stores/{store}/search", stores)
        app.router.add_route("*", "/api/v1/{kind}", ragflow)
        runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        ready.append(f"http://127.0.0.1:{runner.addresses[0][1]}")
        started.set()
        await stop.wait()
        await runner.cleanup()

    stop = asyncio.Event()
    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    assert started.wait(10)
    yield ready[0]
    loop.call_soon_threadsafe(stop.set)
    thread.join(10)
    loop.close()


class WordEmbeddings(Embeddings):
    def embed_query(self, text: str) -> list[float]:
        return places(text)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [places(text) for text in texts]


class WordEmbedding(BaseEmbedding):
    def _get_text_embedding(self, text: str) -> list[float]:
        return places(text)

    def _get_query_embedding(self, query: str) -> list[float]:
        return places(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return places(query)


def function(_: str) -> Any:
    async def search(request: RetrievalRequest, context: RetrievalContext) -> list[Mapping[str, Any]]:
        return list(rows(context.owner_id, request.top_k))

    return FunctionProvider(search, key="function", label="Function")


def http(url: str) -> Any:
    return HttpProvider(f"{url}/search", key="http", label="HTTP")


def dify(url: str) -> Any:
    return dify_provider(f"{url}/retrieval", lambda context: context.owner_id, key="dify", label="Dify", api_key="key")


def langchain(_: str) -> Any:
    numbered = enumerate(TEXTS)
    documents = [Document(page_content=text, id=str(n), metadata={"owner": owner}) for n, (owner, text) in numbered]
    return LangChainProvider(
        InMemoryVectorStore.from_documents(documents, WordEmbeddings()),
        key="langchain",
        label="LangChain",
        filter_builder=lambda wanted: lambda doc: all(doc.metadata.get(k) == v for k, v in wanted.items()),
        owner_filters=lambda context: {"owner": context.owner_id},
    )


def llama_index(_: str) -> Any:
    nodes = [TextNode(text=text, id_=str(n), metadata={"owner": owner}) for n, (owner, text) in enumerate(TEXTS)]
    return LlamaIndexProvider(
        VectorStoreIndex(nodes=nodes, embed_model=WordEmbedding()),
        key="llama-index",
        label="LlamaIndex",
        filter_builder=equal_filters,
        owner_filters=lambda context: {"owner": context.owner_id},
    )


def haystack(_: str) -> Any:
    store = in_memory_store()
    store.write_documents([HaystackDocument(content=text, meta={"owner": owner}) for owner, text in TEXTS])
    return HaystackProvider(
        InMemoryBM25Retriever(store),
        key="haystack",
        label="Haystack",
        filters=True,
        owner_filters=lambda context: {"field": "meta.owner", "operator": "==", "value": context.owner_id},
    )


def openai_file_search(url: str) -> Any:
    client = openai.AsyncOpenAI(api_key="key", base_url=f"{url}/v1")
    stores = lambda context: [context.owner_id]  # noqa: E731 - one expression, once
    return OpenAIFileSearchProvider(client, stores, key="openai", label="OpenAI", owns_client=True)


def mcp(_: str) -> Any:
    server = runpy.run_path(str(Path(__file__).with_name("search_server.py")))["make_server"]()
    return McpProvider(
        server,
        "search",
        key="mcp",
        label="MCP",
        top_k_arg="top_k",
        owner_arguments=lambda context: {"owner": context.owner_id},
    )


def ragflow(url: str) -> Any:
    return RAGFlowProvider(url, "key", lambda context: [context.owner_id], key="ragflow", label="RAGFlow")


def composite(url: str) -> Any:
    return CompositeProvider({"service": http(url), "function": function(url)}, key="composite", label="Composite")


ADAPTERS = [function, http, dify, langchain, llama_index, haystack, openai_file_search, mcp, ragflow, composite]


@pytest.mark.parametrize("make", ADAPTERS, ids=lambda make: make.__name__)
def test_an_adapter_conforms(
    make: Callable[[str], Any], services: str, check_knowledge_provider: Callable[..., Any]
) -> None:
    """Shape, bounds, cancellation, owners apart, many calls at once, a free loop, health, and one close."""
    conditions = Conditions(owners=OWNERS, seconds=5.0, max_block_seconds=0.25)
    results = check_knowledge_provider(lambda: make(services), conditions)
    assert len(results) >= 9
