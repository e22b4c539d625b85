"""The page as people use it who do not see it well, or not at all: axe-core finds nothing against it in any state."""

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.gateway.web.browser import ask, turn
from tests.gateway.web.conftest import OpenPage, Serve
from tests.gateway.web.providers import WaitingHandbook

AXE = Path(__file__).resolve().parents[3] / ".peers" / "npm" / "node_modules" / "axe-core" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
THEMES = ["light", "dark"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Twelve notes, a file that cannot be read, and a name that a person reads from right to left."""
    documents = tmp_path / "documents"
    documents.mkdir()
    for number in range(12):
        (documents / f"note{number}.md").write_text(f"# Note {number}\n\nEvery release needs two reviewers.\n")
    (documents / "broken.md").write_text("")
    (documents / "arabic.md").write_text("# دليل الإصدار\n\nكل إصدار يحتاج إلى مراجعين.\n", encoding="utf-8")
    return documents


async def problems(page: Page) -> list[str]:
    """What axe-core has against the page as it is now: rule and elements."""
    if not AXE.exists():
        message = "axe-core is not installed: run tests/peers/install_realtime.sh"
        pytest.fail(message) if os.environ.get("CI") == "true" else pytest.skip(message)
    await page.evaluate(AXE.read_text(encoding="utf-8"))
    options = {"runOnly": {"type": "tag", "values": RULES}}
    found: dict[str, Any] = await page.evaluate("(options) => axe.run(document, options)", options)
    assert len(found["passes"]) > 10, "it has looked"
    return [f"{one['id']}: {[node['target'] for node in one['nodes']]}" for one in found["violations"]]


async def dark(page: Page) -> None:
    await page.emulate_media(color_scheme="dark", reduced_motion="reduce")


async def light(page: Page) -> None:
    await page.emulate_media(color_scheme="light", reduced_motion="reduce")


THEMED: list[Callable[[Page], Awaitable[None]]] = [light, dark]


@pytest.mark.parametrize("themed", THEMED, ids=THEMES)
async def test_the_page_with_documents_and_an_answer_is_accessible(
    folder: Path, serve: Serve, open_page: OpenPage, themed: Callable[[Page], Awaitable[None]]
) -> None:
    """Empty, answered, with refused and changed files, asking before it removes, on a telephone: nothing is found."""
    gateway = await serve(library=folder)
    page = await open_page(gateway.http_url)
    await themed(page)
    await page.wait_for_selector(".document.refused")
    assert await problems(page) == []
    (folder / "note1.md").write_text("# Note 1\n\nEvery release needs three reviewers.\n")
    await ask(page, "How many reviewers does a release need?")
    await turn(page, 1)
    await page.set_input_files("#files", {"name": "empty.md", "mimeType": "", "buffer": b" "})
    await page.wait_for_selector(".upload.failed")
    await page.set_input_files("#files", {"name": "new.md", "mimeType": "", "buffer": b"# New\n\nText.\n"})
    await page.wait_for_selector(".status[data-status=changed]")
    assert await problems(page) == []
    await page.get_by_role("button", name="Remove Note 1", exact=True).click()
    assert await problems(page) == []
    await page.keyboard.press("Escape")
    await page.set_viewport_size({"width": 390, "height": 800})
    assert await problems(page) == []
    await page.click("#show-side")
    await expect(page.locator("#hide-side")).to_be_focused()
    assert await problems(page) == []


@pytest.mark.parametrize("themed", THEMED, ids=THEMES)
async def test_the_page_that_waits_or_cannot_go_on_is_accessible(
    serve: Serve, open_page: OpenPage, themed: Callable[[Page], Awaitable[None]]
) -> None:
    """While it looks something up, after it was stopped, without a gateway: nothing is found."""
    gateway = await serve(WaitingHandbook(), timeout_seconds=30)
    page = await open_page(gateway.http_url)
    await themed(page)
    await ask(page, "How many reviewers?")
    await page.wait_for_selector(".lookup[data-status=running]")
    assert await problems(page) == []
    await page.keyboard.press("Escape")
    await turn(page, 1, "interrupted")
    await gateway.aclose()
    await page.wait_for_selector("#away:not([hidden])")
    assert await problems(page) == []


async def test_the_dialog_for_a_token_is_accessible(serve: Serve, open_page: OpenPage) -> None:
    """Its field has a name, and its colours can be read."""
    gateway = await serve(WaitingHandbook(), token_hashes=f"ann:{'0' * 64}")
    page = await open_page(gateway.http_url, connected=False)
    await page.wait_for_selector("#sign-in[open]")
    for themed in THEMED:
        await themed(page)
        assert await problems(page) == []


async def test_a_screen_reader_hears_an_answer_once_and_whole(folder: Path, serve: Serve, open_page: OpenPage) -> None:
    """Not each streamed word, not while it is read aloud; what is announced holds the answer and its sources."""
    gateway = await serve(library=folder)
    page = await open_page(gateway.http_url)
    await page.evaluate(
        "window.heard = []; new MutationObserver(() => heard.push(document.querySelector('#spoken').textContent))"
        ".observe(document.querySelector('#spoken'), {childList: true})"
    )
    await ask(page, "How many reviewers does a release need?")
    await turn(page, 1)
    heard = await page.evaluate("heard")
    assert len(heard) == 1
    assert heard[0].startswith(await page.inner_text(".answer"))
    assert "Sources: " in heard[0]
    assert await page.get_attribute("#turns", "aria-live") == "off"
    await page.click("label.switch")
    await ask(page, "How many reviewers, aloud?")
    await turn(page, 2)
    assert await page.evaluate("heard.length") == 1


async def test_focus_stays_where_a_person_works(folder: Path, serve: Serve, open_page: OpenPage) -> None:
    """After a removal it is on the next document; an import elsewhere in the list does not take it away."""
    gateway = await serve(library=folder)
    page = await open_page(gateway.http_url)
    await page.get_by_role("button", name="Remove Note 10", exact=True).click()
    await page.click("#confirm button[value=remove]")
    await expect(page.get_by_role("button", name="Remove Note 11", exact=True)).to_be_focused()
    files = page.locator("#files")
    await files.set_input_files({"name": "a.md", "mimeType": "", "buffer": b"# A first one\n\nText.\n"})
    await page.wait_for_selector(".upload.finished")
    await expect(page.get_by_role("button", name="Remove Note 11", exact=True)).to_be_focused()
