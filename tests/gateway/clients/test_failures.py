"""Every failure that a person can meet: its own plain sentence, and a way on, at every client."""

import asyncio
import hashlib
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

import pytest
from playwright.async_api import Page, async_playwright, expect
from textual.pilot import Pilot
from textual.widgets import Input, Static

from gateway.application import GatewayApplication
from gateway.cli.chat import address_of
from gateway.cli.chat_app import ChatApp
from gateway.cli.desktop_window import browser_window
from gateway.cli.sound.voice import VoiceChoice
from gateway.settings import GatewaySettings
from knowledge_provider import KnowledgeResult, RetrievalContext, RetrievalRequest
from local_library import DomainLibrary, LocalDomainKnowledgeProvider
from tests.gateway.cli.attached import attached
from tests.gateway.cli.test_chat_plain import chat
from tests.gateway.cli.virtual_screen import virtual_screen
from tests.gateway.web.browser import installed
from tests.gateway.web.conftest import FLAGS, PATIENCE_MILLISECONDS
from tests.gateway.web.test_library_panel import DROP

QUESTION = "How many reviewers does a release need?"
ANSWER = "According to Releases, Every release needs two reviewers"
RIGHT, WRONG = "ep_right", "ep_wrong"
A_MICROPHONE = "--use-fake-device-for-media-stream"

SENTENCES = {
    "upload too large": {
        "browser": r"It is larger than 64 MB\. Split it into smaller files\.",
        "terminal": r"The file is larger than 64 MB\. Split it into smaller ones\.",
    },
    "unreadable file": {
        "browser": r"is empty\. Import a file with text in it\.",
        "terminal": r"empty\.md: is empty\. Import a file with text in it\.",
    },
    "microphone refused": {
        "browser": r"does not allow the microphone here\. Allow it beside the address, or type your question\.",
        "terminal": r"No microphone (was found|is called 'nowhere')\. (Connect one|List them)",
    },
    "provider down": {
        "browser": r"The documents could not be reached",
        "terminal": r"the documents could not be reached",
    },
    "no gateway": {
        "browser": r"The gateway is away\. .*connects again by itself\. Start it with: earpiece serve",
        "terminal": r"[Tt]he gateway is away; (start it with: earpiece serve|waiting for it)",
    },
    "wrong token": {
        "browser": r"The gateway does not know this token\. .*use another one",
        "terminal": r"the gateway does not accept the token[;.] [Gg]ive another one in EARPIECE_TOKEN",
    },
}


class UnsteadyLibrary(LocalDomainKnowledgeProvider):
    """A library whose disk can be away."""

    failing = False

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> list[KnowledgeResult]:
        if self.failing:
            raise ConnectionError("password=hunter2 was refused")
        return await super().retrieve(request, context)


class Stage:
    """A gateway over a library with one document, which can go away and come back on its port."""

    def __init__(self, folder: Path, *, token: str = "") -> None:
        self.folder = folder
        self.port = 0
        self._hashes = f"ann:{hashlib.sha256(token.encode()).hexdigest()}" if token else ""
        self._stack = AsyncExitStack()
        self.gateway: GatewayApplication
        self.provider: UnsteadyLibrary

    async def start(self) -> None:
        library = self._stack.enter_context(DomainLibrary(self.folder / "store"))
        for owner in ("personal", "ann"):
            library.import_bytes("releases.md", b"# Releases\n\nEvery release needs two reviewers.\n", owner_id=owner)
        self.provider = UnsteadyLibrary(library, view="passages")
        settings = GatewaySettings(port=self.port, drain_seconds=0.0, timeout_seconds=20.0, token_hashes=self._hashes)
        application = GatewayApplication(self.provider, settings, library=library)
        self.gateway = await self._stack.enter_async_context(application)
        self.port = self.gateway.port

    async def stop(self) -> None:
        await self._stack.aclose()


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    """A gateway for everybody on this machine."""
    made = Stage(tmp_path)
    await made.start()
    yield made
    await made.stop()


@pytest.fixture
async def guarded(tmp_path: Path) -> AsyncIterator[Stage]:
    """A gateway that wants a token."""
    made = Stage(tmp_path, token=RIGHT)
    await made.start()
    yield made
    await made.stop()


