"""Whatever an index proposes, a caller is shown what stands in rows that they may read."""

import logging
from collections.abc import Sequence
from typing import Any

import pytest

from knowledge_service import ANONYMOUS, SYSTEM, AdapterSearch, ExecutionContext, IndexHit, Record, RecordQuery
from knowledge_service.events import Searched
from knowledge_service.indexes.memory import MemoryIndex
from tests.knowledge_service.host import ADA, Host, declared


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
        told = host.events[-1]
        assert isinstance(told, Searched)
        assert told.trusted_index is trusting
        assert (await host.service.health()).status == ("degraded" if trusting else "ready")
        assert (await host.service.search("refund", execution_context=ANONYMOUS)).hits == ()
    assert caplog.text.count("trust_index is on") == 1
