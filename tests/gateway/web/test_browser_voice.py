"""The browser's own ears and voice, which headless Chromium has not: a script stands in for them, the page is real."""

import pytest
from playwright.async_api import Page, expect

from tests.gateway.web.browser import HANDBOOK, ask, text_of, turn
from tests.gateway.web.conftest import OpenPage, Serve

EARS = """
window.SpeechRecognition = window.webkitSpeechRecognition = class extends EventTarget {
  start() { window.ears = this; }
  abort() { this.aborted = true; }
  hear(...pieces) {
    this.dispatchEvent(new Event("speechstart"));
    this.results = [...(this.results ?? []).filter((result) => result.isFinal)];
    const resultIndex = this.results.length;
    this.results.push(...pieces.map(([transcript, isFinal]) => Object.assign([{ transcript }], { isFinal })));
    this.dispatchEvent(Object.assign(new Event("result"), { results: this.results, resultIndex }));
  }
  fail(error) { this.dispatchEvent(Object.assign(new Event("error"), { error })); }
};
"""
VOICE = """
window.said = [];
window.SpeechSynthesisUtterance = class extends EventTarget { constructor(text) { super(); this.text = text; } };
Object.defineProperty(window, "speechSynthesis", { value: {
  getVoices: () => [{ lang: "en-US" }],
  speak(saying) { window.said.push(saying.text); window.saying = saying; saying.dispatchEvent(new Event("start")); },
  cancel() { window.saying?.dispatchEvent(new Event("end")); },
} });
"""


async def with_script(page: Page, script: str) -> None:
    await page.add_init_script(script)
    await page.reload()
    await page.wait_for_selector("#state-model:not([hidden])")


async def test_what_the_browser_understands_becomes_a_question(serve: Serve, open_page: OpenPage) -> None:
    """Words recognised for good are asked and answered with the source; where they may go to is said meanwhile."""
    gateway = await serve(library=HANDBOOK)
    page = await open_page(gateway.http_url)
    await with_script(page, EARS)
    await page.click("#talk")
    await expect(page.locator("#voice-note")).to_contain_text("its maker")
    await page.evaluate("ears.hear(['How many', false], [' reviewers', false])")
    await expect(page.locator("#hearing")).to_have_text("“How many reviewers …”")
    assert await page.locator(".turn").count() == 0, "what may still change is not asked"
    await page.evaluate("ears.hear(['How many reviewers', true], [' does a release need?', true])")
    await expect(page.locator("#hearing")).to_have_text("")
    await turn(page, 1)
    assert await text_of(page, 1, "question") == "How many reviewers does a release need?"
    assert "two reviewers" in await text_of(page, 1, "answer")
    assert await page.locator(".turn").count() == 1
    await page.evaluate("ears.hear(['And who are they?', true], [' Tell', false])")
    await turn(page, 2)
    assert await text_of(page, 2, "question") == "And who are they?", "nothing heard before is asked again"
    await expect(page.locator("#hearing")).to_have_text("“Tell …”")
    await page.click("#talk")
    await expect(page.locator("#hearing")).to_have_text("")
    assert await page.evaluate("ears.aborted")


async def test_a_browser_that_may_not_recognise_speech_hands_over_to_the_microphone(
    serve: Serve, open_page: OpenPage
) -> None:
    """Refused recognition does not end the talk: the sound itself is tried, and a refusal of that has a sentence."""
    gateway = await serve(library=HANDBOOK)
    page = await open_page(gateway.http_url, flags=("--deny-permission-prompts",))
    await with_script(page, EARS)
    await page.click("#talk")
    await page.wait_for_function("() => window.ears")
    await page.evaluate("ears.fail('not-allowed')")
    await expect(page.locator("#voice-note")).to_contain_text("type your question")


async def test_the_browser_reads_an_answer_that_comes_without_a_voice(
    serve: Serve, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the gateway's machine has no espeak-ng the answer is read by the browser, and Stop ends it."""
    gateway = await serve(library=HANDBOOK)
    page = await open_page(gateway.http_url)
    await with_script(page, VOICE)
    monkeypatch.setenv("PATH", "")
    await page.click("label.switch")
    await ask(page, "How many reviewers does a release need?")
    await turn(page, 1)
    assert await page.evaluate("said") == [await text_of(page, 1, "answer")]
    await page.click("#stop")
    await expect(page.locator("#stop")).to_be_hidden()
