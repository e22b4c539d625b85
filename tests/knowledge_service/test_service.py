"""The service as its host meets it: registry, reindex, search across sources, and its face as a provider."""

import asyncio
import logging
import time
from collections.abc import Sequence
from typing import Any

import pytest

from knowledge_provider import (
    KnowledgeRetrievalProvider,
    ProviderUnavailable,
    RetrievalContext,
    RetrievalRequest,
    RetrievalTimedOut,
    UnknownKnowledgeBase,
    UnsupportedFilters,
)
from knowledge_provider.conformance import Conditions, check_provider
from knowledge_service import (
    ANONYMOUS,
    SYSTEM,
    AdapterContext,
    AdapterSearch,
    DataEngineFailed,
    ExecutionContext,
    IndexFailed,
    IndexHit,
    InvalidSource,
    InvalidWhere,
    KnowledgeDocument,
    KnowledgeService,
    KnowledgeSource,
    MemoryDataEngine,
    Record,
    RecordQuery,
    RowPolicy,
    SearchLimits,
    SourceNotReadable,
    SourceVersionConflict,
    UnknownAdapter,
    UnknownSource,
    source_from,
)
from knowledge_service.events import Searched
from knowledge_service.indexes.memory import MemoryIndex

ADA = ExecutionContext(user_id="ada")
POLICY = RowPolicy.of({"where": {"public": True}}, {"roles": ["agent"]})


def declared(name: str = "articles", **more: Any) -> KnowledgeSource:
    content = {"kind": "object", "object": "article", "contentFields": ["body"], "metadataFields": ["public"]}
    return source_from({"id": name, "label": name.title(), "adapter": "memory", "source": content, **more})


class Host:
    """A service over rows in memory."""

    def __init__(self, **options: Any) -> None:
        self.engine = MemoryDataEngine({"article": POLICY})
        self.engine.rows["article"] = {}
        self.events: list[Any] = []
        self.index = MemoryIndex()
        options = {"data_engine": self.engine, "listeners": [self.events.append], **options}
        self.service = KnowledgeService(**options)
        self.service.register_adapter("memory", self.index)

    def rows(self, count: int, *, public: bool = True, start: int = 0) -> None:
        for number in range(start, start + count):
            self.engine.put("article", f"{number:04}", body=f"refund {number}", public=public)

    async def ids(self, query: str = "refund", caller: ExecutionContext | None = ADA, **options: Any) -> list[str]:
        found = await self.service.search(query, execution_context=caller, **options)
        return [hit.source_record_id or "" for hit in found.hits]


@pytest.fixture
async def host() -> Host:
    made = Host()
    made.service.register_source(declared())
    made.rows(3)
    await made.service.reindex_source("articles")
    return made


# Registry


async def test_adapters_and_sources_come_and_go_at_run_time(host: Host) -> None:
    """Registered, listed, replaced and removed, with an error that lists what there is."""
    host.service.register_adapter("other", MemoryIndex())
    assert host.service.list_adapters() == ["memory", "other"]
    host.service.unregister_adapter("other")
    with pytest.raises(UnknownAdapter, match="Registered: 'memory'"):
        host.service.adapter("other")
    host.service.register_source(declared("notes"))
    assert [source.id for source in host.service.list_sources()] == ["articles", "notes"]
    await host.service.remove_source("notes")
    with pytest.raises(UnknownSource, match=r"No source 'notes' is registered\. Registered: 'articles'"):
        host.service.source("notes")


async def test_a_changed_declaration_needs_a_higher_version(host: Host) -> None:
    """Two deployments of different age cannot overwrite each other in silence."""
    host.service.register_source(declared())
    with pytest.raises(SourceVersionConflict, match="Raise its version to 2"):
        host.service.register_source(declared(label="Other"))
    host.service.register_source(declared(label="Other", version=2))
    with pytest.raises(InvalidSource, match="Remove the source"):
        host.service.register_source(declared(adapter="elsewhere", version=3))


async def test_a_source_does_not_move_away_from_its_documents(host: Host) -> None:
    """An index that keeps sources in several places names the place; a new one would leave the old one behind."""

    class Placed(MemoryIndex):
        def place_of(self, source: KnowledgeSource) -> str:
            return str(source.adapter_config.get("dataset"))

    host.service.register_adapter("placed", Placed())
    host.service.register_source(declared("notes", adapter="placed", adapterConfig={"dataset": "a", "floor": 1}))
    host.service.register_source(
        declared("notes", adapter="placed", adapterConfig={"dataset": "a", "floor": 2}, version=2)
    )
    with pytest.raises(InvalidSource, match="Remove the source"):
        host.service.register_source(declared("notes", adapter="placed", adapterConfig={"dataset": "b"}, version=3))


