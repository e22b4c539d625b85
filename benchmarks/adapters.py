"""What an adapter adds to its library: retrieve() beside the same library asked bare, alternated in one run.

Once one call after the other, once 50 started together. Services answer on loopback from the same process, so both
sides pay for them alike. LlamaIndex asked bare blocks the event loop, where the adapter goes through a thread: that is
what it adds there. The imports are measured in fresh processes, beside an interpreter that imports the contract alone.
"""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any
from zlib import crc32

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from aiohttp import web

from adapters.composite import CompositeProvider
from adapters.function import FunctionProvider
from adapters.haystack import HaystackProvider
from adapters.http_service import HttpProvider, canonical_body
from adapters.langchain import LangChainProvider
from adapters.llama_index import LlamaIndexProvider
from adapters.mcp import McpProvider
from adapters.openai_file_search import OpenAIFileSearchProvider
from adapters.ragflow import RAGFlowProvider
from benchmarks.measure import Row, Table, milliseconds, quiet_collector, spread
from knowledge_provider import RetrievalContext, RetrievalRequest

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 150
WARM = 15
BATCHES = 8
CONCURRENT = 50
IMPORTS = 5
TEXTS = [f"Rule {number}: a release of part {number} needs {number + 2} reviewers." for number in range(40)]
REQUEST = RetrievalRequest(query="how many reviewers does a release need", top_k=5)
CONTEXT = RetrievalContext(owner_id="ann")

Call = Callable[[], Awaitable[object]]
Pair = tuple[str, Call, Call]


def hashed_words(text: str) -> list[float]:
    """Stand for an embedding model that costs next to nothing."""
    places = [0.001] * 64
    for word in text.lower().split():
        places[crc32(word.encode()) % 64] += 1.0
    return places


async def search(request: RetrievalRequest, context: RetrievalContext) -> list[dict[str, Any]]:
    await asyncio.sleep(0)
    return [{"id": str(number), "content": text} for number, text in enumerate(TEXTS[: request.top_k])]


def function_pair() -> Pair:
    provider = FunctionProvider(search, key="function", label="Function")
    return "function", lambda: provider.retrieve(REQUEST, CONTEXT), lambda: search(REQUEST, CONTEXT)


def composite_pair() -> Pair:
    parts = {name: FunctionProvider(search, key=name, label=name) for name in ("one", "two")}
    provider = CompositeProvider(parts, key="composite", label="Composite")

    async def bare() -> None:
        await asyncio.gather(*(search(REQUEST, CONTEXT) for _ in parts))

    return "composite of two functions", lambda: provider.retrieve(REQUEST, CONTEXT), bare


