"""``/v1/library`` over real HTTP: whose documents, which files, and what a refusal says."""

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from aiohttp import web

from gateway.application import GatewayApplication, create_gateway_application
from gateway.http.access import Access
from gateway.http.library_endpoints import LibraryEndpoints
from gateway.owners import FailureLimit, Owners
from gateway.settings import GatewaySettings
from local_library import DomainLibrary

TOKENS = {"ann": "ep_ann", "ben": "ep_ben"}
KETTLE = b"# Kettle manual\n\nDescale the kettle every sixty days.\n"
DOCUMENTS = "/v1/library/documents"
BINARY = {"Content-Type": "application/octet-stream"}


def as_owner(owner: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {TOKENS[owner]}"}


@pytest_asyncio.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[GatewayApplication]:
    """A gateway over an empty library, with a token for Ann and one for Ben."""
    hashes = ",".join(f"{owner}:{hashlib.sha256(token.encode()).hexdigest()}" for owner, token in TOKENS.items())
    settings = GatewaySettings(token_hashes=hashes)
    with DomainLibrary(tmp_path / "store") as library:
        async with create_gateway_application(library=library, settings=settings) as application:
            yield application


@pytest_asyncio.fixture
async def http(gateway: GatewayApplication) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(gateway.http_url) as session:
        yield session


async def upload(
    http: aiohttp.ClientSession, owner: str, name: str, content: Any = KETTLE, **headers: str
) -> tuple[int, dict[str, Any]]:
    sent = {**as_owner(owner), **BINARY, **headers}
    async with http.post(DOCUMENTS, params={"name": name}, data=content, headers=sent) as response:
        return response.status, await response.json()


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


async def titles(http: aiohttp.ClientSession, owner: str) -> list[str]:
    async with http.get(DOCUMENTS, headers=as_owner(owner)) as response:
        return [document["title"] for document in (await response.json())["documents"]]


async def test_an_upload_belongs_to_the_owner_of_the_token_and_to_nobody_else(http: aiohttp.ClientSession) -> None:
    """Ben neither sees, shows nor removes what Ann uploaded; for him it does not exist."""
    status, body = await upload(http, "ann", "kettle.md")
    assert (status, body["status"], body["document"]["uploaded"]) == (201, "added", True)
    address = f"{DOCUMENTS}/{body['document']['id']}"
    assert await titles(http, "ann") == ["Kettle manual"]
    assert await titles(http, "ben") == []
    for method in ("GET", "DELETE"):
        async with http.request(method, address, headers=as_owner("ben")) as response:
            assert response.status == 404
            assert (await response.json())["error"]["code"] == "library_document_not_found"
    assert await titles(http, "ann") == ["Kettle manual"]


async def test_without_a_token_nothing_is_told(http: aiohttp.ClientSession) -> None:
    """No method of the library answers a stranger, nor names an owner given in a request."""
    for method, path in (("GET", DOCUMENTS), ("POST", DOCUMENTS), ("DELETE", f"{DOCUMENTS}/x")):
        async with http.request(method, path, params={"owner": "ann", "owner_id": "ann"}) as response:
            assert response.status == 401


async def test_the_same_name_again_is_a_new_version_and_the_same_bytes_are_unchanged(
    http: aiohttp.ClientSession,
) -> None:
    """A name stands for one document of an owner, whatever its content was before."""
    await upload(http, "ann", "kettle.md")
    _, again = await upload(http, "ann", "kettle.md")
    _, newer = await upload(http, "ann", "kettle.md", KETTLE + b"\nRinse it twice.\n")
    assert (again["status"], newer["status"], newer["document"]["version"]) == ("unchanged", "updated", 2)
    assert len(await titles(http, "ann")) == 1


@pytest.mark.parametrize("name", ["", "../kettle.md", "a/b.md", "..", ".hidden.md", "a\\b.md", "a\n.md", "x" * 300])
async def test_a_name_that_is_more_than_a_name_is_refused(
    http: aiohttp.ClientSession, tmp_path: Path, name: str
) -> None:
    """Nothing is written outside the folder of uploads, nor anywhere else."""
    status, body = await upload(http, "ann", name)
    assert (status, body["error"]["code"]) == (400, "upload_name")
    assert not files_in(tmp_path / "store" / "uploads")
    assert not (tmp_path / "store" / "kettle.md").exists()


async def test_a_form_of_a_foreign_page_cannot_upload(http: aiohttp.ClientSession) -> None:
    """A foreign origin is refused, and so is any type that a browser sends without asking first."""
    refused = {**as_owner("ann"), **BINARY, "Origin": "https://evil.example"}
    async with http.post(DOCUMENTS, params={"name": "kettle.md"}, data=KETTLE, headers=refused) as response:
        assert response.status == 403
    status, body = await upload(http, "ann", "kettle.md", **{"Content-Type": "text/plain"})
    assert (status, body["error"]["code"]) == (415, "upload_type")
    assert await titles(http, "ann") == []


async def test_a_stream_that_exceeds_the_limit_is_cut_off_and_leaves_nothing(tmp_path: Path) -> None:
    """The limit holds for a body of unknown length, too; what had arrived is gone."""
    access = Access(Owners(), FailureLimit(5), ())
    with DomainLibrary(tmp_path / "store") as library:
        endpoints = LibraryEndpoints(library, tmp_path / "uploads", access=access, max_upload_bytes=100_000)
        async with served(endpoints) as http:

            async def pieces() -> AsyncIterator[bytes]:
                for _ in range(20):
                    yield b"word " * 2000

            for content in (pieces(), b"x" * 200_000):
                async with http.post(DOCUMENTS, params={"name": "a.txt"}, data=content, headers=BINARY) as response:
                    assert response.status == 413
                    assert (await response.json())["error"]["code"] == "upload_too_large"
        assert not files_in(tmp_path / "uploads")
        assert library.list(owner_id="personal") == ()


@asynccontextmanager
async def served(endpoints: LibraryEndpoints) -> AsyncIterator[aiohttp.ClientSession]:
    """These endpoints alone, on a port of their own."""
    application = web.Application()
    endpoints.add_to(application.router)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    async with aiohttp.ClientSession(f"http://127.0.0.1:{runner.addresses[0][1]}") as session:
        yield session
    await runner.cleanup()


async def test_a_refused_new_version_leaves_the_old_one_as_it_was(http: aiohttp.ClientSession, tmp_path: Path) -> None:
    """An empty file under a known name is refused; the document and its file are still there."""
    await upload(http, "ann", "kettle.md")
    status, body = await upload(http, "ann", "kettle.md", b"  ")
    assert (status, body["error"]["code"]) == (422, "library_document_rejected")
    assert str(tmp_path) not in body["error"]["message"]
    assert await titles(http, "ann") == ["Kettle manual"]
    kept = files_in(tmp_path / "store" / "uploads")
    assert [(path.name, path.read_bytes()) for path in kept] == [("kettle.md", KETTLE)]


async def test_removing_erases_the_uploaded_file_as_well(http: aiohttp.ClientSession, tmp_path: Path) -> None:
    """After a removal neither the list nor the disk of the gateway holds what was uploaded."""
    _, body = await upload(http, "ann", "kettle.md")
    async with http.delete(f"{DOCUMENTS}/{body['document']['id']}", headers=as_owner("ann")) as response:
        assert response.status == 204
    assert await titles(http, "ann") == []
    assert not files_in(tmp_path / "store" / "uploads")


async def test_one_document_is_shown_with_its_headings(http: aiohttp.ClientSession, tmp_path: Path) -> None:
    """Headings come with level and locator; no answer carries a path of the gateway's machine."""
    _, body = await upload(http, "ann", "kettle.md", KETTLE + b"\n## Warranty\n\nTwo years.\n")
    async with http.get(f"{DOCUMENTS}/{body['document']['id']}", headers=as_owner("ann")) as response:
        shown = await response.json()
    assert "Warranty" in [heading["text"] for heading in shown["headings"]]
    assert shown["name"] == "kettle.md"
    assert str(tmp_path) not in str(shown)
