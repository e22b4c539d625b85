"""A service on loopback for the tests of the adapters."""

import os
from collections.abc import AsyncIterator

import pytest_asyncio
from aiohttp import web

from tests.adapters.http_client import MADE
from tests.adapters.loopback import Loopback

os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")


@pytest_asyncio.fixture
async def service() -> AsyncIterator[Loopback]:
    """A service on loopback; cancelled requests cancel its handlers, as a real server would notice."""
    loopback = Loopback()
    app = web.Application(client_max_size=8_000_000)
    app.router.add_route("*", "/{path:.*}", loopback.handle)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    loopback.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield loopback
    await runner.cleanup()


@pytest_asyncio.fixture
async def closed_afterwards() -> AsyncIterator[None]:
    """Close what `closed_later` was given."""
    yield
    while MADE:
        await MADE.pop().close()
