"""`LlamaIndexProvider` with real LlamaIndex retrievers and indices."""

import asyncio
import hashlib
import threading
from collections.abc import Callable
from typing import Any

import pytest
from llama_index.core import StorageContext, SummaryIndex, VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.schema import ImageNode, NodeRelationship, NodeWithScore, QueryBundle, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores import MetadataFilter, MetadataFilters, SimpleVectorStore
from llama_index.retrievers.bm25 import BM25Retriever

from adapters.llama_index import ERRORS, LlamaIndexProvider, equal_filters, is_async
from knowledge_provider import ProviderUnavailable, RetrievalError, UnsupportedFilters

Make = Callable[..., Any]


class HashEmbedding(BaseEmbedding):
    """Hashes words into 64 places: a ranking without any model (MockEmbedding gives all texts one vector)."""

    def _get_text_embedding(self, text: str) -> list[float]:
        places = [0.001] * 64
        for word in text.lower().split():
            places[hashlib.sha256(word.encode()).digest()[0] % 64] += 1.0
        return places

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


async def test_a_node_becomes_a_result(request_for: Make, context_for: Make) -> None:
    """Text without the metadata mixed into it, the document's id, and a place to find it again."""
    found = await provider(index()).retrieve(request_for("releases travel"), context_for())
    by_id = {result.id: result for result in found}
    release, travel = by_id["release-1"], by_id["travel-1"]
    assert release.content == "Releases require two reviewers."
    assert (release.source.id, release.source.title) == ("handbook", "Releases")
    assert (release.source.uri, release.source.locator) == ("https://docs.example.com/r", "page=3")
    assert travel.source.locator == "chars=10-41"
    assert all(isinstance(result.score, float) for result in found)


async def test_the_number_of_results_is_set_on_a_copy(request_for: Make, context_for: Make) -> None:
    """Sessions share the host's retriever; one must not change it under another."""
    retriever: Any = index().as_retriever(similarity_top_k=1)
    ask = provider(retriever).retrieve
    assert [len(await ask(request_for(top_k=k), context_for())) for k in (2, 1)] == [2, 1]
    assert retriever.similarity_top_k == 1
    summary = SummaryIndex(nodes=[TextNode(text=f"rule {n}") for n in range(9)])
    assert len(await provider(summary).retrieve(request_for(top_k=4), context_for())) == 4


async def test_an_absent_score_stays_absent(request_for: Make, context_for: Make) -> None:
    """LlamaIndex itself would turn it into 0.0."""
    (result, _) = await provider(SummaryIndex(nodes=nodes())).retrieve(request_for(), context_for())
    assert result.score is None
    (distance, _) = await provider(index(), score_kind="distance").retrieve(request_for(), context_for())
    assert distance.score is None


async def test_bm25_nodes_without_a_match_do_not_reach_a_caller_that_set_min_score(
    request_for: Make, context_for: Make
) -> None:
    """BM25 fills up with nodes of score 0; asking for more than there are would fail in the library."""
    retriever = BM25Retriever.from_defaults(nodes=nodes(), similarity_top_k=2)
    assert len(await provider(retriever).retrieve(request_for("reviewers", top_k=8), context_for())) == 2
    strict = provider(retriever, min_score=0.01)
    assert [result.id for result in await strict.retrieve(request_for("reviewers"), context_for())] == ["release-1"]


async def test_two_owners_asking_at_once_never_see_each_other(request_for: Make, context_for: Make) -> None:
    """Filters sit on the retriever in LlamaIndex; each call has its own copy, also with a hundred in flight."""
    native = StorageContext.from_defaults(vector_store=AsyncStore())
    asynchronous = VectorStoreIndex(nodes=nodes(), embed_model=NativeEmbedding(), storage_context=native)
    for shared, uses_coroutine in ((index(), False), (asynchronous, True)):
        scoped = provider(
            shared,
            filter_builder=equal_filters,
            owner_filters=lambda context: {"owner": context.owner_id},
            workers=8,
            waiting=100,
        )
        assert scoped._uses_coroutine is uses_coroutine
        owners = ["ann", "bob"] * 50
        answers = await asyncio.gather(
            *(scoped.retrieve(request_for(), context_for(owner, seconds=30)) for owner in owners)
        )
        seen = [{result.metadata["owner"] for result in results} for results in answers]
        assert seen == [{owner} for owner in owners]


async def test_all_filters_hold_together(request_for: Make, context_for: Make) -> None:
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


async def test_the_loop_is_not_blocked_by_a_retriever_that_blocks(
    request_for: Make, context_for: Make, watched_loop: Make, until: Make
) -> None:
    """LlamaIndex's own `aretrieve` would freeze every audio stream of the process here."""
    slow = Blocking()
    async with asyncio.timeout(20), watched_loop() as loop:
        call = asyncio.create_task(provider(slow).retrieve(request_for(), context_for()))
        await until(slow.started.is_set)
        await asyncio.sleep(0.6)
        slow.release.set()
        (result,) = await call
    assert result.content == "earpiece-llama-index"
    assert loop.longest < 0.5


async def test_a_barge_in_frees_the_caller_and_ends_what_can_be_ended(
    request_for: Make, context_for: Make, until: Make
) -> None:
    """A hundred cancelled coroutines all end; a blocked thread refuses new work until it is back."""
    native = Native()
    async with asyncio.timeout(30):
        for _ in range(100):
            native.started.clear()
            call = asyncio.create_task(provider(native).retrieve(request_for(), context_for()))
            await native.started.wait()
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
        assert native.ended == 100
        slow = Blocking()
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
    await blocking.close()


class Answers(BaseRetriever):
    def __init__(self, answer: Any) -> None:
        super().__init__()
        self.answer = answer

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer  # type: ignore[no-any-return]


async def test_odd_answers_are_typed_errors_or_cost_only_themselves(request_for: Make, context_for: Make) -> None:
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


def vendor_exceptions() -> list[type[Exception]]:
    found: set[type[Exception]] = set()
    todo: list[type[Exception]] = [Exception]
    while todo:
        for kind in type.__subclasses__(todo.pop()):
            todo.append(kind)
            found.add(kind)
    vendors = ("llama_index.core", "llama_index.retrievers", "workflows.errors")
    return sorted((kind for kind in found if kind.__module__.startswith(vendors)), key=lambda kind: kind.__name__)


@pytest.mark.parametrize("kind", vendor_exceptions(), ids=lambda kind: kind.__name__)
async def test_every_exception_of_llama_index_is_in_the_table(
    kind: type[Exception], request_for: Make, context_for: Make, everything_about: Make
) -> None:
    """A new release that adds an exception fails here first; its text reaches nothing of ours."""
    assert any(base.__name__ in ERRORS for base in kind.__mro__)
    error = kind.__new__(kind, "api_key=sk-s3cret")
    Exception.__init__(error, "api_key=sk-s3cret")
    with pytest.raises(RetrievalError) as caught:
        await provider(Answers(error)).retrieve(request_for(), context_for())
    assert "s3cret" not in everything_about(caught.value)
    assert caught.value.__cause__ is not None


def test_wrong_objects_and_options_fail_at_composition() -> None:
    """What cannot answer, or would lose a filter, is refused while the gateway is composed."""
    with pytest.raises(TypeError, match="not list"):
        provider([])
    with pytest.raises(ValueError, match="no filters"):
        provider(BM25Retriever.from_defaults(nodes=nodes(), similarity_top_k=1), filter_builder=equal_filters)
    with pytest.raises(ValueError, match="filter_builder"):
        provider(index(), owner_filters=lambda context: {"owner": "ann"})
