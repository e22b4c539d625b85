"""`HaystackProvider` with real Haystack components, super components and pipelines."""

import threading
from typing import Any

import haystack.document_stores.errors  # noqa: F401 - defines some of its exceptions
import pytest
from haystack import Document, Pipeline, SuperComponent, component
from haystack.components.joiners import DocumentJoiner
from haystack.components.retrievers import TextEmbeddingRetriever
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
from haystack.document_stores.types import FilterPolicy

from knowledge_provider import RetrievalError, UnsupportedFilters
from tests.adapters.asking import context_for, everything_about, request_for
from tests.adapters.haystack_targets import (
    Answers,
    WordEmbedder,
    bm25,
    hybrid,
    in_memory_store,
    owned_by,
    provider,
    store,
)


async def test_a_document_becomes_a_result() -> None:
    """Content, score and flat metadata pass; embeddings, sets and private paths as links do not."""
    found = await provider(bm25()).retrieve(request_for("releases reviewers travel"), context_for())
    by_text = {result.content: result for result in found}
    release, travel = by_text["Releases require two reviewers."], by_text["Travel is booked by the office."]
    assert (release.source.title, release.source.uri) == ("Releases", "https://docs.example.com/r")
    assert (travel.source.uri, travel.source.locator) == (None, "/srv/travel.md")
    assert travel.metadata == {"file_path": "/srv/travel.md", "owner": "bob"}
    assert all(result.score is not None and result.score > 0 for result in found)


async def test_components_pipelines_and_super_components_are_all_asked() -> None:
    """The place of the question is found by the sockets, in whatever the host built."""
    vectors = TextEmbeddingRetriever(retriever=InMemoryEmbeddingRetriever(store()), text_embedder=WordEmbedder())
    both = SuperComponent(
        pipeline=hybrid(store()),
        input_mapping={"query": ["words.query", "vectors.query"], "top_k": ["joiner.top_k"]},
        output_mapping={"joiner.documents": "documents"},
    )
    for target in (bm25(), vectors, hybrid(store()), both):
        asked = provider(target)
        found = await asked.retrieve(request_for("releases", top_k=2), context_for())
        assert len(found) == 2, target
        assert all("Releases" in result.content for result in found)
        await asked.close()


async def test_min_score_keeps_out_what_only_fills_up() -> None:
    """BM25Okapi returns documents of score 0; the host says from which score on they may be spoken."""
    okapi = in_memory_store(bm25_algorithm="BM25Okapi")
    okapi.write_documents(store().filter_documents())
    retriever = InMemoryBM25Retriever(okapi)
    assert len(await provider(retriever).retrieve(request_for("reviewers"), context_for())) == 3
    strict = await provider(retriever, min_score=0.01).retrieve(request_for("reviewers"), context_for())
    assert [result.content for result in strict] == ["Releases require two reviewers."]
    (first, *_) = await provider(retriever, score_kind="distance").retrieve(request_for("reviewers"), context_for())
    assert first.score is None


@pytest.mark.parametrize("policy", [FilterPolicy.REPLACE, FilterPolicy.MERGE, "merge"])
@pytest.mark.parametrize("fixed", [owned_by("ann"), {"operator": "OR", "conditions": [owned_by("ann")]}])
async def test_a_later_filter_never_replaces_a_fixed_one(policy: Any, fixed: dict[str, Any]) -> None:
    """By default Haystack drops the fixed filter, and on the same field it does so when it merges as well."""
    retriever = bm25(filters=fixed, filter_policy=policy)
    widened = retriever.run(query="releases office", filters=owned_by("bob"))["documents"]
    assert widened or policy is FilterPolicy.MERGE  # Haystack's own behaviour, for comparison
    ask = provider(retriever, filters=True).retrieve
    assert await ask(request_for("releases office", filters=owned_by("bob")), context_for()) == []
    (only,) = await ask(request_for("releases office", filters=owned_by("ann")), context_for())
    assert only.metadata["owner"] == "ann"


