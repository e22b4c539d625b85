"""Cancellation reaches the provider at once and becomes no result."""

import asyncio
import threading
from typing import Any

import pytest

from gateway import FrontendKnowledgeRuntime
from knowledge_provider import RetrievalContext, RetrievalRequest
from tests.gateway.knowledge_runtime.provider import Provider, ask


async def test_cancellation_reaches_the_provider_and_the_caller() -> None:
    """When the user speaks the work ends at once: the task is cancelled and context.cancelled is set."""
    provider = Provider(held=True)
    async with FrontendKnowledgeRuntime(provider, timeout_seconds=60) as runtime, asyncio.timeout(5):
        caller = asyncio.create_task(ask(runtime))
        await provider.started.wait()
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
        await provider.cancelled.wait()
    assert provider.calls[0][1].cancelled.is_set()


async def test_a_call_cancelled_before_it_starts_never_calls_the_provider() -> None:
    """Neither before its first step nor between its steps."""
    provider = Provider()
    async with FrontendKnowledgeRuntime(provider, timeout_seconds=60) as runtime, asyncio.timeout(5):
        for steps in range(2):
            caller = asyncio.create_task(ask(runtime))
            for _ in range(steps):
                await asyncio.sleep(0)
            caller.cancel()
            with pytest.raises(asyncio.CancelledError):
                await caller
    assert provider.calls == []


async def test_a_plain_retrieve_learns_of_the_cancellation_from_its_context() -> None:
    """A thread cannot be cancelled, but it can look."""
    started, seen = threading.Event(), threading.Event()

    class Plain(Provider):
        def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
            started.set()
            if context.cancelled.wait(5):  # type: ignore[attr-defined]
                seen.set()
            return []

    async with FrontendKnowledgeRuntime(Plain(), timeout_seconds=60) as runtime, asyncio.timeout(5):
        caller = asyncio.create_task(ask(runtime))
        await asyncio.to_thread(started.wait, 5)
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
        assert await asyncio.to_thread(seen.wait, 5)
