"""What is looked up ahead, through the runtime that asks a provider."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from gateway import FrontendKnowledgeRuntime
from gateway.speculation import PrefetchCounts
from knowledge_provider import ProviderUnavailable, RetrievalContext, RetrievalRequest

SPOKEN = "so how many reviewers does a release need"
ASKED = "number of reviewers a release needs"
OTHER = "how long is the warranty of the sensor"


class Provider:
    """Answers with the query it was asked; ``gate`` holds it, ``fails`` and ``empty`` are what they say."""

    def __init__(self, **capabilities: bool) -> None:
        self.calls: list[tuple[RetrievalRequest, RetrievalContext]] = []
        self.cancelled: list[str] = []
        self.started = asyncio.Event()
        self.entered = asyncio.Semaphore(0)
        self.stopped = asyncio.Event()
        self.gate = asyncio.Event()
        self.gate.set()
        self.fails = False
        self.empty = False
        self._capabilities = capabilities

    def describe(self) -> Any:
        bases = [{"id": "a", "label": "A"}]
        return {
            "protocolVersion": 1,
            "key": "search",
            "label": "Search",
            "capabilities": self._capabilities,
            "knowledgeBases": bases,
        }

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        self.calls.append((request, context))
        self.started.set()
        self.entered.release()
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled.append(request.query)
            self.stopped.set()
            raise
        if self.fails:
            raise OSError("down")
        return [] if self.empty else [{"id": str(n), "content": f"{request.query} {n}"} for n in range(request.top_k)]

    @property
    def queries(self) -> list[str]:
        return [request.query for request, _ in self.calls]


@pytest.fixture
def provider() -> Provider:
    return Provider()


@pytest.fixture
async def runtime(provider: Provider) -> AsyncIterator[FrontendKnowledgeRuntime]:
    async with FrontendKnowledgeRuntime(provider, timeout_seconds=30) as runtime:
        yield runtime


async def ahead(runtime: FrontendKnowledgeRuntime, query: str, *, owner: str = "ann", session: str = "s1") -> bool:
    begun = runtime.speculate(query, owner_id=owner, session_id=session)
    async with asyncio.timeout(5):
        for known in tuple(runtime._ahead._running):
            await known.result()
    return begun


async def search(runtime: FrontendKnowledgeRuntime, query: str, **options: Any) -> str:
    async with asyncio.timeout(5):
        response = await runtime.search(query, **{"owner_id": "ann", "session_id": "s1", **options})
    return response.results[0].content if response.results else response.status


async def test_a_finished_speculation_answers_the_same_need(
    runtime: FrontendKnowledgeRuntime, provider: Provider
) -> None:
    """One provider call: the one that was made while the user was still speaking."""
    assert await ahead(runtime, SPOKEN)
    assert await search(runtime, ASKED) == f"{SPOKEN} 0"
    assert provider.queries == [SPOKEN]
    counts = runtime.prefetch_counts("ann", "s1")
    assert (counts.started, counts.adopted, counts.wasted) == (1, 1, 0)
    assert counts.hidden_ms > 0


async def test_a_running_speculation_is_waited_for(runtime: FrontendKnowledgeRuntime, provider: Provider) -> None:
    """What is under way is not begun again."""
    provider.gate.clear()
    assert runtime.speculate(SPOKEN, owner_id="ann", session_id="s1")
    asking = asyncio.create_task(search(runtime, ASKED))
    await provider.started.wait()
    await asyncio.sleep(0)
    provider.gate.set()
    assert await asking == f"{SPOKEN} 0"
    assert provider.queries == [SPOKEN]


async def test_another_question_cancels_it_and_is_asked_itself(
    runtime: FrontendKnowledgeRuntime, provider: Provider
) -> None:
    """Never a result for a question that was not asked."""
    provider.gate.clear()
    assert runtime.speculate(SPOKEN, owner_id="ann", session_id="s1")
    async with asyncio.timeout(5):
        await provider.started.wait()
        asking = asyncio.create_task(search(runtime, OTHER))
        await provider.stopped.wait()
        provider.gate.set()
        assert await asking == f"{OTHER} 0"
    assert provider.cancelled == [SPOKEN]
    assert provider.calls[0][1].cancelled.is_set()
    assert runtime.prefetch_counts("ann", "s1").wasted == 1


@pytest.mark.parametrize(
    "other",
    [{"owner_id": "bob"}, {"session_id": "s2"}, {"knowledge_base_ids": ["a"]}, {"top_k": 8}],
    ids=["owner", "session", "knowledge base", "more results"],
)
async def test_it_serves_nobody_else(
    runtime: FrontendKnowledgeRuntime, provider: Provider, other: dict[str, Any]
) -> None:
    """The same words of another owner, in another session, or of another place are asked anew."""
    assert await ahead(runtime, SPOKEN)
    await search(runtime, ASKED, **other)
    assert provider.queries == [SPOKEN, ASKED]


async def test_filters_are_part_of_the_question() -> None:
    """A filtered call is never served with what was found without the filter."""
    provider = Provider(filters=True)
    async with FrontendKnowledgeRuntime(provider) as runtime:
        assert await ahead(runtime, SPOKEN)
        await search(runtime, ASKED, filters={"year": 2026})
    assert provider.queries == [SPOKEN, ASKED]


async def test_fewer_results_are_the_first_of_more(runtime: FrontendKnowledgeRuntime, provider: Provider) -> None:
    """A call for two gets two, and hears of the three that are left out."""
    assert await ahead(runtime, SPOKEN)
    response = await runtime.search(ASKED, owner_id="ann", session_id="s1", top_k=2)
    assert [result.id for result in response.results] == ["0", "1"]
    assert response.more == 3
    assert provider.queries == [SPOKEN]


async def test_one_at_a_time_in_a_session(runtime: FrontendKnowledgeRuntime, provider: Provider) -> None:
    """The user went on speaking: the shorter question is given up for the longer one."""
    provider.gate.clear()
    assert runtime.speculate("how many reviewers does a release", owner_id="ann", session_id="s1")
    async with asyncio.timeout(5):
        await provider.started.wait()
        assert runtime.speculate(SPOKEN, owner_id="ann", session_id="s1")
        await provider.stopped.wait()
    counts = runtime.prefetch_counts("ann", "s1")
    assert (counts.started, counts.wasted) == (2, 1)


async def test_it_has_a_quota_of_its_own_and_gives_way_to_real_calls(provider: Provider) -> None:
    """Over all sessions no more than the quota, and none while as many real calls are under way."""
    provider.gate.clear()
    async with FrontendKnowledgeRuntime(provider, max_speculations=2, timeout_seconds=30) as runtime:
        begun = [runtime.speculate(SPOKEN, owner_id="ann", session_id=f"s{n}") for n in range(3)]
        assert begun == [True, True, False]
        async with asyncio.timeout(5):
            for _ in range(2):
                await provider.entered.acquire()
        runtime.end_prefetch("ann", "s0")
        runtime.end_prefetch("ann", "s1")
        real = [asyncio.create_task(search(runtime, f"{OTHER} {n}")) for n in range(2)]
        async with asyncio.timeout(5):
            for _ in range(2):
                await provider.entered.acquire()
        assert not runtime.speculate(SPOKEN, owner_id="ann", session_id="s9")
        provider.gate.set()
        await asyncio.gather(*real)
        assert runtime.speculate(SPOKEN, owner_id="ann", session_id="s9")


async def test_a_provider_that_forbids_it_is_not_asked_ahead() -> None:
    """``capabilities.speculative: False`` is the provider's word."""
    provider = Provider(speculative=False)
    async with FrontendKnowledgeRuntime(provider) as runtime:
        assert not await ahead(runtime, SPOKEN)
    assert provider.calls == []