async def test_removing_a_source_empties_its_index_first(host: Host) -> None:
    """An index entry must not outlive its source."""
    assert await host.service.remove_source("articles") == 3
    assert await host.index.list_document_ids(declared()) == []


async def test_a_document_goes_where_it_belongs_and_nowhere_else(host: Host) -> None:
    """Indexing by hand checks the ids, so that no document is laundered into another source."""
    good = KnowledgeDocument(id="articles:9", source_id="articles", source_record_id="9", content="refund")
    await host.service.index_document("articles", good)
    for wrong in (
        good.model_copy(update={"source_id": "notes"}),
        good.model_copy(update={"source_record_id": "8"}),
        good.model_copy(update={"source_record_id": None}),
        good.model_copy(update={"id": "notes:9"}),
    ):
        with pytest.raises(InvalidSource, match="does not belong here"):
            await host.service.index_document("articles", wrong)
    with pytest.raises(UnknownSource):
        await host.service.index_document("nowhere", good)
    await host.service.delete_document("articles", "articles:9")
    assert "articles:9" not in await host.index.list_document_ids(declared())


# Reindex


async def test_a_dry_run_says_what_a_run_would_do_and_does_nothing(host: Host) -> None:
    """Added, changed and removed are told apart by content hash."""
    host.engine.put("article", "0000", body="changed", public=True)
    del host.engine.rows["article"]["0001"]
    host.rows(1, start=7)
    dry = await host.service.reindex_source("articles", dry_run=True)
    assert (dry.added, dry.changed, dry.unchanged, dry.removed, dry.dry_run) == (1, 1, 1, 1, True)
    assert len(await host.index.list_document_ids(declared())) == 3
    done = await host.service.reindex_source("articles")
    assert (done.added, done.changed, done.unchanged, done.removed) == (1, 1, 1, 1)
    assert await host.index.list_document_ids(declared()) == ["articles:0000", "articles:0002", "articles:0007"]


async def test_a_run_goes_on_where_it_stopped(host: Host) -> None:
    """A limited or broken run removes nothing; the next ones finish it, and only then is pruned."""
    del host.engine.rows["article"]["0001"]
    host.rows(5, start=10)
    first = await host.service.reindex_source("articles", limit=3)
    assert (first.discovered, first.complete, first.removed) == (3, False, 0)
    rest = await host.service.reindex_source("articles")
    assert (rest.discovered, rest.complete, rest.removed) == (7, True, 1)
    again = await host.service.reindex_source("articles")
    assert (again.discovered, again.unchanged, again.complete) == (7, 7, True)


async def test_progress_is_reported_page_by_page() -> None:
    """A long run can be watched, and reads no more than a page at a time."""
    host = Host()
    host.service.register_source(declared())
    host.rows(1200)
    seen: list[int] = []
    await host.service.reindex_source("articles", report=lambda progress: seen.append(progress.discovered))
    assert seen == [500, 1000, 1200, 1200]


async def test_a_stray_document_of_the_index_is_pruned(host: Host) -> None:
    """What the index holds and nobody knows (a restored backup, a lost ledger) does not stay."""
    stray = KnowledgeDocument(id="articles:stray", source_id="articles", source_record_id="stray", content="refund")
    await host.index.upsert([stray], AdapterContext(source=declared(), reason="test"))
    assert (await host.service.reindex_source("articles", dry_run=True)).removed == 1
    assert (await host.service.reindex_source("articles")).removed == 1


async def test_a_document_written_behind_the_readers_back_is_not_pruned() -> None:
    """A row that appears before the reader's place, and that sync has indexed, is no stray."""
    host = Host()
    host.service.register_source(declared())
    host.rows(3, start=5)

    await host.service.reindex_source("articles", limit=2)
    host.rows(1)
    new = KnowledgeDocument(id="articles:0000", source_id="articles", source_record_id="0000", content="refund 0")
    await host.service.index_document("articles", new)
    done = await host.service.reindex_source("articles")
    assert (done.complete, done.removed) == (True, 0)
    assert "articles:0000" in await host.index.list_document_ids(declared())


