"""The timing of the last turns: the gateway's own moments as bars and as words, and what a slow look-up looks like."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from playwright.async_api import Locator, Page, WebSocket, expect

from tests.gateway.realtime.played import Peer, PlayedModel, Turn
from tests.gateway.web.browser import ask, text_of, turn
from tests.gateway.web.conftest import OpenPage, Serve
from tests.gateway.web.providers import Handbook, WaitingHandbook

QUESTION = "how many reviewers does every release need"
TRANSCRIPT = "conversation.item.input_audio_transcription."


Events = asyncio.Queue[dict[str, Any]]


async def watched(page: Page) -> Events:
    """Connect again, and keep what the gateway says from then on."""
    events: Events = asyncio.Queue()

    def listen(socket: WebSocket) -> None:
        socket.on("framereceived", lambda data: events.put_nowait(json.loads(data)))

    page.on("websocket", listen)
    await page.reload()
    await page.wait_for_selector("#state-model:not([hidden])")
    return events


async def until(events: Events, kind: str) -> dict[str, Any]:
    """The next event of this type."""
    async with asyncio.timeout(20):
        while (event := await events.get())["type"] != kind:
            pass
    return event


async def moments(page: Page, number: int) -> dict[str, str]:
    """What the panel says in words of a turn; the newest stands first."""
    row = page.locator(f"#waterfall .measured:nth-last-child({number})")
    names = await row.locator("dt").all_inner_texts()
    return dict(zip(names, await row.locator("dd").all_inner_texts(), strict=True))


def moment(page: Page, number: int, name: str) -> Locator:
    """The time that the panel gives for one moment of a turn."""
    return page.locator(f"#waterfall .measured:nth-last-child({number}) dt:text-is('{name}') + dd")


def written(milliseconds: float) -> str:
    sign, size = "−" if milliseconds < 0 else "", abs(milliseconds)
    if size < 10:
        return f"{sign}{size:.1f} ms"
    return f"{sign}{int(size + 0.5)} ms" if size < 999.5 else f"{sign}{size / 1000:.1f} s"


async def test_each_turn_shows_the_moments_that_the_gateway_measured(serve: Serve, open_page: OpenPage) -> None:
    """Call, result and first sound are the gateway's numbers, in words and as bars that start where these say."""
    gateway = await serve(Handbook())
    page = await open_page(gateway.http_url)
    events = await watched(page)
    for number, question in enumerate(("How many reviewers?", "Who are the reviewers?"), start=1):
        await ask(page, question)
        await turn(page, number)
    for number in (1, 2):
        at = (await until(events, "knowledge.turn"))["at_ms"]
        await expect(moment(page, number, "call")).to_have_text(written(at["call"]))
        await expect(moment(page, number, "result")).to_have_text(written(at["result"]))
        await expect(moment(page, number, "first sound")).to_have_text(written(at["first_sound"]))
        await expect(moment(page, number, "words heard")).to_have_count(0)  # nothing was spoken
    assert await page.locator("#waterfall rect.call").count() == 2


@asynccontextmanager
async def played(serve: Serve, open_page: OpenPage, provider: Any) -> AsyncIterator[tuple[Page, Peer]]:
    """A page in front of a gateway whose realtime model the test plays."""
    model = PlayedModel()
    await model.start()
    try:
        gateway = await serve(provider, upstream=model.url)
        page = await open_page(gateway.http_url, connected=False)
        peer = await model.connection()
        await peer.send("session.created", session={"id": "sess_1", "model": "played"})
        await page.wait_for_selector("#state-model:not([hidden])")
        yield page, peer
    finally:
        await model.aclose()


async def speak(peer: Peer) -> None:
    await peer.send("input_audio_buffer.speech_started", item_id="item_1", audio_start_ms=0)
    for word in QUESTION.split():
        await peer.send(f"{TRANSCRIPT}delta", item_id="item_1", delta=f"{word} ")