async def test_a_resting_provider_is_not_asked_ahead(provider: Provider) -> None:
    """While the breaker is open nothing is looked up ahead; and a failed speculation does not open it."""
    provider.fails = True
    async with FrontendKnowledgeRuntime(provider, breaker_failures=2) as runtime:
        for n in range(3):
            assert await ahead(runtime, f"{SPOKEN} {n}")
        for n in range(2):
            with pytest.raises(ProviderUnavailable):
                await search(runtime, f"{OTHER} {n}")
        assert not await ahead(runtime, SPOKEN)


async def test_a_failed_speculation_leaves_the_call_to_itself(
    runtime: FrontendKnowledgeRuntime, provider: Provider
) -> None:
    """The model's call is a call like any other then."""
    provider.fails = True
    assert await ahead(runtime, SPOKEN)
    provider.fails = False
    assert await search(runtime, ASKED) == f"{ASKED} 0"
    assert runtime.prefetch_counts("ann", "s1").wasted == 1


async def test_an_empty_answer_serves_the_same_words_alone(
    runtime: FrontendKnowledgeRuntime, provider: Provider
) -> None:
    """Other words may find what these did not."""
    provider.empty = True
    assert await ahead(runtime, SPOKEN)
    provider.empty = False
    assert await search(runtime, ASKED) == f"{ASKED} 0"
    provider.empty = True
    assert await ahead(runtime, OTHER)
    assert await search(runtime, f"{OTHER}?") == "no_results"
    assert provider.queries == [SPOKEN, ASKED, OTHER]


