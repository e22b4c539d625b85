"""A real Chromium in front of a real gateway, both on this machine."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest_asyncio
from playwright.async_api import Page, async_playwright, expect

from gateway.application import GatewayApplication, create_gateway_application
from gateway.settings import GatewaySettings
from tests.gateway.web.browser import installed

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PATIENCE_MILLISECONDS = 30_000
"""The bound of every wait. It is no measure: a machine that does other things as well takes its time."""
expect.set_options(timeout=PATIENCE_MILLISECONDS)
OpenPage = Callable[..., Awaitable[Page]]
Serve = Callable[..., Awaitable[GatewayApplication]]


@pytest_asyncio.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Serve]:
    """Start gateways: ``await serve(provider)`` or ``await serve(library=folder)``; all end with the test."""
    async with AsyncExitStack() as stack:

        async def start(provider: Any = None, *, library: Any = None, **settings: Any) -> GatewayApplication:
            # A gateway lets running work end before it closes; here it goes away in the middle of it.
            chosen = GatewaySettings(**{"drain_seconds": 0.0, **settings})
            store = tmp_path / "store"
            application = create_gateway_application(provider, library=library, store=store, settings=chosen)
            return await stack.enter_async_context(application)

        yield start


@pytest_asyncio.fixture
async def open_page() -> AsyncIterator[OpenPage]:
    """Open the page of a gateway: ``await open_page(url, flags=[...], permissions=[...])``; it must log no error."""
    async with AsyncExitStack() as stack:
        playwright = await stack.enter_async_context(async_playwright())
        complaints: list[str] = []

        async def opened(url: str, *, flags: tuple[str, ...] = (), connected: bool = True, **context: Any) -> Page:
            browser = await playwright.chromium.launch(
                executable_path=installed("chromium"), args=[*FLAGS, *flags], timeout=60_000
            )
            stack.push_async_callback(browser.close)
            page = await (await browser.new_context(locale="en-US", **context)).new_page()
            page.set_default_timeout(PATIENCE_MILLISECONDS)
            page.on("pageerror", lambda error: complaints.append(str(error)))
            await page.goto(url)
            if connected:
                await page.wait_for_selector("#state-model:not([hidden])")
            return page

        yield opened
    assert not complaints
