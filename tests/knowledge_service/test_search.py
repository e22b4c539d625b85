"""A search over several sources: which are asked, by whom, and how their hits are put together."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from knowledge_provider import RetrievalRequest, UnsupportedFilters
from knowledge_service import AdapterSearch, IndexHit, InvalidWhere
from knowledge_service.indexes.memory import MemoryIndex
from tests.knowledge_service.host import ADA, AGENT, Host, context, declared


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
    assert await host.ids(caller=AGENT) == ["0000"]


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
    assert sorted(await host.ids(caller=AGENT, filter={"public": {"$ne": True}})) == ["0050", "0051"]


async def test_ranks_are_fused_because_scores_are_not_comparable(host: Host) -> None:
    """A source with large scores does not push the other out."""

    class Boasting(MemoryIndex):
        async def search(self, query: str, options: AdapterSearch) -> Sequence[IndexHit]:
            return [replace(hit, score=hit.score * 1e6) for hit in await super().search(query, options)]

    host.mount("boasts", Boasting())
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
