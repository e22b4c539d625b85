"""The panel of documents: add, ask about it, remove, ask again; an error belongs to its file."""

from pathlib import Path

import pytest
from playwright.async_api import FilePayload, Page

from tests.gateway.web.browser import ask, text_of, turn
from tests.gateway.web.conftest import OpenPage, Serve
from tests.gateway.web.providers import Handbook

KETTLE = "# Kettle manual\n\nDescale the kettle every sixty days with citric acid.\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one document about something else."""
    documents = tmp_path / "documents"
    documents.mkdir()
    (documents / "travel.md").write_text("# Travel policy\n\nBook trains in second class.\n", encoding="utf-8")
    return documents


DROP = """([name, size, text]) => {
  const transfer = new DataTransfer();
  transfer.items.add(new File([text || new Uint8Array(size)], name));
  const how = { dataTransfer: transfer, bubbles: true, cancelable: true };
  document.body.dispatchEvent(new DragEvent("drop", how));
}"""


async def upload(page: Page, name: str, content: bytes) -> None:
    await page.set_input_files("#files", {"name": name, "mimeType": "text/plain", "buffer": content})


async def test_an_uploaded_document_answers_and_a_removed_one_does_not(
    folder: Path, serve: Serve, open_page: OpenPage
) -> None:
    """Upload, ask about it, remove it with a confirmation, ask again: an answer first, no results afterwards."""
    gateway = await serve(library=folder)
    page = await open_page(gateway.http_url)
    await upload(page, "kettle.md", KETTLE.encode())
    await page.wait_for_selector(".upload.finished")
    row = page.locator(".document", has_text="Kettle manual")
    assert "kettle.md" in await row.inner_text()
    assert "1 passage" in await row.inner_text()

    await ask(page, "How often should the kettle be descaled?")
    await turn(page, 1)
    assert "every sixty days" in await text_of(page, 1, "answer")
    assert "kettle.md" in await text_of(page, 1, "sources")

    await row.get_by_role("button", name="Remove Kettle manual").click()
    await page.click("#confirm button[value=remove]")
    await row.wait_for(state="detached")
    await ask(page, "How often should the kettle be descaled?")
    await turn(page, 2)
    assert "Nothing about it" in await text_of(page, 2, "lookups")
    assert not list((gateway_store(folder) / "uploads").rglob("*.md"))


def gateway_store(folder: Path) -> Path:
    return folder.parent / "store"


async def test_a_removal_that_is_not_confirmed_removes_nothing(folder: Path, serve: Serve, open_page: OpenPage) -> None:
    """Keeping it, or Escape, closes the question and leaves the document; focus is not lost."""
    gateway = await serve(library=folder)
    page = await open_page(gateway.http_url)
    await page.click("text=Remove")
    await page.click("#confirm button[value=cancel]")
    await page.click("text=Remove")
    await page.keyboard.press("Escape")
    await page.wait_for_selector("#confirm", state="hidden")
    assert await page.locator(".document").count() == 1
    assert await page.evaluate("document.activeElement.textContent") == "Remove"


async def test_each_unreadable_file_has_its_own_sentence_and_the_others_go_in(
    folder: Path, serve: Serve, open_page: OpenPage
) -> None:
    """Of three files the empty one and the one of an unknown kind are refused, each beside its name."""
    gateway = await serve(library=folder)
    page = await open_page(gateway.http_url)
    files = [("empty.md", b" \n"), ("tune.wav", b"RIFF\x00\x00\x00\x00WAVE"), ("kettle.md", KETTLE.encode())]
    payloads: list[FilePayload] = [{"name": name, "mimeType": "", "buffer": content} for name, content in files]
    await page.set_input_files("#files", payloads)
    await page.wait_for_selector(".upload:nth-child(3).finished")
    texts = await page.locator(".upload").all_inner_texts()
    assert "empty" in texts[0].split("\n", 1)[1]
    assert "the library does not read" in texts[1]
    assert await page.locator(".upload.failed").count() == 2
    assert await page.locator(".document").count() == 2


async def test_dropped_files_are_imported(folder: Path, serve: Serve, open_page: OpenPage) -> None:
    """A file dropped anywhere on the page goes into the library."""
    gateway = await serve(library=folder)
    page = await open_page(gateway.http_url)
    await page.evaluate(DROP, ["kettle.md", 0, KETTLE])
    await page.wait_for_selector(".upload.finished")
    assert await page.locator(".document", has_text="Kettle manual").count() == 1


async def test_a_file_that_is_too_large_is_refused_before_it_is_sent(
    folder: Path, serve: Serve, open_page: OpenPage
) -> None:
    """The page knows the limit from the gateway and says it, without sending the bytes."""
    gateway = await serve(library=folder)
    page = await open_page(gateway.http_url)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.method))
    await page.wait_for_selector(".document")
    await page.evaluate(DROP, ["big.md", 65 * 2**20, ""])
    await page.wait_for_selector(".upload.failed")
    assert "larger than 64 MB" in await page.inner_text(".upload.failed")
    assert "POST" not in requests


async def test_a_gateway_without_a_library_says_where_the_documents_are(serve: Serve, open_page: OpenPage) -> None:
    """With a provider of one's own there is nothing to add or remove here, and the panel says so."""
    gateway = await serve(Handbook())
    page = await open_page(gateway.http_url)
    await page.wait_for_selector("#library[data-mode=absent]")
    assert "managed there" in await page.inner_text("#library-note")
    assert not await page.is_visible("#drop")
    assert "Company handbook" in await page.inner_text("#state-provider")