async def test_a_source_that_nothing_can_read_says_so() -> None:
    """A missing data engine or reader is named."""
    service = KnowledgeService()
    service.register_adapter("memory", MemoryIndex())
    service.register_source(declared())
    service.register_source(declared("files", source={"kind": "file", "prefix": ""}))
    with pytest.raises(SourceNotReadable, match="no data engine"):
        await service.reindex_source("articles")
    with pytest.raises(SourceNotReadable, match="no reader for kind 'file'"):
        await service.reindex_source("files")


# Search


async def test_readable_hits_are_found_behind_many_forbidden_ones() -> None:
    """Over-fetch grows in rounds until top_k readable hits survive (the reference gave short answers)."""
    host = Host()
    host.service.register_source(declared())
    host.rows(300, public=False)
    host.rows(5, start=900)
    await host.service.reindex_source("articles")
    found = await host.service.search("refund", execution_context=ADA, top_k=5)
    assert len(found.hits) == 5
    assert all(hit.metadata["public"] for hit in found.hits)
    (outcome,) = found.sources
    assert outcome.rounds > 1
    assert outcome.dropped == outcome.raw - 5


async def test_the_over_fetch_is_bounded() -> None:
    """A caller who may read nothing costs a bounded number of proposals."""
    host = Host(limits=SearchLimits(max_candidates=64))
    host.service.register_source(declared())
    host.rows(300, public=False)
    await host.service.reindex_source("articles")
    (outcome,) = (await host.service.search("refund", execution_context=ADA, top_k=5)).sources
    assert (outcome.raw, outcome.returned, outcome.complete) == (64, 0, False)


async def test_fewer_hits_than_asked_for_at_the_bound_are_said_to_be_not_all() -> None:
    """One readable hit of five is no complete answer when the index held more than was looked at."""
    host = Host(limits=SearchLimits(max_candidates=64))
    host.service.register_source(declared())
    host.rows(1)
    host.rows(300, public=False, start=1)
    await host.service.reindex_source("articles")
    (outcome,) = (await host.service.search("refund", execution_context=ADA, top_k=5)).sources
    assert (outcome.raw, outcome.returned, outcome.complete) == (64, 1, False)
    (outcome,) = (await host.service.search("refund", execution_context=ADA, top_k=1)).sources
    assert (outcome.returned, outcome.complete) == (1, True)


async def test_nobody_reads_nothing_and_no_lookup_is_made(host: Host) -> None:
    """Missing identity is an answer of its own."""
    for nobody in (None, ANONYMOUS, ExecutionContext(user_id="  ", roles=frozenset({"agent"}))):
        found = await host.service.search("refund", execution_context=nobody)
        assert found.hits == ()
        assert all(outcome.raw == 0 for outcome in found.sources)


async def test_the_system_reads_rows_but_no_orphans(host: Host) -> None:
    """Even the system is not shown a document whose row is gone."""
    del host.engine.rows["article"]["0001"]
    assert sorted(await host.ids(caller=SYSTEM)) == ["0000", "0002"]


async def test_the_text_shown_is_the_one_in_the_row_now(host: Host) -> None:
    """An index that lags behind cannot speak: a row's old text is never shown."""
    host.engine.put("article", "0000", body="refund: corrected", public=True)
    (hit,) = [
        hit
        for hit in (await host.service.search("refund 0", execution_context=ADA)).hits
        if hit.source_record_id == "0000"
    ]
    assert hit.snippet == "refund: corrected"


async def test_a_failing_lookup_shows_nothing_and_says_so(host: Host) -> None:
    """A system of record that is away closes its sources, and only those."""

    class Away:
        async def find(self, query: RecordQuery, caller: ExecutionContext) -> Sequence[Record]:
            raise DataEngineFailed(query.object)

    host.service.current._data_engine = Away()
    found = await host.service.search("refund", execution_context=ADA)
    assert found.hits == ()
    assert [(one.status, one.code) for one in found.sources] == [("failed", "knowledge_data_engine")]


async def test_a_data_engine_that_answers_with_other_rows_shows_none_of_them(host: Host) -> None:
    """Only rows that were asked for count, whatever comes back."""

    class Generous:
        async def find(self, query: RecordQuery, caller: ExecutionContext) -> Sequence[Record]:
            return [Record("secret", {"body": "refund secret", "public": False})]

    host.service.current._data_engine = Generous()
    assert await host.ids() == []


