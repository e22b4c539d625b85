"""What ``/v1/library`` tells of many documents: some at a time, how each stands, what was refused, what is coming."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio

from gateway.application import GatewayApplication, create_gateway_application
from gateway.http.access import Access
from gateway.http.library_endpoints import LibraryEndpoints
from gateway.owners import FailureLimit, Owners
from gateway.settings import GatewaySettings
from local_library import DomainLibrary
from tests.gateway.http.test_library_endpoints import served
from tests.local_library.conftest import pdf

DOCUMENTS = "/v1/library/documents"
QUARANTINE = "/v1/library/quarantine"
BINARY = {"Content-Type": "application/octet-stream"}

__all__ = ["pdf"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two notes and a file that cannot be read."""
    documents = tmp_path / "documents"
    documents.mkdir()
    (documents / "kettle.md").write_text("# Kettle manual\n\nDescale it in March.\n")
    (documents / "travel.md").write_text("# Travel policy\n\nBook trains.\n")
    (documents / "broken.md").write_text("")
    return documents


@pytest_asyncio.fixture
async def gateway(tmp_path: Path, folder: Path) -> AsyncIterator[GatewayApplication]:
    """A gateway over the folder."""
    with DomainLibrary.for_folder(folder, store=tmp_path / "store") as library:
        async with create_gateway_application(library=library, settings=GatewaySettings()) as application:
            yield application


@pytest_asyncio.fixture
async def http(gateway: GatewayApplication) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(gateway.http_url) as session:
        yield session


async def listed(http: aiohttp.ClientSession, **part: Any) -> dict[str, Any]:
    async with http.get(DOCUMENTS, params=part) as response:
        assert response.status == 200
        body: dict[str, Any] = await response.json()
        return body


async def asked(http: aiohttp.ClientSession, method: str, path: str) -> tuple[int, dict[str, Any]]:
    async with http.request(method, path) as response:
        return response.status, await response.json() if response.content_type == "application/json" else {}


async def test_a_part_of_the_list_says_how_many_there_are(http: aiohttp.ClientSession) -> None:
    """By title, from an offset, by words; the whole list where nobody asks for less."""
    whole = await listed(http)
    assert [one["title"] for one in whole["documents"]] == ["Kettle manual", "Travel policy"]
    second = await listed(http, offset=1, limit=1)
    assert ([one["title"] for one in second["documents"]], second["matching"], second["total"]) == (
        ["Travel policy"],
        2,
        2,
    )
    found = await listed(http, words="kettle MANUAL", limit=10)
    assert ([one["name"] for one in found["documents"]], found["matching"], found["total"]) == (["kettle.md"], 1, 2)


async def test_an_offset_without_a_limit_is_honoured(http: aiohttp.ClientSession) -> None:
    """As many as can be asked for follow."""
    rest = await listed(http, offset=1)
    assert ([one["title"] for one in rest["documents"]], rest["matching"]) == (["Travel policy"], 2)


@pytest.mark.parametrize("part", [{"limit": "x"}, {"limit": 201}, {"offset": -1}, {"limit": -1}, {"limit": 0}])
async def test_a_part_that_makes_no_sense_is_refused(http: aiohttp.ClientSession, part: dict[str, Any]) -> None:
    """One sentence says what can be asked for."""
    async with http.get(DOCUMENTS, params=part) as response:
        assert response.status == 400
        assert (await response.json())["error"]["code"] == "library_part"


async def test_pages_are_counted_and_named(http: aiohttp.ClientSession, pdf: Callable[..., bytes]) -> None:
    """A PDF has pages; a note has none, and no word for them."""
    content = pdf(["Descale it in March.", "At 1.5 bar."])
    async with http.post(DOCUMENTS, params={"name": "manual.pdf"}, data=content, headers=BINARY) as response:
        document = (await response.json())["document"]
    assert (document["pages"], document["pageKind"], document["status"]) == (2, "page", "ready")
    note = (await listed(http, words="travel"))["documents"][0]
    assert (note["pages"], note["pageKind"]) == (0, "")


async def test_a_changed_file_says_so_and_is_read_again(http: aiohttp.ClientSession, folder: Path) -> None:
    """The list tells that the answers are of an older text; reading it again mends that."""
    (folder / "kettle.md").write_text("# Kettle manual\n\nDescale it in June.\n")
    kettle = (await listed(http))["documents"][0]
    assert (kettle["status"], "older text" in kettle["statusSentence"]) == ("changed", True)
    status, body = await asked(http, "POST", f"{DOCUMENTS}/{kettle['id']}/reimport")
    assert (status, body["status"], body["document"]["status"]) == (200, "updated", "ready")
    (folder / "kettle.md").unlink()
    assert (await listed(http))["documents"][0]["status"] == "missing"
    status, body = await asked(http, "POST", f"{DOCUMENTS}/{kettle['id']}/reimport")
    assert (status, body["error"]["code"]) == (422, "library_document_rejected")
    assert str(folder) not in body["error"]["message"]


