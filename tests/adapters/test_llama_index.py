"""`LlamaIndexProvider` with real LlamaIndex retrievers and indices."""

from typing import Any

import pytest
from llama_index.core import SummaryIndex
from llama_index.core.schema import ImageNode, NodeWithScore, TextNode
from llama_index.core.vector_stores import MetadataFilter, MetadataFilters
from llama_index.retrievers.bm25 import BM25Retriever

from adapters.llama_index import equal_filters, is_async
from knowledge_provider import RetrievalError, UnsupportedFilters
from tests.adapters.asking import context_for, request_for
from tests.adapters.llama_index_targets import (
    Answers,
    AsyncStore,
    Blocking,
    HashEmbedding,
    Native,
    NativeEmbedding,
    index,
    nodes,
    provider,
)


async def test_a_node_becomes_a_result() -> None:
    """Text without the metadata mixed into it, the document's id, and a place to find it again."""
    found = await provider(index()).retrieve(request_for("releases travel"), context_for())
    by_id = {result.id: result for result in found}
    release, travel = by_id["release-1"], by_id["travel-1"]
    assert release.content == "Releases require two reviewers."
    assert (release.source.id, release.source.title) == ("handbook", "Releases")
    assert (release.source.uri, release.source.locator) == ("https://docs.example.com/r", "page=3")
    assert travel.source.locator == "chars=10-41"
    assert all(isinstance(result.score, float) for result in found)


async def test_the_number_of_results_is_set_on_a_copy() -> None:
    """Sessions share the host's retriever; one must not change it under another."""
    retriever: Any = index().as_retriever(similarity_top_k=1)
    ask = provider(retriever).retrieve
    assert [len(await ask(request_for(top_k=k), context_for())) for k in (2, 1)] == [2, 1]
    assert retriever.similarity_top_k == 1
    summary = SummaryIndex(nodes=[TextNode(text=f"rule {n}") for n in range(9)])
    assert len(await provider(summary).retrieve(request_for(top_k=4), context_for())) == 4


async def test_an_absent_score_stays_absent() -> None:
    """LlamaIndex itself would turn it into 0.0."""
    (result, _) = await provider(SummaryIndex(nodes=nodes())).retrieve(request_for(), context_for())
    assert result.score is None
    (distance, _) = await provider(index(), score_kind="distance").retrieve(request_for(), context_for())
    assert distance.score is None


async def test_bm25_nodes_without_a_match_do_not_reach_a_caller_that_set_min_score() -> None:
    """BM25 fills up with nodes of score 0; asking for more than there are would fail in the library."""
    retriever = BM25Retriever.from_defaults(nodes=nodes(), similarity_top_k=2)
    assert len(await provider(retriever).retrieve(request_for("reviewers", top_k=8), context_for())) == 2
    strict = provider(retriever, min_score=0.01)
    assert [result.id for result in await strict.retrieve(request_for("reviewers"), context_for())] == ["release-1"]


async def test_all_filters_hold_together() -> None:
    """The retriever's own, the owner's and the request's are joined by AND and none is replaced."""
    fixed: Any = index().as_retriever(filters=MetadataFilters(filters=[MetadataFilter(key="owner", value="ann")]))
    ask = provider(fixed, filter_builder=equal_filters).retrieve
    assert [r.id for r in await ask(request_for(filters={"title": "Releases"}), context_for())] == ["release-1"]
    assert await ask(request_for(filters={"owner": "bob"}), context_for()) == []
    scoped = provider(index(), filter_builder=equal_filters, owner_filters=lambda context: {"owner": context.owner_id})
    assert await scoped.retrieve(request_for(filters={"owner": "bob"}), context_for("ann")) == []
    assert fixed._filters.filters[0].value == "ann"
    with pytest.raises(UnsupportedFilters):
        await provider(index()).retrieve(request_for(filters={"owner": "ann"}), context_for())


def test_an_or_filter_is_nested_and_not_flattened() -> None:
    """Flattening `a or b` into an AND would narrow it, into an OR would widen the rest."""
    from adapters.llama_index import all_of

    either: Any = MetadataFilters(
        filters=[MetadataFilter(key="a", value=1), MetadataFilter(key="b", value=2)], condition="or"
    )
    both = all_of([either, equal_filters({"owner": "ann"})])
    assert both.condition.value == "and"
    assert both.filters[0] is either
    assert both.filters[1].key == "owner"


def test_a_coroutine_is_used_only_where_it_is_one() -> None:
    """Overriding the method is no proof: the store and the embedding behind it may block inside."""
    assert is_async(Native())
    assert not is_async(Blocking())
    assert not is_async(index().as_retriever())
    assert not is_async(BM25Retriever.from_defaults(nodes=nodes(), similarity_top_k=1))
    for embedding, expected in ((HashEmbedding(), False), (NativeEmbedding(), True)):
        retriever = index(embedding).as_retriever()
        retriever._vector_store = AsyncStore()  # type: ignore[attr-defined]
        assert is_async(retriever) is expected


async def test_odd_answers_are_typed_errors_or_cost_only_themselves() -> None:
    """None breaks inside the library, an image has no text, a NaN is no score."""
    for odd in (None, [TextNode(text="bare")]):
        with pytest.raises(RetrievalError) as caught:
            await provider(Answers(odd)).retrieve(request_for(), context_for())
        assert caught.value.code == "knowledge_internal"
    mixed = [
        NodeWithScore(node=ImageNode(image="x"), score=1.0),
        NodeWithScore(node=TextNode(text="a", metadata={"owner": "ann", "deep": {"x": 1}}), score=float("nan")),
    ]
    (result,) = await provider(Answers(mixed)).retrieve(request_for(), context_for())
    assert (result.score, result.metadata) == (None, {"owner": "ann"})


def test_wrong_objects_and_options_fail_at_composition() -> None:
    """What cannot answer, or would lose a filter, is refused while the gateway is composed."""
    with pytest.raises(TypeError, match="not list"):
        provider([])
    with pytest.raises(ValueError, match="no filters"):
        provider(BM25Retriever.from_defaults(nodes=nodes(), similarity_top_k=1), filter_builder=equal_filters)
    with pytest.raises(ValueError, match="filter_builder"):
        provider(index(), owner_filters=lambda context: {"owner": "ann"})