async def test_a_proposal_that_does_not_name_its_own_record_is_no_hit(host: Host) -> None:
    """Missing, foreign and misspelt record ids, numbers for texts, and impossible scores are dropped one by one."""

    def forged(**facts: Any) -> IndexHit:
        return IndexHit(
            **{"document_id": "articles:0000", "chunk_id": "c", "score": 1.0, "source_record_id": "0000", **facts}
        )

    class Forging(MemoryIndex):
        async def search(self, query: str, options: AdapterSearch) -> Sequence[IndexHit]:
            bad = [
                forged(source_record_id=None),
                forged(source_record_id="0001"),
                forged(source_record_id=0),
                forged(document_id=0),
                forged(document_id="notes:0000"),
                forged(document_id="articles:"),
                forged(score=float("nan")),
                forged(score="1"),
                forged(snippet=None),
            ]
            return [*bad, "no hit", forged(document_id="articles:0002", source_record_id="0002")]  # type: ignore[list-item]

    host.service.register_adapter("memory", Forging())
    found = await host.service.search("refund", execution_context=ADA)
    assert [hit.source_record_id for hit in found.hits] == ["0002"]
    assert (found.sources[0].status, found.sources[0].dropped) == ("ok", 10)


async def test_sources_are_chosen_by_name_and_an_empty_choice_asks_nothing(host: Host) -> None:
    """An empty list does not widen to everything; an unknown name is skipped and said."""
    host.service.register_source(declared("notes"))
    await host.service.reindex_source("notes")
    named = await host.service.search("refund", execution_context=ADA, source_ids=["notes", "nowhere"])
    assert {hit.source_id for hit in named.hits} == {"notes"}
    assert [(one.source_id, one.status) for one in named.sources] == [("notes", "ok"), ("nowhere", "skipped")]
    assert (await host.service.search("refund", execution_context=ADA, source_ids=[])).hits == ()


async def test_a_source_for_others_looks_like_none_at_all() -> None:
    """Its audience decides who may ask it; a stranger cannot tell it from one that does not exist."""
    host = Host()
    host.service.register_source(declared("secret", audience=["role:agent"]))
    host.rows(1)
    await host.service.reindex_source("secret")
    named = await host.service.search("refund", execution_context=ADA, source_ids=["secret", "nowhere"])
    assert [(one.status, one.code) for one in named.sources] == [("skipped", "knowledge_source_unknown")] * 2
    agent = ExecutionContext(user_id="bob", roles=frozenset({"agent"}))
    assert await host.ids(caller=agent) == ["0000"]


async def test_a_source_hidden_from_models_stays_hidden_when_named() -> None:
    """aiExposed false holds for a model that knows the name; the host itself may search it."""
    host = Host()
    host.service.register_source(declared("internal", aiExposed=False))
    host.rows(1)
    await host.service.reindex_source("internal")
    assert await host.ids(source_ids=["internal"], for_model=True) == []
    assert await host.ids(source_ids=["internal"]) == ["0000"]


async def test_a_filter_means_the_same_on_every_index(host: Host) -> None:
    """It is applied to the row's own metadata, with the operators of conditions."""
    host.rows(2, public=False, start=50)
    await host.service.reindex_source("articles")
    agent = ExecutionContext(user_id="bob", roles=frozenset({"agent"}))
    assert sorted(await host.ids(caller=agent, filter={"public": {"$ne": True}})) == ["0050", "0051"]


class StuckIndex(MemoryIndex):
    """Answers never, and does not stop when told to."""

    async def search(self, query: str, options: AdapterSearch) -> Sequence[IndexHit]:
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                if getattr(asyncio.current_task(), "let_go", False):
                    raise


class BrokenIndex(MemoryIndex):
    async def search(self, query: str, options: AdapterSearch) -> Sequence[IndexHit]:
        raise IndexFailed("broken", "is down: password=hunter2")


async def mixed(host: Host, *names: str) -> None:
    for name, index in (("stuck", StuckIndex()), ("broken", BrokenIndex())):
        if name in names:
            host.service.register_adapter(name, index)
            host.service.register_source(declared(name, adapter=name))


async def let_go() -> None:
    """Let tasks end that were made not to."""
    for task in asyncio.all_tasks():
        if task is not asyncio.current_task():
            task.let_go = True  # type: ignore[attr-defined]
            task.cancel()
    await asyncio.sleep(0)


