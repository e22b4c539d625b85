"""`HaystackProvider` with real Haystack components, super components and pipelines."""

import asyncio
import hashlib
import threading
from collections.abc import Callable
from typing import Any

import pytest
from haystack import Document, Pipeline, SuperComponent, component
from haystack.components.joiners import DocumentJoiner
from haystack.components.retrievers import TextEmbeddingRetriever
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.document_stores.types import FilterPolicy

from adapters.haystack import ERRORS, HaystackProvider
from knowledge_provider import ProviderUnavailable, RetrievalError, UnsupportedFilters

Make = Callable[..., Any]


def embedded(text: str) -> list[float]:
    """Hash words into 64 places: a ranking without any model."""
    places = [0.001] * 64
    for word in text.lower().split():
        places[hashlib.sha256(word.encode()).digest()[0] % 64] += 1.0
    return places


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


def store() -> InMemoryDocumentStore:
    texts: list[tuple[str, dict[str, Any]]] = [
        ("Releases require two reviewers.", {"title": "Releases", "url": "https://docs.example.com/r", "owner": "ann"}),
        ("Travel is booked by the office.", {"file_path": "/srv/travel.md", "owner": "bob", "set": {1, 2}}),
        ("Releases are announced on Monday.", {"owner": "bob", "page": 2}),
    ]
    found = InMemoryDocumentStore()
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


async def test_a_document_becomes_a_result(request_for: Make, context_for: Make) -> None:
    """Content, score and flat metadata pass; embeddings, sets and private paths as links do not."""
    found = await provider(bm25()).retrieve(request_for("releases reviewers travel"), context_for())
    by_text = {result.content: result for result in found}
    release, travel = by_text["Releases require two reviewers."], by_text["Travel is booked by the office."]
    assert (release.source.title, release.source.uri) == ("Releases", "https://docs.example.com/r")
    assert (travel.source.uri, travel.source.locator) == (None, "/srv/travel.md")
    assert travel.metadata == {"file_path": "/srv/travel.md", "owner": "bob"}
    assert all(result.score is not None and result.score > 0 for result in found)


async def test_components_pipelines_and_super_components_are_all_asked(request_for: Make, context_for: Make) -> None:
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


async def test_min_score_keeps_out_what_only_fills_up(request_for: Make, context_for: Make) -> None:
    """BM25Okapi returns documents of score 0; the host says from which score on they may be spoken."""
    okapi = InMemoryDocumentStore(bm25_algorithm="BM25Okapi")
    okapi.write_documents(store().filter_documents())
    retriever = InMemoryBM25Retriever(okapi)
    assert len(await provider(retriever).retrieve(request_for("reviewers"), context_for())) == 3
    strict = await provider(retriever, min_score=0.01).retrieve(request_for("reviewers"), context_for())
    assert [result.content for result in strict] == ["Releases require two reviewers."]
    (first, *_) = await provider(retriever, score_kind="distance").retrieve(request_for("reviewers"), context_for())
    assert first.score is None


async def test_two_owners_asking_at_once_never_see_each_other(request_for: Make, context_for: Make) -> None:
    """A hundred runs of one pipeline at once each keep to the filter of who asks, in every branch."""
    owners = ["ann", "bob"] * 50
    for target, mode in ((bm25(), "auto"), (hybrid(store()), "thread")):
        scoped = provider(
            target,
            filters=True,
            owner_filters=lambda context: owned_by(context.owner_id),
            mode=mode,
            workers=8,
            waiting=100,
        )
        calls = (scoped.retrieve(request_for("releases office"), context_for(owner, seconds=30)) for owner in owners)
        answers = await asyncio.gather(*calls)
        assert [{result.metadata["owner"] for result in found} for found in answers] == [{owner} for owner in owners]


