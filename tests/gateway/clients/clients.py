"""Four ways to talk to a gateway, each driven as a person or a program would, and what each of them shows."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import openai
from openai.resources.realtime.realtime import AsyncRealtimeConnection
from playwright.async_api import Page
from textual.pilot import Pilot
from textual.widgets import Input, OptionList, Static

from gateway.cli.chat_app import ChatApp
from gateway.cli.chat_widgets import Confirmation, SourceLine, TurnView
from gateway.cli.library_client import LibraryClient


@dataclass
class Seen:
    """What a client shows of one turn."""

    status: str = ""
    ending: str = ""
    answer: str = ""
    sources: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)


class Client(Protocol):
    """What the scenario asks of every client. ``stop_when`` waits until the answer may be interrupted."""

    async def ask(self, question: str, stop_when: Callable[[], Awaitable[Any]] | None = None) -> Seen: ...

    async def upload(self, path: Path) -> None: ...

    async def remove(self, title: str) -> None: ...

    async def gateway_is_back(self) -> None: ...


class SdkClient:
    """A program with the openai SDK. It brings no library panel, so it manages documents over HTTP."""

    def __init__(self, url: str, http_url: str) -> None:
        address = url.removesuffix("/realtime")
        self._sdk = openai.AsyncOpenAI(websocket_base_url=address, base_url=f"{http_url}/v1", api_key="none")
        self._library = LibraryClient(http_url)
        self._connection: AsyncRealtimeConnection | None = None

    async def ask(self, question: str, stop_when: Callable[[], Awaitable[Any]] | None = None) -> Seen:
        connection = self._connection or await self._connect()
        content: Any = [{"type": "input_text", "text": question}]
        await connection.conversation.item.create(item={"type": "message", "role": "user", "content": content})
        await connection.response.create()
        if stop_when:
            await stop_when()
            await connection.response.cancel()
        seen = Seen()
        while seen.ending == "":
            self._take((await connection.recv()).model_dump(), seen)
        return seen

    async def upload(self, path: Path) -> None:
        await self._library.upload(path)

    async def remove(self, title: str) -> None:
        found = [document["id"] for document in await self._library.documents() if document["title"] == title]
        await self._library.remove(found[0])

    async def gateway_is_back(self) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def _connect(self) -> AsyncRealtimeConnection:
        query: dict[str, object] = {"knowledge_events": "1"}
        self._connection = await self._sdk.realtime.connect(model="any", extra_query=query).enter()
        await self._connection.session.update(session={"type": "realtime", "output_modalities": ["text"]})
        return self._connection

    @staticmethod
    def _take(event: dict[str, Any], seen: Seen) -> None:
        match event["type"]:
            case "knowledge.completed":
                seen.status = event["status"]
                seen.sources = list(dict.fromkeys(source["title"] for source in event["sources"]))
            case "knowledge.superseded":
                seen.status = "superseded"
            case "knowledge.citations":
                seen.links = list(dict.fromkeys(citation["uri"] for citation in event["citations"]))
            case "response.output_text.delta":
                seen.answer += event["delta"]
            case "response.done":
                ending = event["response"]["status"]
                seen.ending = {"completed": "done", "cancelled": "interrupted"}.get(ending, ending)


class PageClient:
    """The page, in a browser's tab or in the window of the desktop command."""

    def __init__(self, page: Page) -> None:
        self._page = page

    async def ask(self, question: str, stop_when: Callable[[], Awaitable[Any]] | None = None) -> Seen:
        number = await self._page.locator(".turn").count() + 1
        await self._page.fill("#question", question)
        await self._page.press("#question", "Enter")
        turn = self._page.locator(f".turn:nth-child({number})")
        if stop_when:
            await stop_when()
            await turn.locator(".lookup[data-status=running]").wait_for()
            await self._page.keyboard.press("Escape")
        ended = ", ".join(f'[data-phase="{phase}"]' for phase in ("done", "interrupted", "failed", "lost"))
        await turn.and_(self._page.locator(f".turn:is({ended})")).wait_for()
        if stop_when:
            await turn.locator(".lookup[data-status=superseded]").wait_for()
        return Seen(
            status=await turn.locator(".lookup").last.get_attribute("data-status") or "",
            ending=await turn.get_attribute("data-phase") or "",
            answer=await turn.locator(".answer").inner_text(),
            sources=await turn.locator(".card .title").all_inner_texts(),
            links=[await link.get_attribute("href") or "" for link in await turn.locator(".card a").all()],
        )

    async def upload(self, path: Path) -> None:
        await self._page.set_input_files("#files", path)
        await self._page.wait_for_selector(".upload.finished")

    async def remove(self, title: str) -> None:
        await self._page.get_by_role("button", name=f"Remove {title}").click()
        await self._page.click("#confirm button[value=remove]")
        await self._page.locator(".document", has_text=title).wait_for(state="detached")

    async def gateway_is_back(self) -> None:
        await self._page.wait_for_selector("#state-connection[data-state=good]")


class TerminalClient:
    """The screen of ``earpiece chat``."""

    def __init__(self, app: ChatApp, pilot: Pilot[None]) -> None:
        self._app = app
        self._pilot = pilot

    async def ask(self, question: str, stop_when: Callable[[], Awaitable[Any]] | None = None) -> Seen:
        await self._say(question)
        turn = self._app.talk.turns.said[-1]
        if stop_when:
            await stop_when()
            await self._until(lambda: bool(turn.lookups))
            await self._pilot.press("ctrl+c")
            await self._until(lambda: turn.lookups[-1].status == "superseded")
        await self._until(lambda: turn.ended)
        await self._pilot.pause()
        view = list(self._app.query(TurnView))[-1]
        lines = list(view.query(SourceLine))
        return Seen(
            status=turn.lookups[-1].status,
            ending=turn.phase,
            answer=str(view.query_one(".answer", Static).render()),
            sources=[str(line.render()).split("] ", 1)[1].split("  ")[0] for line in lines],
            links=[line.uri for line in lines if line.uri],
        )

    async def upload(self, path: Path) -> None:
        before = self._listed.option_count
        await self._say(f"/add {path}")
        await self._until(lambda: self._listed.option_count == before + 1)

    async def remove(self, title: str) -> None:
        before = self._listed.option_count
        titles = [str(self._listed.get_option_at_index(index).prompt).split("\n")[0] for index in range(before)]
        self._listed.focus()
        self._listed.highlighted = titles.index(title)
        await self._pilot.press("delete")
        await self._until(lambda: isinstance(self._app.screen, Confirmation))
        await self._pilot.click("#remove")
        await self._until(lambda: self._listed.option_count == before - 1)

    async def gateway_is_back(self) -> None:
        await self._until(lambda: self._app.talk.state == "open" and self._listed.option_count > 0)

    @property
    def _listed(self) -> OptionList:
        return self._app.query_one("#documents", OptionList)

    async def _say(self, line: str) -> None:
        question = self._app.query_one("#question", Input)
        question.focus()
        question.value = line
        await self._pilot.press("enter")

    async def _until(self, true: Callable[[], bool]) -> None:
        async with asyncio.timeout(30):
            while not true():
                await self._pilot.pause(0.01)
