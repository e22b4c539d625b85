"""One scenario over every client: the same questions, documents and interruptions lead to the same everywhere."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from gateway.application import GatewayApplication
from gateway.cli.chat import address_of
from gateway.cli.chat_app import ChatApp
from gateway.cli.desktop_window import browser_window
from gateway.settings import GatewaySettings
from knowledge_provider import KnowledgeResult, RetrievalContext, RetrievalRequest
from local_library import DomainLibrary, LocalDomainKnowledgeProvider
from tests.gateway.cli.attached import attached
from tests.gateway.cli.virtual_screen import virtual_screen
from tests.gateway.clients.clients import Client, PageClient, SdkClient, TerminalClient
from tests.gateway.web.browser import installed

SCENARIO = json.loads((Path(__file__).parent / "scenario.json").read_text(encoding="utf-8"))
RELEASES = "# Release handbook\n\n## Approvals\n\nEvery release needs two reviewers.\n"


class PublishedLibrary(LocalDomainKnowledgeProvider):
    """The local library of somebody who publishes the release handbook, and whose disk is sometimes slow."""

    begun: asyncio.Event
    go: asyncio.Event

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> list[KnowledgeResult]:
        if "slowly" in request.query:
            self.begun.set()
            await self.go.wait()
        return [_published(result) for result in await super().retrieve(request, context)]


def _published(result: KnowledgeResult) -> KnowledgeResult:
    if result.source.title != "Release handbook":
        return result
    source = result.source.model_copy(update={"uri": "https://docs.example.com/releases"})
    return result.model_copy(update={"source": source})


class Stage:
    """A gateway over a library, which can be started again on the same port over the same documents."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = 0
        self.begun = asyncio.Event()
        self._stack = AsyncExitStack()
        self.gateway: GatewayApplication

    async def start(self) -> None:
        library = self._stack.enter_context(DomainLibrary(self.folder / "store"))
        document = self.folder / "release-handbook.md"
        await asyncio.to_thread(document.write_text, RELEASES)
        await asyncio.to_thread(library.import_file, document)
        provider = PublishedLibrary(library, view="passages")
        provider.begun, provider.go = self.begun, asyncio.Event()
        settings = GatewaySettings(port=self.port, drain_seconds=0.0, timeout_seconds=20.0)
        application = GatewayApplication(provider, settings, library=library)
        self.gateway = await self._stack.enter_async_context(application)
        self.port = self.gateway.port

    async def restart(self) -> None:
        await self.aclose()
        await self.start()

    async def aclose(self) -> None:
        await self._stack.aclose()


@asynccontextmanager
async def sdk(stage: Stage) -> AsyncIterator[Client]:
    client = SdkClient(stage.gateway.url, stage.gateway.http_url)
    try:
        yield client
    finally:
        await client.aclose()


@asynccontextmanager
async def page(stage: Stage) -> AsyncIterator[Client]:
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = await playwright.chromium.launch(executable_path=installed("chromium"), args=flags)
        opened = await browser.new_page()
        opened.set_default_timeout(30_000)
        await opened.goto(stage.gateway.http_url)
        await opened.wait_for_selector("#state-model:not([hidden])")
        yield PageClient(opened)
        await browser.close()


@asynccontextmanager
async def terminal(stage: Stage) -> AsyncIterator[Client]:
    app = ChatApp(address_of(stage.gateway.http_url, ""))
    async with app.run_test(size=(120, 40)) as pilot:
        client = TerminalClient(app, pilot)
        await client.gateway_is_back()
        yield client


@asynccontextmanager
async def desktop(stage: Stage) -> AsyncIterator[Client]:
    from playwright.async_api import async_playwright

    profile = stage.folder / "profile"
    async with virtual_screen(stage.folder) as display, async_playwright() as playwright:
        flags = [f"--display={display}", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0"]
        window = browser_window(installed("chromium"), profile, flags)
        process = await window(stage.gateway.http_url)
        try:
            yield PageClient(await attached(playwright, profile))
        finally:
            process.terminate()
            await process.wait()


async def play(client: Client, stage: Stage, steps: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Do what the scenario says; returns the steps as the client showed them."""
    shown = []
    for step in steps:
        seen: dict[str, Any] = {}
        match step["do"]:
            case "ask":
                seen = asdict(await client.ask(step["question"]))
            case "interrupt":
                stage.begun.clear()
                seen = asdict(await client.ask(step["question"], stop_when=stage.begun.wait))
            case "upload":
                path = stage.folder / step["name"]
                await asyncio.to_thread(path.write_text, step["text"])
                await client.upload(path)
            case "remove":
                await client.remove(step["title"])
            case "restart":
                await stage.restart()
                await client.gateway_is_back()
        shown.append({**step, **seen})
    return shown


@pytest.mark.parametrize("client", [sdk, page, terminal, desktop], ids=lambda client: client.__name__)
async def test_every_client_shows_the_same_answers_sources_and_states(
    client: Callable[..., Any], tmp_path: Path
) -> None:
    """Ask, interrupt, upload, ask, restart the gateway, remove, ask again: what is seen is what the file says."""
    stage = Stage(tmp_path)
    await stage.start()
    try:
        async with client(stage) as driven, asyncio.timeout(90):
            assert await play(driven, stage, SCENARIO) == SCENARIO
    finally:
        await stage.aclose()
