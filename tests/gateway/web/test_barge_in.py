"""Stopping an answer: by asking something else, with Escape, by typing. Nothing stale is shown or heard."""

import asyncio

from playwright.async_api import Page

from tests.gateway.web.browser import ask, installed, text_of, turn
from tests.gateway.web.conftest import OpenPage, Serve
from tests.gateway.web.providers import LONG, Handbook, WaitingHandbook

SPEAKS = ("--autoplay-policy=no-user-gesture-required",)


async def test_a_new_question_drops_the_look_up_of_the_last_one(serve: Serve, open_page: OpenPage) -> None:
    """The provider is told at once, the first turn stays stopped, and the second one is answered, once."""
    handbook = WaitingHandbook()
    gateway = await serve(handbook, timeout_seconds=30)
    page = await open_page(gateway.http_url)
    await ask(page, "How many reviewers?")
    await page.wait_for_selector(".lookup[data-status=running]")
    assert "Looking up “How many reviewers?”" in await text_of(page, 1, "lookups")
    await ask(page, "Who are the reviewers?")
    async with asyncio.timeout(20):
        await handbook.cancelled.wait()
    handbook.go.set()
    await turn(page, 2)
    await turn(page, 1, "interrupted")
    assert await text_of(page, 1, "answer") == ""
    assert "Look-up dropped" in await text_of(page, 1, "lookups")
    assert (await text_of(page, 2, "answer")).count("two reviewers") == 1


async def test_escape_stops_a_look_up_and_the_page_is_ready_again(serve: Serve, open_page: OpenPage) -> None:
    """Escape cancels the provider's work; the next question is answered as if nothing had been."""
    handbook = WaitingHandbook()
    gateway = await serve(handbook, timeout_seconds=30)
    page = await open_page(gateway.http_url)
    await ask(page, "How many reviewers?")
    async with asyncio.timeout(20):
        await handbook.begun.wait()
    await page.keyboard.press("Escape")
    async with asyncio.timeout(20):
        await handbook.cancelled.wait()
    await turn(page, 1, "interrupted")
    assert not await page.is_visible("#stop")
    handbook.go.set()
    await ask(page, "How many reviewers then?")
    await turn(page, 2)


async def speaking(page: Page) -> None:
    """Switch speech on, ask, and wait until it is heard."""
    installed("espeak-ng")
    await page.click("label.switch")
    await ask(page, "How many reviewers?")
    await page.wait_for_function("() => document.querySelector('#stop:not([hidden])')")
    await turn(page, 1)
    assert await page.is_visible("#stop"), "the answer is complete, and is still being spoken"


async def watched(page: Page) -> list[str]:
    """Keep what the page sends over its websocket."""
    sent: list[str] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda data: sent.append(str(data))))
    await page.reload()
    await page.wait_for_selector("#state-model:not([hidden])")
    return sent


async def test_escape_silences_the_voice_and_tells_the_model_what_was_heard(serve: Serve, open_page: OpenPage) -> None:
    """The sound ends at once, and the model learns at which millisecond it was cut off."""
    gateway = await serve(Handbook(LONG))
    page = await open_page(gateway.http_url, flags=SPEAKS)
    sent = await watched(page)
    await speaking(page)
    await page.keyboard.press("Escape")
    await page.wait_for_selector("#stop", state="hidden")
    cut = [frame for frame in sent if "conversation.item.truncate" in frame]
    assert len(cut) == 1
    assert '"audio_end_ms":' in cut[0]


async def test_the_first_typed_character_silences_the_voice(serve: Serve, open_page: OpenPage) -> None:
    """Whoever begins to type has heard enough; what was typed stays."""
    gateway = await serve(Handbook(LONG))
    page = await open_page(gateway.http_url, flags=SPEAKS)
    await speaking(page)
    await page.type("#question", "W")
    await page.wait_for_selector("#stop", state="hidden")
    assert await page.input_value("#question") == "W"