async def test_a_look_up_ahead_begins_before_the_last_word(serve: Serve, open_page: OpenPage) -> None:
    """While the user speaks the page says what is looked up ahead; the panel puts it left of the last word."""
    async with played(serve, open_page, Handbook()) as (page, peer):
        await speak(peer)
        ahead = page.locator(".turn .lookup")
        await expect(ahead).to_have_text(f"Already looking up “{QUESTION}” …")
        await peer.send("input_audio_buffer.speech_stopped", item_id="item_1", audio_end_ms=900)
        origin, answer = Turn(peer), Turn(peer, "resp_2")
        await origin.begin()
        await origin.call("call_1", query=QUESTION)
        await origin.end()
        await peer.until("response.create")
        await answer.begin()
        await answer.say("Two.")
        await answer.end()
        await turn(page, 1)
        await expect(ahead).to_contain_text("looked up while you spoke")
        names = ["words heard", "prefetch", "call", "result", "first sound", "end"]
        await expect(page.locator("#waterfall dt")).to_have_text(names)
        shown = await moments(page, 1)
        assert shown["words heard"].startswith("−")
        assert shown["prefetch"].startswith("−")
        last_word, bar = page.locator("#waterfall line"), page.locator("#waterfall rect.prefetch")
        assert float(await bar.get_attribute("x") or "") < float(await last_word.get_attribute("x1") or "")


async def test_what_was_looked_up_in_vain_is_not_said_to_go_on(serve: Serve, open_page: OpenPage) -> None:
    """A turn that the model answers without a call ends without the sentence of the look-up ahead."""
    async with played(serve, open_page, Handbook()) as (page, peer):
        await speak(peer)
        await page.wait_for_selector(".turn .lookup")
        await peer.send("input_audio_buffer.speech_stopped", item_id="item_1", audio_end_ms=900)
        answer = Turn(peer)
        await answer.begin()
        await answer.say("Hello.")
        await answer.end()
        await turn(page, 1)
        await expect(page.locator(".turn .lookup")).to_have_count(0)
        assert "first sound" in await moments(page, 1), "the page's own clock measures what the gateway does not tell"


async def test_a_slow_look_up_is_said_to_be_slow(serve: Serve, open_page: OpenPage) -> None:
    """After a while the running look-up says so, with the time waited, and so does the panel afterwards."""
    handbook = WaitingHandbook()
    gateway = await serve(handbook, timeout_seconds=30, slow_seconds=0.02)
    page = await open_page(gateway.http_url)
    await ask(page, "How many reviewers?")
    await expect(page.locator(".lookup")).to_have_text("Still looking up “How many reviewers?”, for more than 20 ms …")
    handbook.go.set()
    await turn(page, 1)
    await expect(page.locator(".lookup")).to_contain_text("Found 1 passage")
    await expect(moment(page, 1, "result")).to_have_text(re.compile(r"s, slow$"))


async def test_a_holding_sentence_is_no_answer(serve: Serve, open_page: OpenPage) -> None:
    """The turn goes on after it, its words are not in the answer, and the panel tells the two sounds apart."""
    handbook = WaitingHandbook()
    gateway = await serve(handbook, timeout_seconds=30, slow_seconds=0.02, holding_sentence=True)
    page = await open_page(gateway.http_url)
    events = await watched(page)
    await ask(page, "How many reviewers?")
    await until(events, "response.done")
    handbook.go.set()
    await turn(page, 1)
    assert "two reviewers" in await text_of(page, 1, "answer")
    assert "One moment" not in await text_of(page, 1, "answer")
    await expect(page.locator("#waterfall dt")).to_have_text(["call", "result", "first sound", "answer", "end"])


async def test_escape_stops_the_look_up_after_a_holding_sentence_too(serve: Serve, open_page: OpenPage) -> None:
    """The end of that sentence is not taken for the end of the answer: the provider's work is cancelled."""
    handbook = WaitingHandbook()
    gateway = await serve(handbook, timeout_seconds=30, slow_seconds=0.02, holding_sentence=True)
    page = await open_page(gateway.http_url)
    events = await watched(page)
    await ask(page, "How many reviewers?")
    await until(events, "response.done")
    await page.keyboard.press("Escape")
    async with asyncio.timeout(20):
        await handbook.cancelled.wait()
    await turn(page, 1, "interrupted")


async def test_a_look_up_that_was_dropped_has_a_call_and_no_result(serve: Serve, open_page: OpenPage) -> None:
    """The gateway tells of an interrupted turn when the next one begins; the panel takes it then."""
    handbook = WaitingHandbook()
    gateway = await serve(handbook, timeout_seconds=30)
    page = await open_page(gateway.http_url)
    events = await watched(page)
    await ask(page, "How many reviewers?")
    async with asyncio.timeout(20):
        await handbook.begun.wait()
    await ask(page, "Who are the reviewers?")
    at = (await until(events, "knowledge.turn"))["at_ms"]
    await expect(page.locator("#waterfall dd").first).to_have_text(written(at["call"]))
    assert list(await moments(page, 1)) == ["call", "end"]
    handbook.go.set()
    await turn(page, 2)