async def test_cancelling_the_call_cancels_the_speculation_it_waits_for(
    runtime: FrontendKnowledgeRuntime, provider: Provider
) -> None:
    """Barge-in reaches the provider, whoever began the retrieval."""
    provider.gate.clear()
    assert runtime.speculate(SPOKEN, owner_id="ann", session_id="s1")
    asking = asyncio.create_task(search(runtime, ASKED))
    async with asyncio.timeout(5):
        await provider.started.wait()
        await asyncio.sleep(0)
        asking.cancel()
        await asyncio.wait([asking])
        await provider.stopped.wait()
    assert asking.cancelled()


async def test_the_end_of_a_turn_gives_up_what_was_not_used(
    runtime: FrontendKnowledgeRuntime, provider: Provider
) -> None:
    """It is counted as wasted, once, and does not answer the next turn."""
    assert await ahead(runtime, SPOKEN)
    runtime.end_prefetch("ann", "s1")
    runtime.end_prefetch("ann", "s1")
    assert await search(runtime, ASKED) == f"{ASKED} 0"
    assert runtime.prefetch_counts("ann", "s1") == PrefetchCounts(started=1, wasted=1)


async def test_a_near_repeat_in_a_session_is_answered_at_once(
    runtime: FrontendKnowledgeRuntime, provider: Provider
) -> None:
    """Users ask again in other words; another session still asks the provider."""
    assert await search(runtime, SPOKEN) == f"{SPOKEN} 0"
    assert await search(runtime, ASKED) == f"{SPOKEN} 0"
    assert await search(runtime, ASKED, session_id="s2") == f"{ASKED} 0"
    assert await search(runtime, OTHER) == f"{OTHER} 0"
    assert provider.queries == [SPOKEN, ASKED, OTHER]


async def test_without_a_cache_there_are_no_near_repeats_but_speculation(provider: Provider) -> None:
    """Whoever turns the cache off wants fresh answers; one that was begun in this turn is fresh."""
    async with FrontendKnowledgeRuntime(provider, cache_ttl_seconds=0) as runtime:
        await search(runtime, SPOKEN)
        await search(runtime, ASKED)
        assert provider.queries == [SPOKEN, ASKED]
        assert await ahead(runtime, OTHER)
        assert await search(runtime, f"{OTHER}?") == f"{OTHER} 0"
    assert provider.queries == [SPOKEN, ASKED, OTHER]


async def test_without_a_session_nothing_is_looked_up_ahead(runtime: FrontendKnowledgeRuntime) -> None:
    """Calls that belong to no conversation share nothing."""
    assert not await ahead(runtime, SPOKEN, session="")
    assert not await ahead(runtime, "  ")
    assert not await ahead(runtime, SPOKEN, owner="")


async def test_closing_cancels_what_is_looked_up_ahead(provider: Provider) -> None:
    """No retrieval outlives the gateway."""
    provider.gate.clear()
    async with FrontendKnowledgeRuntime(provider) as runtime:
        assert runtime.speculate(SPOKEN, owner_id="ann", session_id="s1")
        async with asyncio.timeout(5):
            await provider.started.wait()
    assert provider.cancelled == [SPOKEN]
    assert not runtime.speculate(SPOKEN, owner_id="ann", session_id="s1")