async def test_a_refused_file_is_listed_with_its_reason_and_tried_again(
    http: aiohttp.ClientSession, folder: Path
) -> None:
    """In vain it keeps its place with a sentence; mended, it becomes a document."""
    refused = (await listed(http))["quarantined"]
    assert [(one["name"], one["status"], one["code"]) for one in refused] == [("broken.md", "quarantined", "empty")]
    assert refused[0]["reason"] == "is empty. Import a file with text in it."
    assert str(folder) not in str(refused)
    retry = f"{QUARANTINE}/{refused[0]['id']}/retry"
    assert (await asked(http, "POST", retry))[0] == 422
    (folder / "broken.md").write_text("# Broken no more\n\nText.\n")
    status, body = await asked(http, "POST", retry)
    assert (status, body["document"]["title"]) == (201, "Broken no more")
    assert (await listed(http))["quarantined"] == []
    assert (await asked(http, "POST", retry))[0] == 404


async def test_a_refused_file_is_dismissed(http: aiohttp.ClientSession, folder: Path) -> None:
    """It is listed no more, and the file itself stays."""
    file = (await listed(http))["quarantined"][0]
    assert (await asked(http, "DELETE", f"{QUARANTINE}/{file['id']}"))[0] == 204
    assert (await listed(http))["quarantined"] == []
    assert (folder / "broken.md").exists()
    assert (await asked(http, "DELETE", f"{QUARANTINE}/{file['id']}"))[0] == 404


async def test_whatever_changes_the_documents_is_told(tmp_path: Path, folder: Path) -> None:
    """Answers that were kept for a moment are of no use after an upload, another reading, a retry or a removal."""
    changed: list[str] = []
    access = Access(Owners(), FailureLimit(5), ())
    with DomainLibrary.for_folder(folder, store=tmp_path / "store") as library:
        endpoints = LibraryEndpoints(library, tmp_path / "uploads", access=access, changed=changed.append)
        async with served(endpoints) as http:
            listing = await listed(http)
            kettle, broken = listing["documents"][0]["id"], listing["quarantined"][0]["id"]
            (folder / "broken.md").write_text("# Broken no more\n\nText.\n")
            async with http.post(DOCUMENTS, params={"name": "new.md"}, data=b"# New\n\nText.\n", headers=BINARY):
                assert changed == ["personal"]
            for method, path in (
                ("POST", f"{DOCUMENTS}/{kettle}/reimport"),
                ("POST", f"{QUARANTINE}/{broken}/retry"),
                ("DELETE", f"{DOCUMENTS}/{kettle}"),
            ):
                changed.clear()
                await asked(http, method, path)
                assert changed == ["personal"], path


async def test_a_foreign_page_can_neither_retry_nor_dismiss(http: aiohttp.ClientSession) -> None:
    """What changes the library is refused to other origins, whatever the method."""
    foreign = {"Origin": "https://evil.example"}
    file = (await listed(http))["quarantined"][0]
    async with http.post(f"{QUARANTINE}/{file['id']}/retry", headers=foreign) as response:
        assert response.status == 403
    async with http.delete(f"{QUARANTINE}/{file['id']}", headers=foreign) as response:
        assert response.status == 403
    assert (await listed(http))["quarantined"] == [file]


class Sent:
    """A body that is sent up to its middle, and on when it is told to."""

    def __init__(self) -> None:
        self.go_on = asyncio.Event()

    async def pieces(self) -> AsyncIterator[bytes]:
        yield b"# Kettle of Ann\n\n"
        await self.go_on.wait()
        yield b"Rinse it twice.\n"


async def until_listed(http: aiohttp.ClientSession, importing: int) -> list[dict[str, Any]]:
    """What is being imported, once it is so many; the server's state has no event, so it is asked again."""
    async with asyncio.timeout(20):
        while True:
            found: list[dict[str, Any]] = (await listed(http))["importing"]
            if len(found) == importing:
                return found


async def test_a_file_on_its_way_is_listed_as_being_imported(http: aiohttp.ClientSession) -> None:
    """Another client of the same owner sees it come; once it is there it is a document."""
    sent = Sent()
    post = http.post(DOCUMENTS, params={"name": "ann.md"}, data=sent.pieces(), headers=BINARY)
    sending = asyncio.ensure_future(post.__aenter__())
    (coming,) = await until_listed(http, 1)
    assert (coming["name"], coming["status"], coming["phase"], coming["bytes"]) == (
        "ann.md",
        "importing",
        "receiving",
        None,
    )
    sent.go_on.set()
    async with asyncio.timeout(20):
        assert (await sending).status == 201
    assert await until_listed(http, 0) == []
    assert "Kettle of Ann" in [one["title"] for one in (await listed(http))["documents"]]


async def test_an_upload_that_is_given_up_leaves_nothing(
    gateway: GatewayApplication, http: aiohttp.ClientSession, tmp_path: Path
) -> None:
    """Whoever cancels in the middle finds neither a document nor a piece of the file."""
    sent = Sent()
    headers = {**BINARY, "Content-Length": "1000"}
    async with aiohttp.ClientSession(gateway.http_url) as other:
        sending = asyncio.ensure_future(
            other.post(DOCUMENTS, params={"name": "ann.md"}, data=sent.pieces(), headers=headers).__aenter__()
        )
        await until_listed(http, 1)
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)
    await until_listed(http, 0)
    assert len((await listed(http))["documents"]) == 2
    assert not [path for path in (tmp_path / "store" / "uploads").rglob("*") if path.is_file()]
