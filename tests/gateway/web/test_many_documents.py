"""The panel with many documents and many uploads: some at a time, filtered, several at once, each can be stopped."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio
from playwright.async_api import FilePayload, Page, Route, expect

from gateway.application import GatewayApplication, create_gateway_application
from gateway.settings import GatewaySettings
from local_library import DomainLibrary
from tests.gateway.web.conftest import OpenPage

MANY = 1_000


@pytest.fixture(scope="module")
def stocked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of a library with a thousand short notes."""
    folder = tmp_path_factory.mktemp("many")
    notes = ((f"note {number:04}.txt", f"Note {number:04}\n\nText {number}.\n".encode()) for number in range(MANY))
    with DomainLibrary(folder / "store") as library:
        library.import_many(notes)
    return folder / "store"


@pytest_asyncio.fixture
async def many(stocked: Path) -> AsyncIterator[GatewayApplication]:
    with DomainLibrary(stocked) as library:
        async with create_gateway_application(library=library, settings=GatewaySettings()) as gateway:
            yield gateway


async def test_a_thousand_documents_are_shown_some_at_a_time(many: GatewayApplication, open_page: OpenPage) -> None:
    """Fifty at first, more on demand, in the order of their titles; the count tells how many there are."""
    page = await open_page(many.http_url)
    rows = page.locator("#documents .document")
    await expect(rows).to_have_count(50)
    await expect(page.locator("#library-count")).to_have_text(str(MANY))
    await page.click("#more")
    await expect(rows).to_have_count(100)
    await expect(page.locator("#more")).to_have_text(f"Show 50 more of {MANY}")
    titles = await page.locator("#documents .title").all_inner_texts()
    assert titles == sorted(set(titles)), "none twice, none left out"


async def test_a_filter_finds_one_of_a_thousand(many: GatewayApplication, open_page: OpenPage) -> None:
    """By words of title or file name, in any order; what is not there is said, and clearing it shows all again."""
    page = await open_page(many.http_url)
    rows = page.locator("#documents .document")
    await expect(rows).to_have_count(50)
    await page.fill("#filter", "0777 note")
    await expect(rows).to_have_count(1)
    await expect(rows).to_contain_text("0777")
    await expect(page.locator("#library-count")).to_have_text(f"1 of {MANY}")
    await page.fill("#filter", "kettle")
    await expect(rows).to_have_count(0)
    await expect(page.locator("#library-note")).to_contain_text("No document is called “kettle”")
    await page.fill("#filter", "")
    await expect(rows).to_have_count(50)
    await expect(page.locator("#filter")).to_be_focused()


async def test_an_answer_that_comes_late_replaces_no_newer_one(many: GatewayApplication, open_page: OpenPage) -> None:
    """What was filtered for before is not shown in place of what is filtered for now."""
    page = await open_page(many.http_url)
    asked, go = asyncio.Event(), asyncio.Event()

    async def hold(route: Route) -> None:
        asked.set()
        await go.wait()
        await route.continue_()

    await page.route(lambda url: "words=0123" in url, hold)
    rows = page.locator("#documents .document")
    await page.fill("#filter", "0123")
    async with asyncio.timeout(20):
        await asked.wait()
    await page.fill("#filter", "0777")
    await expect(rows).to_have_count(1)
    async with page.expect_response(lambda response: "words=0123" in response.url) as answered:
        go.set()
    await (await answered.value).finished()
    await page.evaluate("new Promise((done) => setTimeout(done))")
    await expect(rows).to_have_count(1)
    await expect(rows).to_contain_text("0777")


@pytest_asyncio.fixture
async def page(tmp_path: Path, open_page: OpenPage) -> AsyncIterator[Page]:
    """A page over a folder with one good file and one that cannot be read."""
    documents = tmp_path / "documents"
    documents.mkdir()
    (documents / "travel.md").write_text("# Travel policy\n\nBook trains.\n")
    (documents / "broken.md").write_text("")
    with DomainLibrary.for_folder(documents, store=tmp_path / "store") as library:
        async with create_gateway_application(library=library, settings=GatewaySettings()) as gateway:
            yield await open_page(gateway.http_url)


class HeldUploads:
    """Holds what the page sends until it is let go; knows what has been asked for."""

    def __init__(self) -> None:
        self.asked: asyncio.Queue[str] = asyncio.Queue()
        self.go = asyncio.Event()

    async def hold(self, page: Page) -> None:
        await page.route(lambda url: "documents?name=" in url, self._route)

    async def _route(self, route: Route) -> None:
        self.asked.put_nowait(route.request.url.rpartition("=")[2])
        await self.go.wait()
        await route.continue_()


