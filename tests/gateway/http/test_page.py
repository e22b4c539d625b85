"""The page as it is served: its types, its policy, and that a browser never keeps an old one."""

from collections.abc import AsyncIterator

import aiohttp
import pytest
import pytest_asyncio

from gateway.application import create_gateway_application
from gateway.settings import GatewaySettings


@pytest_asyncio.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    """A client of a gateway without any documents."""
    settings = GatewaySettings()
    async with (
        create_gateway_application(settings=settings) as gateway,
        aiohttp.ClientSession(gateway.http_url) as session,
    ):
        yield session


@pytest.mark.parametrize(
    ("path", "content_type"),
    [
        ("/", "text/html"),
        ("/app.js", "text/javascript"),
        ("/audio/capture-worklet.js", "text/javascript"),
        ("/style.css", "text/css"),
        ("/icon.svg", "image/svg+xml"),
        ("/icon-192.png", "image/png"),
        ("/manifest.webmanifest", "application/manifest+json"),
        ("/service-worker.js", "text/javascript"),
    ],
)
async def test_every_file_has_its_type_and_a_policy_that_allows_this_host_alone(
    http: aiohttp.ClientSession, path: str, content_type: str
) -> None:
    """Scripts, styles and connections come from the gateway only, and nothing may frame the page."""
    async with http.get(path) as response:
        assert response.status == 200
        assert response.content_type == content_type
        policy = response.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert response.headers["X-Content-Type-Options"] == "nosniff"


async def test_a_file_that_has_not_changed_is_not_sent_again(http: aiohttp.ClientSession) -> None:
    """The browser asks each time and is answered with 304, so that a new gateway never meets an old page."""
    async with http.get("/app.js") as first:
        tag = first.headers["ETag"]
        assert first.headers["Cache-Control"] == "no-cache"
    async with http.get("/app.js", headers={"If-None-Match": tag}) as second:
        assert second.status == 304


@pytest.mark.parametrize("path", ["/../settings.py", "/%2e%2e/settings.py", "/app.py", "/audio/", "/index.html.bak"])
async def test_nothing_but_the_page_is_served(http: aiohttp.ClientSession, path: str) -> None:
    """No file of the gateway itself can be fetched."""
    async with http.get(path) as response:
        assert response.status == 404


async def test_without_documents_there_is_no_library_to_manage(http: aiohttp.ClientSession) -> None:
    """A gateway without a library has no endpoint for one."""
    async with http.get("/v1/library/documents") as response:
        assert response.status == 404
