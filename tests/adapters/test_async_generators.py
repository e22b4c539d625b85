"""Async generators: those of vendors and HTTP clients end with the call; one in place of an answer is an error."""

import asyncio
import gc
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from aiohttp import web
from haystack import Document as HaystackDocument
from haystack import component
from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever as LangChainRetriever
from llama_index.core.base.base_retriever import BaseRetriever as LlamaIndexRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle

from adapters.composite import CompositeProvider
from adapters.function import FunctionProvider
from adapters.haystack import HaystackProvider
from adapters.http_service import HttpProvider
from adapters.langchain import LangChainProvider
from adapters.llama_index import LlamaIndexProvider
from gateway import FrontendKnowledgeRuntime
from knowledge_provider import RetrievalError
from tests.adapters.asking import context_for, request_for
from tests.adapters.loopback import Loopback


class Stream:
    """A search that yields what it finds one by one, and after the first waits for more."""

    def __init__(self) -> None:
        self.waiting = asyncio.Event()
        self.ended = 0

    async def found(self) -> AsyncIterator[Any]:
        try:
            yield "Releases require two reviewers."
            self.waiting.set()
            await asyncio.Event().wait()
        finally:
            self.ended += 1

    async def all(self) -> list[Any]:
        return [row async for row in self.found()]


class LangChainStream(LangChainRetriever):
    searched: Any
    whole: bool = False

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        raise AssertionError("the coroutine is used")

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        return self.searched.found() if self.whole else await self.searched.all()  # type: ignore[no-any-return]


class LlamaIndexStream(LlamaIndexRetriever):
    def __init__(self, stream: Stream, whole: bool = False) -> None:
        super().__init__()
        self.stream, self.whole = stream, whole

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        raise AssertionError("the coroutine is used")

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self.stream.found() if self.whole else await self.stream.all()  # type: ignore[return-value]


@component
class HaystackStream:
    def __init__(self, stream: Stream, whole: bool = False) -> None:
        self.stream, self.whole = stream, whole

    @component.output_types(documents=list[HaystackDocument])
    def run(self, query: str) -> dict[str, Any]:
        raise AssertionError("the coroutine is used")

    @component.output_types(documents=list[HaystackDocument])
    async def run_async(self, query: str) -> dict[str, Any]:
        return {"documents": self.stream.found() if self.whole else await self.stream.all()}


def function(stream: Stream, whole: bool = False) -> FunctionProvider:
    async def search(*_: Any) -> Any:
        return stream.found() if whole else await stream.all()

    return FunctionProvider(search, key="a", label="A")


KINDS: dict[str, Callable[..., Any]] = {
    "function": function,
    "composite": lambda *given: CompositeProvider({"part": function(*given)}, key="a", label="A"),
    "langchain": lambda stream, whole=False: LangChainProvider(
        LangChainStream(searched=stream, whole=whole), key="a", label="A"
    ),
    "llama_index": lambda *given: LlamaIndexProvider(LlamaIndexStream(*given), mode="async", key="a", label="A"),
    "haystack": lambda *given: HaystackProvider(HaystackStream(*given), key="a", label="A"),
}


@contextmanager
def collected() -> Iterator[list[str]]:
    """Names of async generators that nobody ended, so that the garbage collector had to; only inside a running loop."""
    names: list[str] = []
    before = sys.get_asyncgen_hooks()

    def finalizer(generator: Any) -> None:
        names.append(generator.__qualname__)
        if before.finalizer is not None:
            before.finalizer(generator)

    sys.set_asyncgen_hooks(finalizer=finalizer)
    try:
        yield names
        gc.collect()
    finally:
        sys.set_asyncgen_hooks(*before)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_hundred_barge_ins_end_a_hundred_generators(kind: str) -> None:
    """A vendor that streams inside is ended where it waits, before the caller hears that it was cancelled."""
    stream = Stream()
    asked = KINDS[kind](stream)
    async with asyncio.timeout(30):
        for count in range(1, 101):
            stream.waiting.clear()
            call = asyncio.create_task(asked.retrieve(request_for(), context_for()))
            await stream.waiting.wait()
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
            assert call.cancelled()
            while stream.ended < count:  # noqa: ASYNC110 - a few turns of the loop
                await asyncio.sleep(0)
    assert stream.ended == 100
    await asked.close()


@pytest.mark.parametrize("kind", KINDS)
async def test_a_generator_in_place_of_an_answer_is_a_typed_error(kind: str) -> None:
    """Nothing is read from it: when it would end, nobody knows. LlamaIndex itself stumbles over it first."""
    stream = Stream()
    async with FrontendKnowledgeRuntime(KINDS[kind](stream, True)) as runtime:
        with pytest.raises(RetrievalError) as caught:
            await runtime.search("release policy", owner_id="ann")
    assert caught.value.code == ("knowledge_internal" if kind == "llama_index" else "knowledge_bad_response")
    assert not stream.waiting.is_set()


@pytest.mark.parametrize("how", ["async", "plain"])
def test_a_function_that_yields_is_refused_at_composition(how: str) -> None:
    """It would be seen in the first voice turn otherwise."""

    async def asynchronous(*_: Any) -> AsyncIterator[Any]:
        yield "Releases require two reviewers."

    def plain(*_: Any) -> Iterator[Any]:
        yield "Releases require two reviewers."

    yields: Any = asynchronous if how == "async" else plain
    with pytest.raises(TypeError, match="yields"):
        FunctionProvider(yields, key="a", label="A")


async def test_a_body_that_is_not_read_to_its_end_is_ended_by_the_adapter(service: Loopback) -> None:
    """Too long, or the user spoke: the reading ends with the call and not when memory is cleaned up."""
    begun = asyncio.Event()

    async def endless(request: web.Request, _: Any) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b" " * 5_000)
            begun.set()
            await asyncio.sleep(0)

    service.answer = endless
    short, long = (HttpProvider(service.url, key="a", label="A", max_bytes=size) for size in (20_000, 2_000_000_000))
    async with asyncio.timeout(30):
        with collected() as left_over:
            for _ in range(20):
                with pytest.raises(RetrievalError, match="more than 20000 bytes"):
                    await short.retrieve(request_for(), context_for())
                begun.clear()
                call = asyncio.create_task(long.retrieve(request_for(), context_for()))
                await begun.wait()
                call.cancel()
                await asyncio.gather(call, return_exceptions=True)
            del call
    assert "Response.aiter_raw" not in left_over
    await short.close()
    await long.close()
