"""`LangChainProvider` with real LangChain retrievers, runnables and stores."""

import warnings
from functools import partial
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore

from knowledge_provider import RetrievalError, UnsupportedFilters
from tests.adapters.asking import context_for, request_for
from tests.adapters.langchain_targets import (
    Blocking,
    BlockingEmbeddings,
    Native,
    NoRunManager,
    WordEmbeddings,
    equal,
    provider,
    store,
)
from tests.adapters.loopback import Loopback

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # the package announces its end at every import
    from langchain_community.retrievers import BM25Retriever


async def test_a_document_becomes_a_result() -> None:
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


async def test_the_number_of_results_reaches_whatever_can_take_it() -> None:
    """By argument, by field, or by cutting the answer of a retriever that knows no number."""
    many = InMemoryVectorStore.from_texts([f"rule {n}" for n in range(12)], WordEmbeddings())
    bm25 = BM25Retriever.from_texts([f"rule {n}" for n in range(12)], k=1)
    for target in (many, many.as_retriever(search_kwargs={"k": 1}), bm25, Blocking()):
        assert len(await provider(target).retrieve(request_for("rule", top_k=7), context_for())) == 7
    assert bm25.k == 1


async def test_scores_come_from_the_store_raw_or_not_at_all() -> None:
    """A retriever has none; the store's pass unchanged; distances are not passed."""
    query = request_for("releases require two reviewers.", top_k=1)
    (silent,) = await provider(store().as_retriever()).retrieve(query, context_for())
    (raw,) = await provider(store().as_retriever(), scores=True).retrieve(query, context_for())
    (distance,) = await provider(store(), scores=True, score_kind="distance").retrieve(query, context_for())
    assert silent.score is None
    assert raw.score == pytest.approx(1.0)
    assert distance.score is None


async def test_bm25_documents_without_a_match_do_not_reach_a_caller_that_set_min_score() -> None:
    """LangChain's BM25 returns k documents whatever was asked; a voice agent would read them aloud."""
    texts = ["releases require two reviewers", "travel is booked by the office", "the office opens at nine"]
    retriever = BM25Retriever.from_texts(texts)
    assert len(await provider(retriever).retrieve(request_for("releases"), context_for())) == 3
    strict = provider(retriever, scores=True, min_score=0.01)
    assert [r.content for r in await strict.retrieve(request_for("releases"), context_for())] == [texts[0]]
    assert await strict.retrieve(request_for("unheard"), context_for()) == []


async def test_a_score_in_metadata_is_used() -> None:
    """Rerankers leave their score there."""
    ranked: Any = RunnableLambda(lambda _: [Document(page_content="a", metadata={"relevance_score": 0.7})])
    (result,) = await provider(ranked).retrieve(request_for(), context_for())
    assert result.score == 0.7


async def test_a_request_cannot_widen_or_replace_the_hosts_filter() -> None:
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


@pytest.mark.parametrize("target", [Native(), store(), store().as_retriever()])
def test_what_brings_a_coroutine_is_awaited(target: Any) -> None:
    """A real async implementation needs no thread and is cancelled at once."""
    assert provider(target)._uses_coroutine


def always(answer: Any, query: str) -> Any:
    return answer


async def test_runnables_answer_in_many_shapes() -> None:
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


async def test_a_document_that_skipped_validation_costs_only_itself() -> None:
    """LangChain's own checks can be passed by; what has no text is left out."""
    nothing: Any = None
    odd = Document.model_construct(page_content=nothing, metadata=nothing)
    lone = Document(page_content="a \ud800 b", metadata={"when": float("nan")})
    (result,) = await provider(RunnableLambda(lambda _: [odd, lone])).retrieve(request_for(), context_for())
    assert result.content == "a ? b"
    assert result.metadata == {}


async def test_langsmith_hears_nothing_unless_the_host_asks(service: Loopback, monkeypatch: pytest.MonkeyPatch) -> None:
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
