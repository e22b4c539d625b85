"""The chat's screen, driven by Textual's pilot in front of a real gateway, and once for real in a terminal."""

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from textual.pilot import Pilot
from textual.widgets import Input, Label, OptionList, ProgressBar, Static

from gateway.application import GatewayApplication, create_gateway_application
from gateway.cli.chat import address_of
from gateway.cli.chat_app import ChatApp
from gateway.cli.chat_widgets import Confirmation, SourceLine, TurnView
from gateway.settings import GatewaySettings
from tests.gateway.web.providers import RELEASES, Handbook, WaitingHandbook

ROOT = Path(__file__).resolve().parents[3]


@asynccontextmanager
async def gateway(provider: Any = None, **chosen: Any) -> AsyncIterator[GatewayApplication]:
    of_settings = {name: chosen.pop(name) for name in ("port", "slow_seconds", "holding_sentence") if name in chosen}
    settings = GatewaySettings(drain_seconds=0.0, timeout_seconds=30.0, **of_settings)
    async with create_gateway_application(provider, settings=settings, **chosen) as application:
        yield application


@asynccontextmanager
async def chat(application: GatewayApplication) -> AsyncIterator[Pilot[None]]:
    app = ChatApp(address_of(application.http_url, ""))
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.talk.state == "open" and bool(app.talk.model))
        yield pilot


async def until(pilot: Pilot[None], true: Callable[[], bool]) -> None:
    """Let the app work until something is so; the bound is no measure."""
    async with asyncio.timeout(30):
        while not true():
            await pilot.pause(0.01)


async def say(pilot: Pilot[None], line: str) -> None:
    pilot.app.query_one("#question", Input).value = line
    await pilot.press("enter")


def shown(pilot: Pilot[None], selector: str) -> str:
    return "\n".join(str(widget.render()) for widget in pilot.app.query(selector).results(Static))