def langchain_pairs() -> list[Pair]:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.vectorstores import InMemoryVectorStore

    class Words(Embeddings):
        def embed_query(self, text: str) -> list[float]:
            return hashed_words(text)

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [hashed_words(text) for text in texts]

        async def aembed_query(self, text: str) -> list[float]:
            return hashed_words(text)

    class Blocking(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
            return [Document(page_content=text) for text in TEXTS[:5]]

    store, blocking = InMemoryVectorStore.from_texts(TEXTS, Words()), Blocking()
    stored = LangChainProvider(store, key="langchain", label="LangChain", scores=True)
    threaded = LangChainProvider(blocking, key="langchain", label="LangChain", waiting=CONCURRENT)
    return [
        (
            "LangChain, vector store",
            lambda: stored.retrieve(REQUEST, CONTEXT),
            lambda: store.asimilarity_search_with_score(REQUEST.query, k=5),
        ),
        (
            "LangChain, blocking retriever",
            lambda: threaded.retrieve(REQUEST, CONTEXT),
            lambda: blocking.ainvoke(REQUEST.query),
        ),
    ]


def llama_index_pair() -> Pair:
    from llama_index.core import VectorStoreIndex
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.schema import TextNode

    class Words(BaseEmbedding):
        def _get_text_embedding(self, text: str) -> list[float]:
            return hashed_words(text)

        def _get_query_embedding(self, query: str) -> list[float]:
            return hashed_words(query)

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return hashed_words(query)

    index = VectorStoreIndex(nodes=[TextNode(text=text) for text in TEXTS], embed_model=Words())
    retriever = index.as_retriever(similarity_top_k=5)
    provider = LlamaIndexProvider(retriever, key="llama-index", label="LlamaIndex", waiting=CONCURRENT)
    return (
        "LlamaIndex, vector index",
        lambda: provider.retrieve(REQUEST, CONTEXT),
        lambda: retriever.aretrieve(REQUEST.query),
    )


def haystack_pair() -> Pair:
    os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")  # read when Haystack is imported
    from haystack import Document
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    store = InMemoryDocumentStore()
    store.write_documents([Document(content=text) for text in TEXTS])
    retriever = InMemoryBM25Retriever(store)
    provider = HaystackProvider(retriever, key="haystack", label="Haystack", waiting=CONCURRENT)
    return (
        "Haystack, BM25 retriever",
        lambda: provider.retrieve(REQUEST, CONTEXT),
        lambda: retriever.run_async(query=REQUEST.query, top_k=5),
    )


@asynccontextmanager
async def services() -> AsyncIterator[str]:
    """Serve what HTTP, OpenAI and RAGFlow answer, on loopback."""

    def answering(payload: Any) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def answer(request: web.Request) -> web.Response:
            await request.read()
            return web.json_response(payload)

        return answer

    few = list(enumerate(TEXTS[:5]))
    rows = [{"id": str(number), "content": text} for number, text in few]
    files = [{"file_id": str(n), "score": 0.5, "content": [{"type": "text", "text": text}]} for n, text in few]
    chunks = [{**row, "dataset_id": "ds", "similarity": 0.5} for row in rows]
    app = web.Application()
    app.router.add_post("/search", answering({"results": rows}))
    app.router.add_post("/v1/vector_stores/vs/search", answering({"object": "page", "data": files}))
    app.router.add_post("/api/v1/retrieval", answering({"code": 0, "data": {"chunks": chunks}}))
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    await runner.cleanup()


async def service_pairs(url: str, stack: AsyncExitStack) -> list[Pair]:
    import httpx2
    from openai import AsyncOpenAI

    bare = await stack.enter_async_context(httpx2.AsyncClient(trust_env=False))
    client = await stack.enter_async_context(AsyncOpenAI(api_key="none", base_url=f"{url}/v1"))
    http = HttpProvider(f"{url}/search", key="http", label="HTTP")
    files = OpenAIFileSearchProvider(client, ["vs"], key="openai", label="OpenAI")
    ragflow = RAGFlowProvider(url, "none", ["ds"], key="ragflow", label="RAGFlow")
    for provider in (http, ragflow):
        stack.push_async_callback(provider.close)

    async def posted(path: str, body: Any) -> Any:
        return (await bare.post(f"{url}{path}", json=body)).json()

    async def searched() -> Any:
        return await client.vector_stores.search("vs", query=REQUEST.query, max_num_results=5)

    body = canonical_body(REQUEST, CONTEXT)
    return [
        ("HTTP service", lambda: http.retrieve(REQUEST, CONTEXT), lambda: posted("/search", body)),
        ("OpenAI File Search", lambda: files.retrieve(REQUEST, CONTEXT), searched),
        (
            "RAGFlow",
            lambda: ragflow.retrieve(REQUEST, CONTEXT),
            lambda: posted("/api/v1/retrieval", {"question": REQUEST.query, "dataset_ids": ["ds"], "page_size": 5}),
        ),
    ]


async def mcp_pair(stack: AsyncExitStack) -> Pair:
    from mcp import Client
    from mcp.server.mcpserver import MCPServer

    server = MCPServer("bench", log_level="ERROR")

    @server.tool()
    async def find(query: str) -> list[dict[str, str]]:
        return [{"id": str(number), "text": text} for number, text in enumerate(TEXTS[:5])]

    client = await stack.enter_async_context(Client(server))
    provider = McpProvider(server, "find", key="mcp", label="MCP")
    stack.push_async_callback(provider.close)
    return (
        "MCP, server in this process",
        lambda: provider.retrieve(REQUEST, CONTEXT),
        lambda: client.call_tool("find", {"query": REQUEST.query}),
    )


async def row_of(pair: Pair) -> Row:
    """Alternate bare and measured calls, so that whatever the machine does falls on both."""
    name, whole, bare = pair
    measured, baseline = [], []
    for _ in range(ROUNDS):
        baseline.append(await milliseconds(bare))
        measured.append(await milliseconds(whole))
    return Row(name, spread(measured[WARM:]), spread(baseline[WARM:]))


async def crowded_row_of(pair: Pair) -> Row:
    name, whole, bare = pair
    measured: list[float] = []
    baseline: list[float] = []
    for batch in range(BATCHES):
        for call, samples in ((bare, baseline), (whole, measured)):
            times = await ends_of_many(call)
            samples += times if batch else []
    return Row(name, spread(measured), spread(baseline))


async def ends_of_many(call: Call) -> list[float]:
    """Start all calls together and return when each has ended: one that blocks the loop makes the others wait."""
    started = time.perf_counter()

    async def end() -> float:
        await call()
        return (time.perf_counter() - started) * 1000

    return list(await asyncio.gather(*(end() for _ in range(CONCURRENT))))


async def call_tables() -> list[Table]:
    async with services() as url, AsyncExitStack() as stack:
        pairs = [function_pair(), composite_pair(), *langchain_pairs(), llama_index_pair(), haystack_pair()]
        pairs += [*await service_pairs(url, stack), await mcp_pair(stack)]
        with quiet_collector():
            alone = [await row_of(pair) for pair in pairs]
            crowded = [await crowded_row_of(pair) for pair in pairs]
    return [
        Table("Adapter beside bare library, one call after the other", tuple(alone), aim=AIM, verdict=_verdict(alone)),
        Table(f"The same, {CONCURRENT} calls started together, when each has ended", tuple(crowded)),
    ]


AIM = "less than 1 ms added at the median by every adapter."


def _verdict(rows: list[Row]) -> str:
    added = {row.name: row.measured.p50 - row.baseline.p50 for row in rows if row.baseline}
    worst = max(added, key=lambda name: added[name])
    return f"{added[worst]:.3f} ms at most ({worst})."


def import_milliseconds(code: str) -> float:
    """Run one import in a fresh interpreter and return how long it took there."""
    script = f"import time, json; start = time.perf_counter(); {code}; print(time.perf_counter() - start)"
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    return float(json.loads(finished.stdout)) * 1000


def import_table() -> Table:
    """What `import adapters.x` costs, and what its library costs once the provider is built."""
    contract = spread([import_milliseconds("import knowledge_provider") for _ in range(IMPORTS)])
    modules = sorted(path.stem for path in (ROOT / "adapters").glob("[!_]*.py"))
    vendors = ["httpx2", "langchain_core.vectorstores", "llama_index.core", "haystack", "openai", "mcp"]
    rows = [
        Row(f"import {name}", spread([import_milliseconds(f"import {name}") for _ in range(IMPORTS)]), contract)
        for name in [*(f"adapters.{module}" for module in modules), *vendors]
    ]
    return Table("Imports, beside the contract alone", tuple(rows))


def main() -> list[Table]:
    """Run the benchmark, print its tables and return them."""
    started = time.perf_counter()
    tables = [*asyncio.run(call_tables()), import_table()]
    print("\n\n".join(map(str, tables)))
    print(f"\n{time.perf_counter() - started:.0f} s", file=sys.stderr)
    return tables


if __name__ == "__main__":
    main()
