"""Which calls share one flight."""

import asyncio
from typing import Any

import pytest

from gateway import FrontendKnowledgeRuntime
from tests.gateway.knowledge_runtime.provider import Provider, ask


async def test_calls_at_the_same_time_share_one_flight() -> None:
    """Identical calls of one owner cost one provider call, and each gets its own citations."""
    provider = Provider(held=True)
    async with FrontendKnowledgeRuntime(provider) as runtime, asyncio.timeout(5):
        callers = [asyncio.create_task(ask(runtime, turn_id=f"t{n}")) for n in range(3)]
        await provider.started.wait()
        provider.gate.set()
        responses = await asyncio.gather(*callers)
    assert len(provider.calls) == 1
    assert [response.citations[0].id for response in responses] == ["source_1"] * 3


async def test_one_of_two_waiters_leaves_and_the_other_is_answered_and_both_leave_and_the_work_ends() -> None:
    """Cancelling is each caller's own."""
    provider = Provider(held=True)
    async with FrontendKnowledgeRuntime(provider, timeout_seconds=60) as runtime, asyncio.timeout(5):
        first, second, third = (asyncio.create_task(ask(runtime)) for _ in range(3))
        await provider.started.wait()
        first.cancel()
        await asyncio.wait([first])
        assert not provider.cancelled.is_set()
        second.cancel()
        third.cancel()
        await provider.cancelled.wait()
    assert len(provider.calls) == 1


OTHERS: list[dict[str, Any]] = [
    {"owner_id": "ben"},
    {"knowledge_base_ids": ["eng"]},
    {"filters": {"year": 2026}},
    {"top_k": 4},
    {"query": "holiday policy"},
]


@pytest.mark.parametrize("other", OTHERS)
async def test_neither_flight_nor_cache_is_shared_with_a_different_call(other: dict[str, Any]) -> None:
    """Never across owners, knowledge bases, filters, top_k or queries; at the same time or one after the other."""
    provider = Provider(capabilities={"filters": True}, bases=[{"id": "eng"}], held=True)
    async with FrontendKnowledgeRuntime(provider) as runtime, asyncio.timeout(5):
        together = [asyncio.create_task(ask(runtime)), asyncio.create_task(ask(runtime, **other))]
        await provider.started.wait()
        provider.gate.set()
        await asyncio.gather(*together)
        assert len(provider.calls) == 2
    after = Provider(capabilities={"filters": True}, bases=[{"id": "eng"}])
    async with FrontendKnowledgeRuntime(after) as runtime:
        await ask(runtime)
        await ask(runtime, **other)
        assert len(after.calls) == 2
        await ask(runtime, "Release policy?")
        assert len(after.calls) == 2