def files(*names: str) -> list[FilePayload]:
    return [{"name": name, "mimeType": "", "buffer": f"# About {name}\n\nText.\n".encode()} for name in names]


async def test_several_files_are_sent_at_once_and_the_end_is_said_once(page: Page) -> None:
    """Three at a time, each with its own line; when all have ended, one sentence says how it went."""
    held = HeldUploads()
    await held.hold(page)
    empty: FilePayload = {"name": "empty.md", "mimeType": "", "buffer": b" "}
    sent = [*files("a.md", "b.md", "c.md", "d.md"), empty]
    await page.set_input_files("#files", sent)
    async with asyncio.timeout(20):
        assert {await held.asked.get() for _ in range(3)} == {"a.md", "b.md", "c.md"}
    await expect(page.locator(".upload.under-way")).to_have_count(5)
    await expect(page.locator(".upload", has_text="d.md")).to_contain_text("waiting")
    await expect(page.locator("#library-note")).to_have_text("Importing 5 files.")
    assert held.asked.empty()
    held.go.set()
    await expect(page.locator("#library-note")).to_have_text("4 files imported, 1 file could not be imported.")
    await expect(page.locator(".upload.failed")).to_contain_text("is empty")
    await expect(page.locator("#documents .document")).to_have_count(5)


async def test_an_upload_is_cancelled_while_it_waits_and_while_it_is_sent(page: Page) -> None:
    """Both say so, neither becomes a document, and the others go on."""
    held = HeldUploads()
    await held.hold(page)
    await page.set_input_files("#files", files("a.md", "b.md", "c.md", "d.md"))
    async with asyncio.timeout(20):
        for _ in range(3):
            await held.asked.get()
    await page.get_by_role("button", name="Cancel d.md").click()
    await page.get_by_role("button", name="Cancel a.md").click()
    await expect(page.locator(".upload.cancelled")).to_have_count(2)
    await expect(page.get_by_role("button", name="Dismiss a.md")).to_be_focused()
    held.go.set()
    await expect(page.locator("#library-note")).to_have_text("2 files imported, 2 files cancelled.")
    titles = await page.locator("#documents .title").all_inner_texts()
    assert titles == ["About b.md", "About c.md", "Travel policy"]


async def test_a_refused_file_says_why_and_is_tried_again_or_dismissed(page: Page) -> None:
    """In vain it stays with its reason; mended it becomes a document; dismissed it is gone from the list."""
    refused = page.locator("#refused .document")
    await expect(refused).to_contain_text("Not imported: it is empty.")
    await page.get_by_role("button", name="Try again broken.md").click()
    await expect(page.locator("#library-note")).to_contain_text("broken.md: is empty")
    await page.get_by_role("button", name="Dismiss broken.md").click()
    await expect(refused).to_have_count(0)
    await expect(page.locator("#library-note")).to_have_text("Dismissed broken.md.")


async def test_a_document_whose_file_was_changed_is_read_again(page: Page, tmp_path: Path) -> None:
    """Its row says that the answers are of an older text; one press reads the file again."""
    (tmp_path / "documents" / "travel.md").write_text("# Travel rules\n\nBook trains, always.\n")
    await page.reload()
    row = page.locator("#documents .document")
    await expect(row).to_contain_text("Changed on disk")
    await page.get_by_role("button", name="Read again Travel policy").click()
    await expect(row).to_contain_text("Travel rules")
    await expect(row).to_contain_text("Ready")
    await expect(row).to_contain_text("version 2")


async def test_what_another_client_sends_is_listed_until_it_is_there(page: Page) -> None:
    """The row tells that it is being imported; then the document takes its place without a reload."""
    go_on = asyncio.Event()

    async def slowly() -> AsyncIterator[bytes]:
        yield b"# Kettle manual\n\n"
        await go_on.wait()
        yield b"Rinse it.\n"

    headers = {"Content-Type": "application/octet-stream"}
    async with aiohttp.ClientSession() as http:
        address = f"{page.url}v1/library/documents?name=kettle.md"
        sending = asyncio.ensure_future(http.post(address, data=slowly(), headers=headers).__aenter__())
        async with asyncio.timeout(20):
            while not (await (await http.get(f"{page.url}v1/library/documents")).json())["importing"]:
                pass
        await page.reload()
        await expect(page.locator("#coming .document")).to_contain_text("kettle.md")
        go_on.set()
        await sending
        await expect(page.locator("#documents", has_text="Kettle manual")).to_be_visible()
        await expect(page.locator("#coming .document")).to_have_count(0)
