"""``earpiece desktop`` on a virtual screen: a real window, its microphone, and that everything ends together."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import numpy
import pytest
from playwright.async_api import Page, async_playwright

from gateway.cli.complaint import Complaint
from gateway.cli.desktop_window import allow_microphone
from gateway.cli.root import earpiece
from tests.gateway.cli.attached import attached
from tests.gateway.cli.virtual_screen import picture, virtual_screen
from tests.gateway.web.browser import HANDBOOK, ask, installed, text_of, turn

ROOT = Path(__file__).resolve().parents[3]
FLAGS = "--no-sandbox --disable-gpu --disable-quic --disable-component-update --remote-debugging-port=0"


@asynccontextmanager
async def desktop(display: str, data: Path, *options: str) -> AsyncIterator[asyncio.subprocess.Process]:
    environment = {
        **os.environ,
        "DISPLAY": display,
        "XDG_DATA_HOME": str(data),
        "XDG_CACHE_HOME": str(data),
        "EARPIECE_BROWSER_FLAGS": FLAGS,
    }
    command = [sys.executable, "-c", "from gateway.cli import main; main()", "desktop", *options]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stderr=pipe, env=environment, cwd=ROOT)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@asynccontextmanager
async def window_of(process: asyncio.subprocess.Process, data: Path) -> AsyncIterator[Page]:
    """The page in the window, reached through the browser's own debugging port."""
    assert process.stderr is not None
    async with asyncio.timeout(60):
        assert b"Window on http://127.0.0.1:" in await process.stderr.readline()
    async with async_playwright() as playwright:
        yield await attached(playwright, data / "earpiece" / "desktop")


async def test_a_window_answers_may_use_the_microphone_and_ends_with_its_gateway(tmp_path: Path) -> None:
    """Asked in the window, answered from the documents; SIGTERM ends window and gateway, and nothing is left."""
    installed("chromium")
    screen, data = tmp_path / "screen", tmp_path / "data"
    screen.mkdir()
    async with virtual_screen(screen) as display, desktop(display, data, "--library", str(HANDBOOK)) as process:
        async with window_of(process, data) as page:
            assert (
                await page.evaluate("navigator.permissions.query({name: 'microphone'}).then((p) => p.state)")
                == "granted"
            )
            await ask(page, "How many reviewers does a release need?")
            await turn(page, 1)
            assert "two reviewers" in await text_of(page, 1, "answer")
            assert "Release handbook" in await text_of(page, 1, "sources")
            url = page.url
        drawn = await asyncio.to_thread(picture, screen / "Xvfb_screen0")
        assert len(numpy.unique(drawn.reshape(-1, 3), axis=0)) > 200, "the screen shows more than one colour"
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(30):
            assert await process.wait() == 0
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", int(url.rsplit(":", 1)[1].strip("/")))


async def test_closing_the_window_ends_the_gateway(tmp_path: Path) -> None:
    """Whoever closes the window has finished: the command ends with status 0."""
    installed("chromium")
    data = tmp_path / "data"
    async with virtual_screen(tmp_path) as display, desktop(display, data, "--library", str(HANDBOOK)) as process:
        async with window_of(process, data) as page:
            await page.close()
        async with asyncio.timeout(30):
            assert await process.wait() == 0


def test_only_the_page_of_this_gateway_may_use_the_microphone(tmp_path: Path) -> None:
    """The permission of an address that another program may have tomorrow is taken back; other settings stay."""
    preferences = tmp_path / "Default" / "Preferences"
    allow_microphone(tmp_path, "http://127.0.0.1:1")
    settings = json.loads(preferences.read_text())
    settings["browser"] = {"theme": 1}
    preferences.write_text(json.dumps(settings))
    allow_microphone(tmp_path, "http://127.0.0.1:2")
    settings = json.loads(preferences.read_text())
    allowed = settings["profile"]["content_settings"]["exceptions"]["media_stream_mic"]
    assert list(allowed) == ["http://127.0.0.1:2,*"]
    assert settings["browser"] == {"theme": 1}


def test_without_a_browser_for_it_one_sentence_says_what_a_window_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """No gateway is started for a window that cannot open; the page in any other browser is the way on."""
    monkeypatch.setenv("PATH", "")
    with pytest.raises(Complaint, match=r"needs Chromium, Chrome, Edge or Brave.* earpiece serve"):
        earpiece.main(["desktop"], standalone_mode=False)
