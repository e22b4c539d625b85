"""Which answers are remembered, for how long, and how they are forgotten."""

import asyncio

import pytest

from gateway import FrontendKnowledgeRuntime
from knowledge_provider import ProviderUnavailable
from tests.gateway.knowledge_runtime.provider import PASSAGE, Provider, ask


async def test_failures_are_not_cached() -> None:
    """The next call asks again."""
    provider = Provider(OSError("down"))
    async with FrontendKnowledgeRuntime(provider) as runtime:
        with pytest.raises(ProviderUnavailable):
            await ask(runtime)
        provider.answer = [PASSAGE]
        assert (await ask(runtime)).status == "ok"


async def test_without_a_time_to_live_nothing_is_cached() -> None:
    """A host may turn the cache off."""
    provider = Provider()
    async with FrontendKnowledgeRuntime(provider, cache_ttl_seconds=0) as runtime:
        await ask(runtime)
        await ask(runtime)
    assert len(provider.calls) == 2


async def test_forgetting_one_owner_leaves_the_others_answers() -> None:
    """A removed document is gone from the cache at once."""
    provider = Provider()
    async with FrontendKnowledgeRuntime(provider) as runtime:
        for owner in ("ann", "ben"):
            await ask(runtime, owner_id=owner)
        runtime.forget("ann")
        for owner in ("ann", "ben"):
            await ask(runtime, owner_id=owner)
        assert [context.owner_id for _, context in provider.calls] == ["ann", "ben", "ann"]
        runtime.forget()
        await ask(runtime, owner_id="ben")
        assert len(provider.calls) == 4


@pytest.mark.parametrize("session", ["", "s"])
async def test_an_answer_on_its_way_while_documents_change_is_not_kept(session: str) -> None:
    """It was found before the change; neither cache nor session remembers it."""
    provider = Provider(held=True)
    async with FrontendKnowledgeRuntime(provider) as runtime, asyncio.timeout(5):
        caller = asyncio.create_task(ask(runtime, session_id=session))
        await provider.started.wait()
        runtime.forget("ann")
        provider.gate.set()
        assert (await caller).status == "ok"
        await ask(runtime, session_id=session)
    assert len(provider.calls) == 2


async def test_a_session_forgets_what_it_asked_when_documents_change() -> None:
    """What would serve nearly the same question is gone as well, of this owner alone."""
    provider = Provider()
    async with FrontendKnowledgeRuntime(provider) as runtime:
        for owner in ("ann", "ben"):
            await ask(runtime, owner_id=owner, session_id="s")
        runtime.forget("ann")
        for owner in ("ann", "ben"):
            await ask(runtime, owner_id=owner, session_id="s")
    assert [context.owner_id for _, context in provider.calls] == ["ann", "ben", "ann"]


async def test_empty_answers_are_remembered_for_their_own_shorter_time() -> None:
    """A document that was just added is found soon."""
    provider = Provider([])
    async with FrontendKnowledgeRuntime(provider, empty_cache_ttl_seconds=0) as runtime:
        assert (await ask(runtime)).status == "no_results"
        provider.answer = [PASSAGE]
        assert (await ask(runtime)).status == "ok"
        provider.answer = []
        assert (await ask(runtime)).status == "ok"
    assert len(provider.calls) == 2
