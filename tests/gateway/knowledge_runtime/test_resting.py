"""A provider that fails rests, and is asked again."""

import asyncio

import pytest

from gateway import FrontendKnowledgeRuntime
from knowledge_provider import ProviderForbidden, ProviderUnavailable
from tests.gateway.knowledge_runtime.provider import PASSAGE, Provider, ask


async def test_a_failing_provider_rests_and_is_tried_again() -> None:
    """After consecutive failures calls are answered at once, without the provider."""
    provider = Provider(OSError("down"))
    async with FrontendKnowledgeRuntime(provider, breaker_failures=2, breaker_cool_down_seconds=60) as runtime:
        for _ in range(2):
            with pytest.raises(ProviderUnavailable):
                await ask(runtime)
        with pytest.raises(ProviderUnavailable, match="rests after repeated failures") as caught:
            await ask(runtime)
        assert (await runtime.health()).status == "degraded"
    assert len(provider.calls) == 2
    assert caught.value.retry_after_seconds == pytest.approx(60, abs=5)


async def test_a_rested_provider_is_asked_again_and_recovers() -> None:
    """The first call after the cool-down decides."""
    provider = Provider(OSError("down"))
    async with FrontendKnowledgeRuntime(provider, breaker_failures=1, breaker_cool_down_seconds=0) as runtime:
        with pytest.raises(ProviderUnavailable):
            await ask(runtime)
        provider.answer = [PASSAGE]
        assert (await ask(runtime)).status == "ok"
        assert (await runtime.health()).status == "ready"


async def test_a_cancelled_try_does_not_lock_a_rested_provider_out() -> None:
    """A barge-in during the one trial call teaches nothing; the next call tries."""
    provider = Provider(OSError("down"))
    async with (
        asyncio.timeout(5),
        FrontendKnowledgeRuntime(provider, breaker_failures=1, breaker_cool_down_seconds=0) as runtime,
    ):
        with pytest.raises(ProviderUnavailable):
            await ask(runtime)
        provider.gate.clear()
        provider.started.clear()
        trial = asyncio.create_task(ask(runtime))
        await provider.started.wait()
        trial.cancel()
        await asyncio.wait([trial])
        provider.gate.set()
        provider.answer = [PASSAGE]
        assert (await ask(runtime)).status == "ok"


async def test_one_owners_refusals_do_not_make_the_provider_rest_for_others() -> None:
    """Forbidden is an answer; only silence and breakdown open the breaker."""
    provider = Provider(ProviderForbidden("search"))
    async with FrontendKnowledgeRuntime(provider, breaker_failures=2) as runtime:
        for _ in range(5):
            with pytest.raises(ProviderForbidden):
                await ask(runtime, owner_id="ben")
        provider.answer = [PASSAGE]
        assert (await ask(runtime)).status == "ok"
