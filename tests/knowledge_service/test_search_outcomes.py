"""What a search says of itself: what failed, came late or was not looked at."""

import asyncio
from collections.abc import Sequence

import pytest

from knowledge_service import DataEngineFailed, ExecutionContext, Record, RecordQuery, SearchLimits
from knowledge_service.events import Searched
from tests.knowledge_service.host import ADA, BrokenIndex, Host, StuckIndex, declared


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


async def test_a_failing_lookup_shows_nothing_and_says_so(host: Host) -> None:
    """A system of record that is away closes its sources, and only those."""

    class Away:
        async def find(self, query: RecordQuery, caller: ExecutionContext) -> Sequence[Record]:
            raise DataEngineFailed(query.object)

    host.service.current._data_engine = Away()
    found = await host.service.search("refund", execution_context=ADA)
    assert found.hits == ()
    assert [(one.status, one.code) for one in found.sources] == [("failed", "knowledge_data_engine")]


async def test_one_deadline_holds_for_all_sources_and_the_rest_is_named(host: Host, stuck: StuckIndex) -> None:
    """What is there in time is answered; what failed or came late is in the outcome, by source."""
    host.mount("stuck", stuck)
    host.mount("broken", BrokenIndex())
    async with asyncio.timeout(5):
        found = await host.service.search("refund", execution_context=ADA, timeout_seconds=0.05)
    assert {one.source_id: one.status for one in found.sources} == {
        "articles": "ok",
        "stuck": "timed_out",
        "broken": "failed",
    }
    assert len(found.hits) == 3
    assert found.partial


async def test_a_source_that_fails_is_logged_with_its_cause_and_trace(
    host: Host, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever operates the service finds the line of code and the search; what the vendor said stays out of the log."""
    host.mount("broken", BrokenIndex())
    await host.service.search("refund", execution_context=ADA, trace_id="trace-7")
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.startswith("Source 'broken' could not be searched: IndexFailed at ")
    assert line.endswith("(trace trace-7)")
    assert "hunter2" not in caplog.text


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
