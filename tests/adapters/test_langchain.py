"""`LangChainProvider` with real LangChain retrievers, runnables and stores."""

import asyncio
import hashlib
import threading
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any

import langchain_core.exceptions
import pytest
from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore

from adapters.langchain import ERRORS, LangChainProvider
from knowledge_provider import ProviderUnavailable, RetrievalError, RetrievalTimedOut, UnsupportedFilters

if TYPE_CHECKING:
    from tests.adapters.conftest import Loopback

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # the package announces its end at every import
    from langchain_community.retrievers import BM25Retriever

Make = Callable[..., Any]


class WordEmbeddings(Embeddings):
    """Hashes words into 64 places: texts with common words are near, without any model."""

    def embed_query(self, text: str) -> list[float]:
        places = [0.001] * 64
        for word in text.lower().split():
            places[hashlib.sha256(word.encode()).digest()[0] % 64] += 1.0
        return places

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

    gone: list[str]

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        raise AssertionError("the blocking side was asked")

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        if query == "wait":
            self.gone.append("asked")
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.gone.append("cancelled")
                raise
        return [Document(page_content="native")]


async def test_a_document_becomes_a_result(request_for: Make, context_for: Make) -> None:
    """Ids, titles and pages are found in metadata; a private path becomes a locator, never a link."""
    found = await provider(store()).retrieve(request_for("releases reviewers travel office"), context_for())
    by_id = {result.id: result for result in found}
    assert by_id["release-1"].source.uri == "https://docs.example.com/releases"
    assert by_id["release-1"].source.title == "Releases"
    assert by_id["release-1"].source.locator == "page=3"
    travel = next(result for result in found if result.content.startswith("Travel"))
    assert travel.source.uri is None
    assert travel.source.locator == "/srv/private/travel.md"
    assert "nested" not in travel.metadata
    assert travel.score is None


async def test_the_number_of_results_reaches_whatever_can_take_it(request_for: Make, context_for: Make) -> None:
    """By argument, by field, or by cutting the answer of a retriever that knows no number."""
    many = InMemoryVectorStore.from_texts([f"rule {n}" for n in range(12)], WordEmbeddings())
    bm25 = BM25Retriever.from_texts([f"rule {n}" for n in range(12)], k=1)
    for target in (many, many.as_retriever(search_kwargs={"k": 1}), bm25, Blocking()):
        assert len(await provider(target).retrieve(request_for("rule", top_k=7), context_for())) == 7
    assert bm25.k == 1


async def test_scores_come_from_the_store_raw_or_not_at_all(request_for: Make, context_for: Make) -> None:
    """A retriever has none; the store's pass unchanged; distances are not passed."""
    query = request_for("releases require two reviewers.", top_k=1)
    (silent,) = await provider(store().as_retriever()).retrieve(query, context_for())
    (raw,) = await provider(store().as_retriever(), scores=True).retrieve(query, context_for())
    (distance,) = await provider(store(), scores=True, score_kind="distance").retrieve(query, context_for())
    assert silent.score is None
    assert raw.score == pytest.approx(1.0)
    assert distance.score is None


async def test_bm25_documents_without_a_match_do_not_reach_a_caller_that_set_min_score(
    request_for: Make, context_for: Make
) -> None:
    """LangChain's BM25 returns k documents whatever was asked; a voice agent would read them aloud."""
    texts = ["releases require two reviewers", "travel is booked by the office", "the office opens at nine"]
    retriever = BM25Retriever.from_texts(texts)
    assert len(await provider(retriever).retrieve(request_for("releases"), context_for())) == 3
    strict = provider(retriever, scores=True, min_score=0.01)
    assert [r.content for r in await strict.retrieve(request_for("releases"), context_for())] == [texts[0]]
    assert await strict.retrieve(request_for("unheard"), context_for()) == []


async def test_a_score_in_metadata_is_used(request_for: Make, context_for: Make) -> None:
    """Rerankers leave their score there."""
    ranked: Any = RunnableLambda(lambda _: [Document(page_content="a", metadata={"relevance_score": 0.7})])
    (result,) = await provider(ranked).retrieve(request_for(), context_for())
    assert result.score == 0.7


async def test_two_owners_asking_at_once_never_see_each_other(request_for: Make, context_for: Make) -> None:
    """The host maps the trusted context to a filter, and a hundred calls in flight keep to it."""
    scoped = provider(store(), filter_builder=equal, owner_filters=lambda context: {"owner": context.owner_id})
    owners = ["ann", "bob"] * 50
    answers = await asyncio.gather(*(scoped.retrieve(request_for(), context_for(owner)) for owner in owners))
    assert [{result.metadata["owner"] for result in results} for results in answers] == [{owner} for owner in owners]