class Client(Protocol):
    """A person at one of the clients. ``kind`` is the column of the table, ``two_answers`` what stands there then."""

    kind: str
    two_answers: str

    async def upload(self, path: Path) -> None: ...

    async def talk(self) -> None: ...

    async def ask(self, question: str) -> None: ...

    async def reads(self, sentence: str) -> None:
        """Wait until this is on the screen, a regular expression."""
        ...

    async def connected(self) -> None: ...


class AtPage:
    kind = "browser"
    two_answers = f"{ANSWER}.*{ANSWER}"

    def __init__(self, page: Page) -> None:
        self._page = page

    async def upload(self, path: Path) -> None:
        size = (await asyncio.to_thread(path.stat)).st_size
        text = await asyncio.to_thread(path.read_text) if size < 1_000 else ""
        await self._page.evaluate(DROP, [path.name, size, text])

    async def talk(self) -> None:
        """Press Talk after somebody took the permission back."""
        tools = await self._page.context.new_cdp_session(self._page)
        refused = {"permission": {"name": "microphone"}, "setting": "denied", "origin": self._page.url.rstrip("/")}
        await tools.send("Browser.setPermission", refused)
        await self._page.evaluate("delete window.webkitSpeechRecognition; delete window.SpeechRecognition")
        await self._page.click("#talk")

    async def ask(self, question: str) -> None:
        await self._page.fill("#question", question)
        await self._page.press("#question", "Enter")

    async def reads(self, sentence: str) -> None:
        await expect(self._page.locator("body")).to_contain_text(re.compile(sentence, re.DOTALL))

    async def connected(self) -> None:
        await expect(self._page.locator("#away")).to_be_hidden()
        await self._page.wait_for_selector("#state-connection[data-state=good]")


class AtScreen:
    kind = "terminal"
    two_answers = f"{ANSWER}.*{ANSWER}"

    def __init__(self, pilot: Pilot[None]) -> None:
        self._pilot = pilot

    async def upload(self, path: Path) -> None:
        await self._say(f"/add {path}")

    async def talk(self) -> None:
        await self._say("/talk")

    async def ask(self, question: str) -> None:
        await self._say(question)

    async def reads(self, sentence: str) -> None:
        async with asyncio.timeout(30):
            while not re.search(sentence, self._shown(), re.DOTALL):
                await self._pilot.pause(0.01)

    async def connected(self) -> None:
        await self.reads("connected to")

    def _shown(self) -> str:
        return "\n".join(str(widget.render()) for widget in self._pilot.app.query(Static))

    async def _say(self, line: str) -> None:
        self._pilot.app.query_one("#question", Input).value = line
        await self._pilot.press("enter")


class AtLines:
    """Each line that is typed begins a new record of what is said."""

    kind = "terminal"
    two_answers = ANSWER

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._said = ""
        self._news = asyncio.Event()
        self.listening = [asyncio.create_task(self._listen(stream)) for stream in (process.stdout, process.stderr)]

    async def upload(self, path: Path) -> None:
        await self._say(f"/add {path}")

    async def talk(self) -> None:
        await self._say("/talk")

    async def ask(self, question: str) -> None:
        await self._say(question)

    async def reads(self, sentence: str) -> None:
        async with asyncio.timeout(30):
            while not re.search(sentence, self._said):
                await self._news.wait()
                self._news.clear()

    async def connected(self) -> None:
        """It goes on by itself with the line that waits."""

    async def _say(self, line: str) -> None:
        assert self._process.stdin is not None
        self._said = ""
        self._process.stdin.write(f"{line}\n".encode())
        await self._process.stdin.drain()

    async def _listen(self, stream: asyncio.StreamReader | None) -> None:
        assert stream is not None
        while piece := await stream.read(2**16):
            self._said += piece.decode()
            self._news.set()


@asynccontextmanager
async def page(stage: Stage) -> AsyncIterator[Client]:
    async with browser_page() as opened:
        await opened.goto(stage.gateway.http_url)
        await opened.wait_for_selector("#state-model:not([hidden])")
        yield AtPage(opened)


@asynccontextmanager
async def browser_page() -> AsyncIterator[Page]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=installed("chromium"), args=[*FLAGS, A_MICROPHONE], timeout=60_000
        )
        opened = await browser.new_page()
        opened.set_default_timeout(PATIENCE_MILLISECONDS)
        yield opened
        await browser.close()


