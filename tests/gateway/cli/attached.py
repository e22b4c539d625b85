"""Reaches the page of a browser that somebody else started, through its debugging port."""

import asyncio
from pathlib import Path

import aiohttp
from playwright.async_api import Page, Playwright

_PAUSE_SECONDS = 0.1  # the browser is another program: its files and targets can only be looked at again


async def attached(playwright: Playwright, profile: Path) -> Page:
    """The page in the window of the browser that keeps its things in ``profile``; waits at most a minute.

    Playwright hangs when it attaches while the page registers its service worker, so this waits for both to be there.
    """
    async with asyncio.timeout(60), aiohttp.ClientSession() as session:
        address = f"http://127.0.0.1:{await _port(profile)}"
        while not await _has_settled(session, address):  # noqa: ASYNC110  there is no event to wait for
            await asyncio.sleep(_PAUSE_SECONDS)
    browser = await playwright.chromium.connect_over_cdp(address)
    page = browser.contexts[0].pages[0]
    page.set_default_timeout(30_000)
    await page.wait_for_selector("#state-model:not([hidden])")
    return page


async def _port(profile: Path) -> int:
    active = profile / "DevToolsActivePort"
    while True:
        # It has two lines once it is written to its end.
        if await asyncio.to_thread(active.exists) and (await asyncio.to_thread(active.read_text)).count("\n") == 1:
            return int((await asyncio.to_thread(active.read_text)).split()[0])
        await asyncio.sleep(_PAUSE_SECONDS)


async def _has_settled(session: aiohttp.ClientSession, address: str) -> bool:
    async with session.get(f"{address}/json/list") as response:
        targets = await response.json(content_type=None)
    kinds = {target["type"] for target in targets if target["title"]}
    return {"page", "service_worker"} <= kinds


__all__ = ["attached"]
