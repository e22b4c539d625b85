"""What the host tests share: a tool over a provider that can be held, and one over none."""

from collections.abc import AsyncIterator

import pytest

from gateway import FrontendKnowledgeRuntime, KnowledgeTool
from tests.gateway.hosts.held_provider import HeldProvider


@pytest.fixture
def provider() -> HeldProvider:
    return HeldProvider()


@pytest.fixture
async def tool(provider: HeldProvider) -> AsyncIterator[KnowledgeTool]:
    async with FrontendKnowledgeRuntime(provider, timeout_seconds=30, cache_ttl_seconds=0) as runtime:
        yield KnowledgeTool(runtime)


@pytest.fixture
async def empty_tool() -> AsyncIterator[KnowledgeTool]:
    async with FrontendKnowledgeRuntime(None) as runtime:
        yield KnowledgeTool(runtime)