async def test_an_answer_streams_with_its_look_up_and_a_source_that_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer, the milliseconds and the footnote are on the screen; Enter on it opens the public link."""
    async with gateway(Handbook()) as application, chat(application) as pilot:
        opened: list[str] = []
        monkeypatch.setattr(pilot.app, "open_url", lambda url, **_: opened.append(url))
        await say(pilot, "How many reviewers?")
        await until(pilot, lambda: bool(pilot.app.query(SourceLine)))
        assert "two reviewers" in shown(pilot, ".answer")
        assert "found 1 passage" in shown(pilot, ".lookups")
        assert " ms" in shown(pilot, ".lookups")
        pilot.app.query_one(SourceLine).focus()
        await pilot.press("enter")
        assert opened == ["https://docs.example.com/releases"]


async def test_markup_in_a_document_is_shown_as_it_is() -> None:
    """Neither a title nor an answer can colour the screen or make something clickable."""
    hostile = {
        **RELEASES,
        "content": "Reviewers [bold red]must[/] be [@click=app.quit]two[/].",
        "source": {"title": "[b]x[/b]"},
    }
    async with gateway(Handbook(hostile)) as application, chat(application) as pilot:
        await say(pilot, "How many reviewers?")
        await until(pilot, lambda: bool(pilot.app.query(SourceLine)))
        assert "[@click=app.quit]two[/]" in shown(pilot, ".answer")
        assert "[b]x[/b]" in shown(pilot, "SourceLine")


async def test_ctrl_c_stops_the_look_up_and_the_chat_goes_on() -> None:
    """The provider is told at once; the same screen answers the next question."""
    handbook = WaitingHandbook()
    async with gateway(handbook) as application, chat(application) as pilot:
        await say(pilot, "How many reviewers?")
        async with asyncio.timeout(20):
            await handbook.begun.wait()
        await until(pilot, lambda: "looking up" in shown(pilot, ".lookups"))
        await pilot.press("ctrl+c")
        async with asyncio.timeout(20):
            await handbook.cancelled.wait()
        assert "Stopped." in shown(pilot, ".end")
        handbook.go.set()
        await say(pilot, "How many reviewers then?")
        await until(pilot, lambda: "two reviewers" in shown(pilot, ".answer"))
        assert len(pilot.app.query(TurnView)) == 2


async def test_a_slow_look_up_is_said_to_be_slow_and_what_bridges_it_is_no_answer() -> None:
    """The running look-up tells how long it has waited; a holding sentence neither ends the turn nor stands in it."""
    handbook = WaitingHandbook()
    slow = gateway(handbook, slow_seconds=0.02, holding_sentence=True)
    async with slow as application, chat(application) as pilot:
        await say(pilot, "How many reviewers?")
        still = "still looking up “How many reviewers?”, for more than 20 ms …"
        await until(pilot, lambda: still in shown(pilot, ".lookups"))
        handbook.go.set()
        await until(pilot, lambda: "two reviewers" in shown(pilot, ".answer"))
        assert "One moment" not in shown(pilot, ".answer")


async def test_documents_are_added_and_removed_beside_the_talk(tmp_path: Path) -> None:
    """An imported file is listed; removing asks first; a path that is none is said in one sentence."""
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "travel.md").write_text("# Travel\n\nBook trains.\n", encoding="utf-8")
    kettle = tmp_path / "kettle.md"
    kettle.write_text("# Kettle manual\n\nDescale it every sixty days.\n", encoding="utf-8")
    mounted = gateway(library=tmp_path / "documents", store=tmp_path / "store")
    async with mounted as application, chat(application) as pilot:
        listed = pilot.app.query_one("#documents", OptionList)
        await say(pilot, f"/add {kettle}")
        await until(pilot, lambda: listed.option_count == 2)
        assert "added: Kettle manual" in shown(pilot, "#library-note")
        await say(pilot, f"/add {tmp_path / 'nothing.md'}")
        await until(pilot, lambda: "is not a file" in shown(pilot, "#library-note"))
        await until(pilot, lambda: listed.option_count == 2)
        listed.focus()
        listed.highlighted = 0
        await pilot.press("delete")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirmation))
        await pilot.click("#remove")
        await until(pilot, lambda: listed.option_count == 1)
        assert "removed: Kettle manual" in shown(pilot, "#library-note")


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """A folder with a document and a file that cannot be read."""
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "travel.md").write_text("# Travel [b]rules[/b]\n\nBook trains.\n", encoding="utf-8")
    (folder / "broken.md").write_text("")
    return folder


async def test_the_list_tells_pages_status_and_why_a_file_was_refused(mixed: Path, tmp_path: Path) -> None:
    """A changed file is read again with F5, a refused one tried again in vain, mended, and dismissed with Delete."""
    mounted = gateway(library=mixed, store=tmp_path / "store")
    async with mounted as application, chat(application) as pilot:
        listed = pilot.app.query_one("#documents", OptionList)
        await until(pilot, lambda: listed.option_count == 2)
        assert lines(listed, 0) == ["Travel [b]rules[/b]", "travel.md, 1 passage, ready", "Book trains."]
        assert lines(listed, 1) == ["broken.md", "not imported: it is empty. Import a file with text in it."]
        (mixed / "travel.md").write_text("# Trains\n\nAlways.\n")
        listed.focus()
        await again(pilot, 0)
        await until(pilot, lambda: "updated: Trains" in shown(pilot, "#library-note"))
        await again(pilot, 1)
        await until(pilot, lambda: "broken.md: is empty" in shown(pilot, "#library-note"))
        await pilot.press("delete")
        await until(pilot, lambda: "dismissed: broken.md" in shown(pilot, "#library-note"))
        await until(pilot, lambda: listed.option_count == 1)
        assert (mixed / "broken.md").exists()


async def test_opening_the_library_shows_what_others_added_and_are_sending(mixed: Path, tmp_path: Path) -> None:
    """What is on its way is listed as such, and neither Delete nor F5 does anything to it."""
    go_on = asyncio.Event()

    async def slowly() -> AsyncIterator[bytes]:
        yield b"# Kettle manual\n\n"
        await go_on.wait()
        yield b"Rinse it.\n"

    mounted = gateway(library=mixed, store=tmp_path / "store")
    async with mounted as application, chat(application) as pilot, aiohttp.ClientSession(application.http_url) as http:
        listed = pilot.app.query_one("#documents", OptionList)
        await until(pilot, lambda: listed.option_count == 2)
        address, kind = "/v1/library/documents?name=kettle.md", {"Content-Type": "application/octet-stream"}
        sending = asyncio.ensure_future(http.post(address, data=slowly(), headers=kind).__aenter__())
        await opened_until(pilot, lambda: listed.option_count == 3)
        assert lines(listed, 2) == ["kettle.md", "being imported"]
        await again(pilot, 2)
        await pilot.press("delete")
        go_on.set()
        await sending
        await opened_until(pilot, lambda: lines(listed, 0)[0] == "Kettle manual")
        assert shown(pilot, "#library-note") == ""


async def opened_until(pilot: Pilot[None], true: Callable[[], bool]) -> None:
    """Hide the library and show it until what it lists is so."""
    async with asyncio.timeout(30):
        while not true():
            await pilot.press("f2", "f2")
            await pilot.pause(0.2)


def lines(listed: OptionList, index: int) -> list[str]:
    return str(listed.get_option_at_index(index).prompt).split("\n")


async def again(pilot: Pilot[None], index: int) -> None:
    pilot.app.query_one("#documents", OptionList).highlighted = index
    await pilot.press("f5")


async def test_an_import_shows_how_far_it_is(mixed: Path, tmp_path: Path) -> None:
    """The bar runs from nothing to its end while the file is sent, and is gone when it is read."""
    large = tmp_path / "large.txt"
    large.write_text("Descale the kettle.\n" * 60_000)
    mounted = gateway(library=mixed, store=tmp_path / "store")
    async with mounted as application, chat(application) as pilot:
        listed = pilot.app.query_one("#documents", OptionList)
        await until(pilot, lambda: listed.option_count == 2)
        bar = pilot.app.query_one("#progress", ProgressBar)
        seen: list[tuple[float, bool]] = []
        pilot.app.watch(bar, "progress", lambda part: seen.append((part, bar.display)), init=False)
        await say(pilot, f"/add {large}")
        await until(pilot, lambda: listed.option_count == 3)
        assert not bar.display
    parts = [part for part, visible in seen if visible]
    assert len(parts) >= 3
    assert parts == sorted(parts)
    assert parts[-1] == 1.0


async def test_a_file_that_cannot_be_taken_is_one_sentence_and_the_list_stays(mixed: Path, tmp_path: Path) -> None:
    """Too large, empty, of an unknown kind, no file at all: each says why, and the next one goes in."""
    huge = tmp_path / "huge.txt"
    with huge.open("wb") as file:
        file.truncate(65 * 2**20)
    (tmp_path / "empty.md").write_text(" ")
    (tmp_path / "tune.wav").write_bytes(b"RIFF\x00\x00\x00\x00WAVE")
    (tmp_path / "good.md").write_text("# Good\n\nText.\n")
    sentences = {
        "huge.txt": "larger than 64 MB. Split it",
        "empty.md": "is empty. Import a file with text in it",
        "tune.wav": "the library does not read. Save it as",
        "documents": "is not a file. Give the path of a document",
        "x" * 300: "cannot be read",
        "good.md": "added: Good",
    }
    mounted = gateway(library=mixed, store=tmp_path / "store")
    async with mounted as application, chat(application) as pilot:
        listed = pilot.app.query_one("#documents", OptionList)
        for name, sentence in sentences.items():
            await say(pilot, f"/add {tmp_path / name}")
            await until(pilot, lambda sentence=sentence: sentence in shown(pilot, "#library-note"))  # type: ignore[misc]
        await until(pilot, lambda: listed.option_count == 3)


async def test_a_gateway_that_goes_away_is_named_and_what_was_said_stays() -> None:
    """The state says how to start it; when it is back the talk goes on, and nothing is answered twice."""
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(gateway(Handbook()))
        pilot = await stack.enter_async_context(chat(first))
        await say(pilot, "How many reviewers?")
        await until(pilot, lambda: "two reviewers" in shown(pilot, ".answer"))
        await first.aclose()
        await until(pilot, lambda: "earpiece serve" in str(pilot.app.query_one("#state", Label).render()))
        await say(pilot, "Who are the reviewers?")
        assert pilot.app.query_one("#question", Input).value == "Who are the reviewers?", "nothing typed is lost"
        await stack.enter_async_context(gateway(Handbook(), port=first.port))
        await until(pilot, lambda: "connected" in str(pilot.app.query_one("#state", Label).render()))
        await say(pilot, "Who are the reviewers?")
        await until(pilot, lambda: shown(pilot, ".answer").count("two reviewers") == 2)
        assert len(pilot.app.query(TurnView)) == 2


def tmux(socket: Path, *arguments: str) -> str:
    command = ["tmux", "-S", str(socket), "-f", os.devnull, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


async def test_in_a_real_terminal_the_chat_answers(tmp_path: Path) -> None:
    """Started by its command in tmux, with real keys: the answer and its source are on the screen."""
    if shutil.which("tmux") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("tmux is not installed; .ci/system-packages installs it")
        pytest.skip("tmux is not installed; `make system` installs it")
    socket = tmp_path / "s"
    async with gateway(Handbook()) as application:
        start = f"{sys.executable} -c 'from gateway.cli import main; main()'"
        command = f"{start} chat --url {application.http_url}; sleep 60"
        await asyncio.to_thread(tmux, socket, "new-session", "-d", "-x", "110", "-y", "32", "-c", str(ROOT), command)
        try:
            await screen(socket, "connected to Earpiece")
            await asyncio.to_thread(tmux, socket, "send-keys", "How many reviewers?", "Enter")
            picture = await screen(socket, "[1] Release handbook")
            assert "two reviewers" in picture
        finally:
            await asyncio.to_thread(tmux, socket, "kill-server")


async def screen(socket: Path, text: str) -> str:
    """The terminal's content, once it holds this text."""
    picture = ""
    # Another process draws it, so there is no event to wait for.
    for _ in range(600):
        picture = await asyncio.to_thread(tmux, socket, "capture-pane", "-p")
        if text in picture:
            return picture
        await asyncio.sleep(0.1)
    pytest.fail(f"{text!r} does not appear on the screen:\n{picture}")
