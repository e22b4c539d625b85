"""The model and the providers of these tests."""

from collections.abc import AsyncIterator

import pytest

from tests.gateway.realtime.played import PlayedModel
from tests.gateway.realtime.providers import WatchedProvider


@pytest.fixture
async def model() -> AsyncIterator[PlayedModel]:
    played = PlayedModel()
    await played.start()
    yield played
    await played.aclose()


@pytest.fixture
def provider() -> WatchedProvider:
    return WatchedProvider()


@pytest.fixture
def held_provider() -> WatchedProvider:
    return WatchedProvider(held=True)