async def test_a_request_cannot_widen_or_replace_the_hosts_filter(request_for: Make, context_for: Make) -> None:
    """Both must hold; a contradiction is refused; an owner without a rule sees nothing, not everything."""
    rules = {"ann": {"owner": "ann"}}
    scoped = provider(store(), filter_builder=equal, owner_filters=lambda context: rules.get(context.owner_id, {}))
    ask = scoped.retrieve
    assert len(await ask(request_for(filters={"title": "Releases"}), context_for())) == 1
    assert await ask(request_for(filters={"title": "Other"}), context_for()) == []
    with pytest.raises(UnsupportedFilters):
        await ask(request_for(filters={"owner": "bob"}), context_for())
    with pytest.raises(UnsupportedFilters):
        await ask(request_for(), context_for("carol"))
    with pytest.raises(UnsupportedFilters):
        await provider(store()).retrieve(request_for(filters={"owner": "ann"}), context_for())


def test_filters_that_would_be_lost_are_refused_at_composition() -> None:
    """LangChain drops unknown arguments silently and lets a run-time filter replace a fixed one."""
    fixed = store().as_retriever(search_kwargs={"filter": lambda document: document.metadata["owner"] == "ann"})
    unfiltered: list[Any] = [fixed, BM25Retriever.from_texts(["a"]), RunnableLambda(lambda query: [])]
    for target in unfiltered:
        with pytest.raises(ValueError, match="filter"):
            provider(target, filter_builder=equal)
    with pytest.raises(ValueError, match="filter"):
        provider(fixed, filter_builder=equal, scores=True)
    with pytest.raises(ValueError, match="filter_builder"):
        provider(store(), owner_filters=lambda context: {"owner": "ann"})


@pytest.mark.parametrize(
    "target", [Blocking(), NoRunManager(), store(BlockingEmbeddings()).as_retriever(), RunnableLambda(lambda q: ["x"])]
)
def test_what_only_blocks_runs_in_threads_of_the_adapter(target: Any) -> None:
    """The loop's default executor is shared by the whole process, name resolution included."""
    assert not provider(target)._uses_coroutine


@pytest.mark.parametrize("target", [Native(gone=[]), store(), store().as_retriever()])
def test_what_brings_a_coroutine_is_awaited(target: Any) -> None:
    """A real async implementation needs no thread and is cancelled at once."""
    assert provider(target)._uses_coroutine


async def test_the_loop_is_not_blocked_and_the_default_executor_not_used(
    request_for: Make, context_for: Make, watched_loop: Make, until: Make
) -> None:
    """A retriever that blocks delays nobody else: neither the loop nor whoever needs a thread of it."""
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    slow = Blocking(release=threading.Event(), started=threading.Event())
    async with asyncio.timeout(20), watched_loop() as loop:
        call = asyncio.create_task(provider(slow).retrieve(request_for(), context_for()))
        await until(slow.started.is_set)
        assert await asyncio.to_thread(lambda: "free") == "free"
        await asyncio.sleep(0.6)
        slow.release.set()
        (first, *_) = await call
    assert first.content == "earpiece-langchain"
    assert loop.longest < 0.5


async def test_a_barge_in_frees_the_caller_and_ends_what_can_be_ended(
    request_for: Make, context_for: Make, until: Make
) -> None:
    """Coroutines see the cancellation; threads run out by themselves and are refused new work meanwhile."""
    target = Native(gone=[])
    native = provider(target)
    async with asyncio.timeout(30):
        for count in range(1, 101):
            call = asyncio.create_task(native.retrieve(request_for("wait"), context_for()))
            await until(lambda count=count: target.gone.count("asked") == count)
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
        assert call.cancelled()
        slow = Blocking(release=threading.Event(), started=threading.Event())
        blocking = provider(slow, workers=1)
        call = asyncio.create_task(blocking.retrieve(request_for(), context_for()))
        await until(slow.started.is_set)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        with pytest.raises(ProviderUnavailable):
            await blocking.retrieve(request_for(), context_for())
        slow.release.set()
        await until(lambda: blocking._threads.busy == 0)
        assert await blocking.retrieve(request_for(), context_for())
    assert target.gone == ["asked", "cancelled"] * 100
    assert len(asyncio.all_tasks()) == 1