@pytest.mark.parametrize("policy", [FilterPolicy.REPLACE, FilterPolicy.MERGE, "merge"])
@pytest.mark.parametrize("fixed", [owned_by("ann"), {"operator": "OR", "conditions": [owned_by("ann")]}])
async def test_a_later_filter_never_replaces_a_fixed_one(
    policy: Any, fixed: dict[str, Any], request_for: Make, context_for: Make
) -> None:
    """By default Haystack drops the fixed filter, and on the same field it does so when it merges as well."""
    retriever = bm25(filters=fixed, filter_policy=policy)
    widened = retriever.run(query="releases office", filters=owned_by("bob"))["documents"]
    assert widened or policy is FilterPolicy.MERGE  # Haystack's own behaviour, for comparison
    ask = provider(retriever, filters=True).retrieve
    assert await ask(request_for("releases office", filters=owned_by("bob")), context_for()) == []
    (only,) = await ask(request_for("releases office", filters=owned_by("ann")), context_for())
    assert only.metadata["owner"] == "ann"


async def test_filters_are_refused_where_they_would_be_lost(request_for: Make, context_for: Make) -> None:
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


async def test_the_loop_is_not_blocked_by_a_component_that_blocks(
    request_for: Make, context_for: Make, watched_loop: Make, until: Make
) -> None:
    """It runs in a thread of the adapter, not in the executor that the whole process shares."""
    slow = Blocking()
    async with asyncio.timeout(20), watched_loop() as loop:
        call = asyncio.create_task(provider(slow).retrieve(request_for(), context_for()))
        await until(slow.started.is_set)
        await asyncio.sleep(0.6)
        slow.release.set()
        (result,) = await call
    assert result.content == "earpiece-haystack"
    assert loop.longest < 0.5


async def test_a_barge_in_frees_the_caller_and_ends_what_can_be_ended(
    request_for: Make, context_for: Make, until: Make
) -> None:
    """A hundred cancelled coroutines all end; a blocked thread refuses new work until it is back."""
    native = Native()
    ask = provider(native).retrieve
    async with asyncio.timeout(30):
        for _ in range(100):
            native.started.clear()
            call = asyncio.create_task(ask(request_for(), context_for()))
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
    assert len(asyncio.all_tasks()) == 1


async def test_warming_up_happens_in_a_thread(request_for: Make, context_for: Make, watched_loop: Make) -> None:
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


async def test_odd_answers_are_typed_errors_or_cost_only_themselves(request_for: Make, context_for: Make) -> None:
    """Scores and contents are not checked by Haystack."""
    for odd in ({"documents": None}, {}, {"documents": "text"}):
        with pytest.raises(RetrievalError) as caught:
            await provider(Answers(odd)).retrieve(request_for(), context_for())
        assert caught.value.code == "knowledge_bad_response"
    blob, loud = Document(content=None), Document(content="a", score="high", meta={"n": float("inf")})  # type: ignore[arg-type]
    (result,) = await provider(Answers({"documents": [blob, loud]})).retrieve(request_for(), context_for())
    assert (result.content, result.score, result.metadata) == ("a", None, {})


def vendor_exceptions() -> list[type[Exception]]:
    import haystack.document_stores.errors

    assert haystack.document_stores.errors
    found: set[type[Exception]] = set()
    todo: list[type[Exception]] = [Exception]
    while todo:
        for kind in type.__subclasses__(todo.pop()):
            todo.append(kind)
            found.add(kind)
    return sorted((kind for kind in found if kind.__module__.startswith("haystack.")), key=lambda kind: kind.__name__)


@pytest.mark.parametrize("kind", vendor_exceptions(), ids=lambda kind: kind.__name__)
async def test_every_exception_of_haystack_is_in_the_table(
    kind: type[Exception], request_for: Make, context_for: Make, everything_about: Make
) -> None:
    """A new release that adds an exception fails here first; its text reaches nothing of ours."""
    assert kind.__name__ == "PipelineRuntimeError" or any(base.__name__ in ERRORS for base in kind.__mro__)
    error = kind.__new__(kind)
    Exception.__init__(error, "api_key=sk-s3cret")
    with pytest.raises(RetrievalError) as caught:
        await provider(Answers(error)).retrieve(request_for(), context_for())
    assert "s3cret" not in everything_about(caught.value)


async def test_what_a_component_raised_inside_a_pipeline_decides(
    request_for: Make, context_for: Make, everything_about: Make
) -> None:
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
