"""Reading, verifying and indexing again over HTTP: an owner's documents only, bounded, and no path of this machine."""

from pathlib import Path
from urllib.parse import quote

import aiohttp
import pytest_asyncio

from gateway.application import GatewayApplication
from tests.gateway.http.test_library_endpoints import DOCUMENTS, as_owner, gateway, http, upload

__all__ = ["gateway", "http"]
MANUAL = b"# Kettle manual\n\nKeep it dry.\n\n## Care\n\nDescale the kettle every sixty days.\n"


@pytest_asyncio.fixture
async def document(http: aiohttp.ClientSession) -> str:
    """The path of Ann's manual."""
    _, body = await upload(http, "ann", "kettle.md", MANUAL)
    return f"{DOCUMENTS}/{body['document']['id']}"


async def test_a_section_is_read_by_the_locator_of_its_heading(
    http: aiohttp.ClientSession,
    document: str,
    tmp_path: Path,
) -> None:
    """What `headings` tells of a place reads it; without a place the whole text comes."""
    async with http.get(document, headers=as_owner("ann")) as response:
        care = next(one for one in (await response.json())["headings"] if one["text"] == "Care")
    async with http.get(f"{document}/text?locator={quote(care['locator'])}", headers=as_owner("ann")) as response:
        section = await response.json()
    async with http.get(f"{document}/text", headers=as_owner("ann")) as response:
        whole = await response.json()
    assert "sixty days" in section["text"]
    assert "Keep it dry" not in section["text"]
    assert "Keep it dry" in whole["text"]
    assert (whole["title"], whole["truncated"]) == ("Kettle manual", False)
    assert str(tmp_path) not in str(section) + str(whole)


async def test_another_owner_and_another_place_are_not_found(
    http: aiohttp.ClientSession,
    document: str,
    tmp_path: Path,
) -> None:
    """Neither Ben nor a locator that leads elsewhere gets a word, or learns where files lie."""
    for owner, place in (("ben", ""), ("ann", "#Nowhere"), ("ann", "/../other.md")):
        async with http.get(f"{document}/text?locator={quote(place)}", headers=as_owner(owner)) as response:
            assert response.status == 404
            assert str(tmp_path) not in await response.text()


async def test_an_index_made_anew_answers_as_before(
    http: aiohttp.ClientSession,
    document: str,
    gateway: GatewayApplication,
) -> None:
    """Verification finds nothing wrong before or after; both need a token."""
    for path, status in (("verify", 200), ("rebuild-index", 204), ("verify", 200)):
        async with http.post(f"/v1/library/{path}", headers=as_owner("ann")) as response:
            assert response.status == status
            if status == 200:
                assert await response.json() == {"problems": []}
        async with http.post(f"/v1/library/{path}") as refused:
            assert refused.status == 401