async def test_the_deadline_holds_while_langchain_blocks(request_for: Make, context_for: Make) -> None:
    """A thread that does not come back costs its caller no more than the deadline."""
    slow = Blocking(release=threading.Event(), started=threading.Event())
    async with asyncio.timeout(20):
        with pytest.raises(RetrievalTimedOut):
            await provider(slow, timeout_seconds=0.05).retrieve(request_for(), context_for())
    slow.release.set()


def always(answer: Any, query: str) -> Any:
    return answer


async def test_runnables_answer_in_many_shapes(request_for: Make, context_for: Make) -> None:
    """Strings and a mapping with documents are read; nothing that is not a list passes as empty."""
    read = provider(RunnableLambda(lambda _: {"documents": ["one", Document(page_content="  "), None, "two"]}))
    assert [result.content for result in await read.retrieve(request_for(), context_for())] == ["one", "two"]
    odd_answers: list[Any] = [None, "text", 5, {"answer": []}]
    for odd in odd_answers:
        answer: Any = RunnableLambda(partial(always, odd))
        with pytest.raises(RetrievalError) as caught:
            await provider(answer).retrieve(request_for(), context_for())
        assert caught.value.code == "knowledge_bad_response"
    retried = provider(store().as_retriever().with_retry(), mode="async")
    assert await retried.retrieve(request_for(), context_for())


async def test_a_document_that_skipped_validation_costs_only_itself(request_for: Make, context_for: Make) -> None:
    """LangChain's own checks can be passed by; what has no text is left out."""
    nothing: Any = None
    odd = Document.model_construct(page_content=nothing, metadata=nothing)
    lone = Document(page_content="a \ud800 b", metadata={"when": float("nan")})
    (result,) = await provider(RunnableLambda(lambda _: [odd, lone])).retrieve(request_for(), context_for())
    assert result.content == "a ? b"
    assert result.metadata == {}


def vendor_exceptions() -> list[type[Exception]]:
    everything = vars(langchain_core.exceptions).values()
    return [kind for kind in everything if isinstance(kind, type) and issubclass(kind, Exception)]


@pytest.mark.parametrize("kind", vendor_exceptions(), ids=lambda kind: kind.__name__)
async def test_every_exception_of_langchain_is_in_the_table(
    kind: type[Exception], request_for: Make, context_for: Make, everything_about: Make
) -> None:
    """A new release that adds an exception fails here first; its text reaches nothing of ours."""
    assert kind.__name__ in ERRORS

    def fail(_: str) -> list[Document]:
        raise kind("api_key=sk-s3cret")

    with pytest.raises(RetrievalError) as caught:
        await provider(RunnableLambda(fail)).retrieve(request_for(), context_for())
    assert type(caught.value) is type(ERRORS[kind.__name__]("langchain"))
    assert "s3cret" not in everything_about(caught.value)
    assert caught.value.__cause__ is not None


async def test_langsmith_hears_nothing_unless_the_host_asks(
    service: "Loopback", request_for: Make, context_for: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With tracing set in the environment, LangChain would upload every query and document."""
    import langsmith.utils
    from langsmith.run_helpers import tracing_context

    monkeypatch.setenv("LANGSMITH_TRACING", "true")
    monkeypatch.setenv("LANGSMITH_API_KEY", "none")
    monkeypatch.setenv("LANGSMITH_ENDPOINT", service.url)
    read_environment: Any = langsmith.utils.get_env_var
    read_environment.cache_clear()
    probe: Any = RunnableLambda(lambda _: [str(langsmith.utils.tracing_is_enabled())])
    service.replies({})
    try:
        (off,) = await provider(probe).retrieve(request_for(), context_for())
        with tracing_context(enabled=None):
            assert langsmith.utils.tracing_is_enabled()
    finally:
        read_environment.cache_clear()
    assert off.content == "False"
    assert service.requests == []


def test_wrong_objects_and_options_fail_at_composition() -> None:
    """What cannot answer is refused while the gateway is composed."""
    with pytest.raises(TypeError, match="not list"):
        provider([])
    with pytest.raises(ValueError, match="search_type"):
        provider(store().as_retriever(search_type="mmr"), scores=True)
    with pytest.raises(ValueError, match="no scores"):
        provider(Blocking(), scores=True)
    with pytest.raises(ValueError, match="distance"):
        provider(store(), scores=True, score_kind="distance", min_score=1)