async def test_filters_are_refused_where_they_would_be_lost() -> None:
    """Off unless the host says so; a branch that no filter reaches is refused; a filter not understood is typed."""
    with pytest.raises(UnsupportedFilters):
        await provider(bm25()).retrieve(request_for(filters=owned_by("ann")), context_for())
    with pytest.raises(UnsupportedFilters):
        await provider(bm25(), filters=True).retrieve(request_for(filters={"owner": "ann"}), context_for())
    closed = SuperComponent(
        pipeline=hybrid(store()),
        input_mapping={"query": ["words.query", "vectors.query"]},
        output_mapping={"joiner.documents": "documents"},
    )
    pipeline = Pipeline()
    pipeline.add_component("closed", closed)
    pipeline.add_component("open", bm25())
    for target in (closed, pipeline):
        with pytest.raises(ValueError, match="would not reach"):
            provider(target, filters=True, output="open.documents" if target is pipeline else "")


async def test_warming_up_happens_in_a_thread() -> None:
    """Models are loaded there; Haystack's own coroutine for it would load them on the event loop."""

    @component
    class Heavy:
        def warm_up(self) -> None:
            self.warmed_in = threading.current_thread().name

        @component.output_types(documents=list[Document])
        def run(self, query: str) -> dict[str, Any]:
            return {"documents": [Document(content=self.warmed_in)]}

        @component.output_types(documents=list[Document])
        async def run_async(self, query: str) -> dict[str, Any]:
            return {"documents": [Document(content=self.warmed_in)]}

    asked = provider(Heavy())
    assert asked._uses_coroutine
    (result,) = await asked.retrieve(request_for(), context_for())
    assert result.content == "earpiece-haystack"


async def test_odd_answers_are_typed_errors_or_cost_only_themselves() -> None:
    """Scores and contents are not checked by Haystack."""
    for odd in ({"documents": None}, {}, {"documents": "text"}):
        with pytest.raises(RetrievalError) as caught:
            await provider(Answers(odd)).retrieve(request_for(), context_for())
        assert caught.value.code == "knowledge_bad_response"
    blob, loud = Document(content=None), Document(content="a", score="high", meta={"n": float("inf")})  # type: ignore[arg-type]
    (result,) = await provider(Answers({"documents": [blob, loud]})).retrieve(request_for(), context_for())
    assert (result.content, result.score, result.metadata) == ("a", None, {})


async def test_what_a_component_raised_inside_a_pipeline_decides() -> None:
    """Haystack wraps it into an error that quotes its text, keys and all."""
    pipeline = Pipeline()
    pipeline.add_component("store", Answers(ConnectionError("password=hunter2")))
    with pytest.raises(RetrievalError) as caught:
        await provider(pipeline).retrieve(request_for(), context_for())
    assert caught.value.code == "knowledge_unavailable"
    assert "hunter2" in str(caught.value.__cause__)
    assert "hunter2" not in everything_about(caught.value)


def test_wrong_objects_and_options_fail_at_composition() -> None:
    """What cannot take a question, or has two answers, is refused while the gateway is composed."""
    with pytest.raises(TypeError, match="not list"):
        provider([])
    with pytest.raises(ValueError, match="TextEmbeddingRetriever"):
        provider(InMemoryEmbeddingRetriever(store()))
    two = Pipeline()
    two.add_component("a", bm25())
    two.add_component("b", bm25())
    with pytest.raises(ValueError, match=r"a\.documents, b\.documents"):
        provider(two)
    with pytest.raises(ValueError, match=r"no input c\.query"):
        provider(two, output="a.documents", query_inputs=["c.query"])
    with pytest.raises(ValueError, match="query_inputs"):
        provider(DocumentJoiner())


async def test_a_target_is_closed_only_by_its_owner() -> None:
    """A pipeline that the host shares stays open."""
    closed: list[str] = []

    @component
    class Closing:
        @component.output_types(documents=list[Document])
        def run(self, query: str) -> dict[str, Any]:
            return {"documents": []}

        def close(self) -> None:
            closed.append("closed")

    for owns in (False, True):
        pipeline = Pipeline()
        pipeline.add_component("store", Closing())
        await provider(pipeline, owns_target=owns).close()
        assert closed == (["closed"] if owns else [])
