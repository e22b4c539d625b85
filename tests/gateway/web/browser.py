"""What the browser tests say to the page, and what they read from it."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import BrowserContext, Page

HANDBOOK = Path(__file__).resolve().parents[3] / "examples" / "handbook"


def installed(program: str) -> str:
    """The path of a program of the system; without it the test is skipped, but on continuous integration it fails."""
    path = shutil.which(program)
    if path is None and os.environ.get("CI") == "true":
        pytest.fail(f"{program} is not installed; .ci/system-packages installs it")
    if path is None:
        pytest.skip(f"{program} is not installed; `make system` installs it")
    return path


async def ask(page: Page, question: str) -> None:
    """Type a question and press Enter."""
    await page.fill("#question", question)
    await page.press("#question", "Enter")


async def turn(page: Page, number: int, phase: str = "done") -> Any:
    """The turn of this number, once it has come to this phase."""
    return await page.wait_for_selector(f".turn:nth-child({number})[data-phase={phase}]")


async def text_of(page: Page, number: int, part: str) -> str:
    """What a part (question, answer, lookups, sources, end) of a turn says."""
    return await page.inner_text(f".turn:nth-child({number}) .{part}")


async def stub_the_web(context: BrowserContext) -> list[str]:
    """Answer whatever the browser asks of the outside with a small page, and keep the addresses."""
    asked: list[str] = []

    async def answer(route: Any) -> None:
        asked.append(route.request.url)
        await route.fulfill(body="<title>outside</title>", content_type="text/html")

    await context.route(lambda url: "127.0.0.1" not in url, answer)
    return asked
