"""Typing into the page: a streamed answer, its sources, and how long the look-up took."""

import re

from tests.gateway.web.browser import HANDBOOK, ask, stub_the_web, text_of, turn
from tests.gateway.web.conftest import OpenPage, Serve
from tests.gateway.web.providers import HOSTILE, Handbook


async def test_a_typed_question_is_answered_with_its_source_and_milliseconds(serve: Serve, open_page: OpenPage) -> None:
    """The answer, the document, where that is published, the section, and the time of the look-up are on the page."""
    gateway = await serve(library=HANDBOOK)
    page = await open_page(gateway.http_url)
    await ask(page, "How many reviewers does a release need?")
    await turn(page, 1)
    assert "two reviewers" in await text_of(page, 1, "answer")
    assert re.search(r"Found \d+ passages? · [\d.]+ ms", await text_of(page, 1, "lookups"))
    sources = await text_of(page, 1, "sources")
    assert "Release handbook" in sources
    assert "Approvals" in sources
    link = page.locator(".turn .sources a", has_text="Release handbook")
    assert await link.get_attribute("href") == "https://handbook.lanternfish.example/releases"


async def test_clicking_a_citation_opens_its_public_link_in_a_tab_of_its_own(serve: Serve, open_page: OpenPage) -> None:
    """A citation is a link to the source; the opened page cannot reach back into ours."""
    gateway = await serve(Handbook())
    page = await open_page(gateway.http_url)
    asked = await stub_the_web(page.context)
    await ask(page, "How many reviewers?")
    await turn(page, 1)
    async with page.context.expect_page() as opening:
        await page.click(".turn .sources a")
    outside = await opening.value
    await outside.wait_for_load_state()
    assert asked[0] == "https://docs.example.com/releases"
    assert await outside.evaluate("window.opener") is None


async def test_what_a_document_says_is_shown_as_text_and_never_run(serve: Serve, open_page: OpenPage) -> None:
    """Markup in content, title and locator appears as characters; a URI that is no public link becomes no link."""
    gateway = await serve(Handbook(HOSTILE))
    page = await open_page(gateway.http_url)
    await ask(page, "How many reviewers do releases require?")
    await turn(page, 1)
    assert "<img src=x" in await text_of(page, 1, "answer")
    assert "<b>Bold</b>" in await text_of(page, 1, "sources")
    assert await page.title() == "Earpiece"
    assert await page.locator(".turn :is(a, img, b, i)").count() == 0


async def test_a_question_that_the_documents_do_not_answer_says_so(serve: Serve, open_page: OpenPage) -> None:
    """No source is shown where nothing was found, and the look-up says that it found nothing."""
    gateway = await serve(library=HANDBOOK)
    page = await open_page(gateway.http_url)
    await ask(page, "What does the cafeteria serve on Fridays?")
    await turn(page, 1)
    assert "Nothing about it in the documents" in await text_of(page, 1, "lookups")
    assert await page.locator(".turn .card").count() == 0


async def test_a_failing_provider_is_a_plain_sentence_and_the_next_question_works(
    serve: Serve, open_page: OpenPage
) -> None:
    """The person reads that the documents could not be reached, nothing of the cause, and goes on."""
    handbook = Handbook()
    handbook.failing = True
    gateway = await serve(handbook)
    page = await open_page(gateway.http_url)
    await ask(page, "How many reviewers?")
    await turn(page, 1)
    assert "could not be reached" in await text_of(page, 1, "lookups")
    assert "hunter2" not in await page.content()
    handbook.failing = False
    await ask(page, "How many reviewers then?")
    await turn(page, 2)
    assert "two reviewers" in await text_of(page, 2, "answer")


async def test_everything_can_be_done_with_the_keyboard(serve: Serve, open_page: OpenPage) -> None:
    """From the first Tab on, every control can be reached, and has a name that a screen reader speaks."""
    gateway = await serve(library=HANDBOOK)
    page = await open_page(gateway.http_url)
    await page.wait_for_selector(".document")
    await page.evaluate("document.body.focus()")
    reached = set()
    for _ in range(40):
        await page.keyboard.press("Tab")
        reached.add(await page.evaluate("document.activeElement.id || document.activeElement.className"))
    assert {"skip", "theme", "question", "send", "talk", "aloud", "files", "quiet remove"} <= reached
    for control in await page.locator("button:visible, input:visible, textarea:visible").all():
        snapshot = await control.aria_snapshot()
        assert re.search(r'^- \W?\w+ "[^"]+"', snapshot), snapshot


async def test_a_card_does_not_repeat_the_headings_that_it_shows(serve: Serve, open_page: OpenPage) -> None:
    """The words of the source begin with what it says, for its title and section stand above and below."""
    gateway = await serve(library=HANDBOOK)
    page = await open_page(gateway.http_url)
    await ask(page, "How many reviewers does a release need?")
    await turn(page, 1)
    assert (await page.inner_text(".card .snippet")).startswith("Every release needs two reviewers.")


WORDS_ON_TWO_LINES = """() => {
  const pieces = document.createTreeWalker(document.querySelector(".card .where"), NodeFilter.SHOW_TEXT);
  const broken = [];
  while (pieces.nextNode()) {
    const range = document.createRange();
    range.selectNode(pieces.currentNode);
    if (range.getClientRects().length > 1) broken.push(pieces.currentNode.data);
  }
  return broken;
}"""


async def test_on_a_telephone_a_host_breaks_between_its_words(serve: Serve, open_page: OpenPage) -> None:
    """A long name of a host is on two lines, and none of its words is."""
    source = {"title": "Release handbook", "uri": "https://handbook.engineering.lanternfish.example.com/releases"}
    gateway = await serve(Handbook({"id": "1", "content": "Releases require two reviewers.", "source": source}))
    page = await open_page(gateway.http_url, viewport={"width": 320, "height": 700})
    await ask(page, "How many reviewers?")
    await turn(page, 1)
    height = await page.locator(".card .where").evaluate("(node) => node.getBoundingClientRect().height")
    assert height > 30, "it does not fit on one line"
    assert await page.evaluate(WORDS_ON_TWO_LINES) == []