@asynccontextmanager
async def window(stage: Stage) -> AsyncIterator[Client]:
    profile = stage.folder / "profile"
    async with virtual_screen(stage.folder) as display, async_playwright() as playwright:
        flags = [f"--display={display}", *FLAGS, A_MICROPHONE, "--remote-debugging-port=0"]
        process = await browser_window(installed("chromium"), profile, flags)(stage.gateway.http_url)
        try:
            yield AtPage(await attached(playwright, profile))
        finally:
            process.terminate()
            await process.wait()


@asynccontextmanager
async def screen(stage: Stage) -> AsyncIterator[Client]:
    app = ChatApp(address_of(stage.gateway.http_url, ""), VoiceChoice(input_device="nowhere"))
    async with app.run_test(size=(120, 40)) as pilot:
        client = AtScreen(pilot)
        await client.connected()
        yield client


@asynccontextmanager
async def lines(stage: Stage) -> AsyncIterator[Client]:
    async with chat(stage.gateway.url, "--input-device", "nowhere") as process:
        client = AtLines(process)
        try:
            yield client
        finally:
            process.kill()
            await asyncio.gather(*client.listening)


@pytest.mark.parametrize("client", [page, window, screen, lines], ids=lambda client: client.__name__)
async def test_each_failure_has_its_own_sentence_and_a_way_on(
    client: Callable[..., Any], stage: Stage, tmp_path: Path
) -> None:
    """Too large, unreadable, no microphone, provider down, gateway away: each is told, and the next question works."""
    huge, empty = tmp_path / "huge.txt", tmp_path / "empty.md"
    with huge.open("wb") as file:
        file.truncate(65 * 2**20)
    empty.write_text(" ")
    async with client(stage) as person:
        sentences = {failure: columns[person.kind] for failure, columns in SENTENCES.items()}
        await person.upload(huge)
        await person.reads(sentences["upload too large"])
        await person.upload(empty)
        await person.reads(sentences["unreadable file"])
        await person.talk()
        await person.reads(sentences["microphone refused"])
        stage.provider.failing = True
        await person.ask("Who are the reviewers of a release?")
        await person.reads(sentences["provider down"])
        stage.provider.failing = False
        await person.ask(QUESTION)
        await person.reads(ANSWER)
        await stage.stop()
        if person.kind == "terminal":
            await person.ask("How many reviewers, again?")
        await person.reads(sentences["no gateway"])
        await stage.start()
        await person.connected()
        await person.ask("How many reviewers does a release need, again?")
        await person.reads(person.two_answers)


async def test_a_wrong_token_has_its_sentence_in_the_page_and_a_right_one_lets_in(guarded: Stage) -> None:
    """The field for another one is in front; with it the question is answered."""
    async with browser_page() as opened:
        await opened.goto(guarded.gateway.http_url)
        for token in (WRONG, RIGHT):
            await opened.wait_for_selector("#sign-in[open]")
            await opened.fill("#token", token)
            await opened.keyboard.press("Enter")
            if token == WRONG:
                await AtPage(opened).reads(SENTENCES["wrong token"]["browser"])
        await opened.wait_for_selector("#state-model:not([hidden])")
        await AtPage(opened).ask(QUESTION)
        await AtPage(opened).reads(ANSWER)


async def test_a_wrong_token_has_its_sentence_on_the_screen_and_in_lines(guarded: Stage) -> None:
    """Both name where to give another one, and neither repeats the token."""
    app = ChatApp(address_of(guarded.gateway.http_url, WRONG))
    async with app.run_test(size=(120, 40)) as pilot:
        await AtScreen(pilot).reads(SENTENCES["wrong token"]["terminal"])
    async with chat(guarded.gateway.url, EARPIECE_TOKEN=WRONG) as process:
        _, err = await asyncio.wait_for(process.communicate(b"Hello?\n"), 30)
    assert re.search(SENTENCES["wrong token"]["terminal"], err.decode())
    assert WRONG not in err.decode()


def test_no_two_failures_share_a_sentence() -> None:
    """Whoever reads one knows what is wrong."""
    for kind in ("browser", "terminal"):
        sentences = [columns[kind] for columns in SENTENCES.values()]
        assert len(set(sentences)) == len(sentences)