async def test_one_deadline_holds_for_all_sources_and_the_rest_is_named(host: Host) -> None:
    """What is there in time is answered; what failed or came late is in the outcome, by source."""
    await mixed(host, "stuck", "broken")
    async with asyncio.timeout(5):
        found = await host.service.search("refund", execution_context=ADA, timeout_seconds=0.05)
    assert {one.source_id: one.status for one in found.sources} == {
        "articles": "ok",
        "stuck": "timed_out",
        "broken": "failed",
    }
    assert len(found.hits) == 3
    assert found.partial
    await let_go()


async def test_a_source_that_fails_is_logged_with_its_cause_and_trace(
    host: Host, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever operates the service finds the line of code and the search; what the vendor said stays out of the log."""
    await mixed(host, "broken")
    await host.service.search("refund", execution_context=ADA, trace_id="trace-7")
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.startswith("Source 'broken' could not be searched: IndexFailed at ")
    assert line.endswith("(trace trace-7)")
    assert "hunter2" not in caplog.text


async def test_ranks_are_fused_because_scores_are_not_comparable(host: Host) -> None:
    """A source with large scores does not push the other out."""

    class Boasting(MemoryIndex):
        async def search(self, query: str, options: AdapterSearch) -> Sequence[IndexHit]:
            return [hit for hit in await super().search(query, options) if setattr_score(hit)]

    def setattr_score(hit: IndexHit) -> bool:
        object.__setattr__(hit, "score", hit.score * 1e6)
        return True

    host.service.register_adapter("boasting", Boasting())
    host.service.register_source(declared("boasts", adapter="boasting"))
    await host.service.reindex_source("boasts")
    found = await host.service.search("refund", execution_context=ADA, top_k=4)
    assert [hit.source_id for hit in found.hits] == ["articles", "boasts", "articles", "boasts"]


async def test_a_wrong_filter_is_refused_and_not_ignored(host: Host) -> None:
    """Ignoring it would widen the search."""
    with pytest.raises(InvalidWhere):
        await host.service.search("refund", execution_context=ADA, filter={"public": {"$like": "x"}})
    request = RetrievalRequest(query="refund", filters={"$where": "1"})
    with pytest.raises(UnsupportedFilters):
        await host.service.retrieve(request, context())


# As a provider


def context(owner: str = "ada", seconds: float = 5.0) -> RetrievalContext:
    return RetrievalContext(owner_id=owner, deadline=time.monotonic() + seconds, trace_id="t1")


async def provider(host: Host) -> KnowledgeService:
    host.service._callers = {"ada": ADA, "system": SYSTEM}.get
    return host.service


async def test_the_service_is_a_provider(host: Host) -> None:
    """A gateway mounts it like any other; sources for everyone are its knowledge bases."""
    assert isinstance(host.service, KnowledgeRetrievalProvider)
    host.service.register_source(declared("secret", audience=["role:agent"]))
    described = host.service.describe()
    assert [base.id for base in described.knowledge_bases or ()] == ["articles"]


async def test_the_service_passes_the_checks_that_any_provider_must_pass(host: Host) -> None:
    """The public conformance kit over real rows: shape, bounds, cancellation, owner isolation, concurrency, closing."""
    host.rows(4, public=False, start=20)
    await host.service.reindex_source("articles")
    owners = {"ada": ADA, "bob": ExecutionContext(user_id="bob", roles=frozenset({"agent"}))}

    def factory() -> KnowledgeService:
        made = KnowledgeService(data_engine=host.engine, callers=owners.get)
        made.register_adapter("memory", host.index)
        made.register_source(declared())
        return made

    conditions = Conditions(queries=("refund", "refund 20", "refund 1"), owners=("ada", "bob"))
    results = await check_provider(factory, conditions)
    assert len(results) > 5
    assert [(result.name, result.sentence) for result in results if not result.passed] == []


async def test_closing_closes_every_adapter_also_after_one_that_fails(host: Host) -> None:
    """One broken index keeps no connection of another open."""
    closed: list[str] = []

    class Closing(MemoryIndex):
        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

        async def close(self) -> None:
            closed.append(self.name)
            if self.name == "first":
                raise RuntimeError("it broke")

    for name in ("first", "second"):
        host.service.register_adapter(name, Closing(name))
    await host.service.close()
    assert closed == ["first", "second"]


async def test_the_caller_is_the_owner_as_the_host_maps_them(host: Host) -> None:
    """An owner the host does not know is nobody, and no owner is ever the system."""
    service = await provider(host)
    request = RetrievalRequest(query="refund", top_k=2)
    assert len((await service.retrieve(request, context()))["results"]) == 2
    for owner in ("stranger", "system"):
        assert (await service.retrieve(request, context(owner)))["results"] == []


async def test_a_partial_outcome_reaches_the_model_by_the_contract(host: Host) -> None:
    """The gateway tells the model which part was not searched, so that it does not claim there is nothing."""
    await mixed(host, "broken")
    service = await provider(host)
    answer = await service.retrieve(RetrievalRequest(query="refund", top_k=3), context())
    assert (len(answer["results"]), answer["partial"]) == (3, ["broken"])
    assert "hunter2" not in repr(answer)


async def test_a_search_that_wholly_failed_is_an_error_and_not_an_empty_answer(host: Host) -> None:
    """Late and failed are told apart; an undisclosed base is refused."""
    await mixed(host, "stuck", "broken")
    service = await provider(host)

    def asking(name: str) -> RetrievalRequest:
        return RetrievalRequest(query="refund", knowledge_base_ids=(name,))

    with pytest.raises(ProviderUnavailable):
        await service.retrieve(asking("broken"), context())
    with pytest.raises(RetrievalTimedOut):
        await service.retrieve(asking("stuck"), context(seconds=0.1))
    with pytest.raises(UnknownKnowledgeBase):
        await service.retrieve(asking("nowhere"), context())
    await let_go()


async def test_health_names_the_index_that_is_away(host: Host) -> None:
    """Ready, degraded or unavailable by the adapters that sources use."""
    assert (await host.service.health()).status == "ready"

    class Away(MemoryIndex):
        async def health_check(self) -> Any:
            raise IndexFailed("away", "is down")

    host.service.register_adapter("away", Away())
    host.service.register_source(declared("notes", adapter="away"))
    health = await host.service.health()
    assert (health.status, health.message) == ("degraded", "not answering: away")
    assert (await KnowledgeService().health()).status == "unconfigured"


# Events


async def test_a_search_is_told_with_counts_and_without_its_text(host: Host) -> None:
    """Who asked, which sources, how many were proposed, dropped and returned; never the question by default."""
    host.rows(2, public=False, start=50)
    await host.service.reindex_source("articles")
    await host.service.search("refund of mr smith", execution_context=ADA, top_k=9)
    told = [event for event in host.events if isinstance(event, Searched)][-1]
    assert (told.user_id, told.returned, told.query) == ("ada", 3, "")
    (outcome,) = told.sources
    assert (outcome.source_id, outcome.raw, outcome.dropped, outcome.returned) == ("articles", 5, 2, 3)
    assert "smith" not in repr(told)


async def test_a_listener_that_fails_fails_no_search(host: Host, caplog: pytest.LogCaptureFixture) -> None:
    """It is logged, and the caller gets the answer."""

    def failing(event: object) -> None:
        raise RuntimeError("the listener broke")

    host.service._listeners.append(failing)
    assert len(await host.ids()) == 3
    assert "A listener failed on Searched" in caplog.text


# The compatibility switch


async def test_trusting_the_index_is_explicit_and_loud(caplog: pytest.LogCaptureFixture) -> None:
    """Hits that name no record are dropped; with the switch they are shown, and everything says so."""

    class Nameless(MemoryIndex):
        async def search(self, query: str, options: AdapterSearch) -> Sequence[IndexHit]:
            return [IndexHit(document_id="x", chunk_id="x", score=1.0, snippet="unproven")]

    for trusting in (False, True):
        with caplog.at_level(logging.WARNING):
            host = Host(trust_index=trusting)
        host.service.register_adapter("memory", Nameless())
        host.service.register_source(declared())
        found = await host.service.search("refund", execution_context=ADA)
        assert [hit.snippet for hit in found.hits] == (["unproven"] if trusting else [])
        assert host.events[-1].trusted_index is trusting
        assert (await host.service.health()).status == ("degraded" if trusting else "ready")
        assert (await host.service.search("refund", execution_context=ANONYMOUS)).hits == ()
    assert caplog.text.count("trust_index is on") == 1
