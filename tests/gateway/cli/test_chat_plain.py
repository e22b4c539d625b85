"""``earpiece chat --plain``: the command as a shell runs it, with lines in and lines out."""

import asyncio
import hashlib
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gateway.application import create_gateway_application
from gateway.cli.chat import address_of
from gateway.cli.complaint import Complaint
from gateway.settings import GatewaySettings
from tests.gateway.web.providers import Handbook, WaitingHandbook

ROOT = Path(__file__).resolve().parents[3]


@asynccontextmanager
async def chat(url: str, *options: str, **environment: str) -> AsyncIterator[asyncio.subprocess.Process]:
    pipe = asyncio.subprocess.PIPE
    command = [sys.executable, "-W", "error", "-c", "from gateway.cli import main; main()", "chat", "--plain"]
    process = await asyncio.create_subprocess_exec(
        *command,
        "--url",
        url,
        *options,
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        cwd=ROOT,
        env={**os.environ, **environment},
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


async def said(process: asyncio.subprocess.Process, lines: str) -> tuple[int, str, str]:
    async with asyncio.timeout(40):
        out, err = await process.communicate(lines.encode())
    return process.returncode or 0, out.decode(), err.decode()


async def test_each_line_is_answered_with_its_source() -> None:
    """Lines through a pipe become questions; answers, times and footnotes come out in order."""
    mounted = create_gateway_application(Handbook(), settings=GatewaySettings())
    async with mounted as gateway, chat(gateway.url) as process:
        status, out, err = await said(process, "How many reviewers?\nWho are the reviewers?\n")
    assert (status, err) == (0, "")
    assert out.count("two reviewers") == 2
    assert "[found 1 passage · " in out
    assert "[1] Release handbook: Approvals <https://docs.example.com/releases>" in out


async def test_documents_are_added_asked_about_and_removed(tmp_path: Path) -> None:
    """The library can be managed from the lines; afterwards the documents are silent about it."""
    (tmp_path / "documents").mkdir()
    (tmp_path / "documents" / "travel.md").write_text("# Travel\n\nBook trains.\n", encoding="utf-8")
    kettle = tmp_path / "kettle.md"
    kettle.write_text("# Kettle manual\n\nDescale the kettle every sixty days.\n", encoding="utf-8")
    question = "How often should the kettle be descaled?"
    lines = f"/add {kettle}\n{question}\n/remove Kettle manual\n{question}\n/documents\n/remove Kettle manual\n"
    mounted = create_gateway_application(
        library=tmp_path / "documents", store=tmp_path / "store", settings=GatewaySettings()
    )
    async with mounted as gateway, chat(gateway.url) as process:
        status, out, err = await said(process, lines)
    assert status == 0
    assert out.index("added: Kettle manual") < out.index("every sixty days") < out.index("removed: Kettle manual")
    assert "nothing about it in the documents" in out
    assert out.rstrip().endswith("Travel  (travel.md, 1 passage, ready)")
    assert "0 documents are called 'Kettle manual'" in err


async def test_an_import_says_how_far_it_is_on_standard_error(tmp_path: Path) -> None:
    """A large file is told of at its quarters, and that it is being read; the answers stay alone on standard output."""
    (tmp_path / "documents").mkdir()
    large = tmp_path / "large.txt"
    large.write_text("Kettle manual\n\n" + "Descale the kettle.\n" * 60_000)
    mounted = create_gateway_application(
        library=tmp_path / "documents", store=tmp_path / "store", settings=GatewaySettings()
    )
    async with mounted as gateway, chat(gateway.url) as process:
        status, out, err = await said(process, f"/add {large}\n")
    assert status == 0
    expected = [f"sending large.txt: {part} %" for part in (25, 50, 75)]
    assert [line for line in err.splitlines() if "large.txt" in line] == [*expected, "reading large.txt …"]
    assert out.startswith("added: ")


async def test_refused_and_changed_files_are_listed_and_tried_again(tmp_path: Path) -> None:
    """/documents says why and how each stands; /again reads a file again, /remove forgets a refused one."""
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "travel.md").write_text("# Travel\n\nBook trains.\n")
    (folder / "broken.md").write_text("")
    mounted = create_gateway_application(library=folder, store=tmp_path / "store", settings=GatewaySettings())
    (folder / "travel.md").write_text("# Travel\n\nBook trains, always.\n")
    lines = "/documents\n/again broken.md\n/remove broken.md\n/again Travel\n/documents\n"
    async with mounted as gateway, chat(gateway.url) as process:
        _, out, err = await said(process, lines)
    assert "broken.md: is empty." in err
    before, _, after = out.partition("dismissed: broken.md\nupdated: Travel\n")
    assert "Travel  (travel.md, 1 passage, changed)\n  Its file was changed" in before
    assert "broken.md\n  not imported: it is empty. Import a file with text in it.\n" in before
    assert after.splitlines()[-1] == "Travel  (travel.md, 1 passage, ready)"


async def test_ctrl_c_stops_the_answer_and_the_next_line_is_answered() -> None:
    """SIGINT while something is being looked up cancels it, and does not end the chat."""
    handbook = WaitingHandbook()
    settings = GatewaySettings(timeout_seconds=30)
    async with create_gateway_application(handbook, settings=settings) as gateway, chat(gateway.url) as process:
        assert process.stdin is not None
        process.stdin.write(b"How many reviewers?\n")
        async with asyncio.timeout(30):
            await handbook.begun.wait()
            process.send_signal(signal.SIGINT)
            await handbook.cancelled.wait()
        handbook.go.set()
        status, out, _ = await said(process, "How many reviewers then?\n")
    assert status == 0
    assert "Stopped." in out
    assert out.count("two reviewers") == 1


async def test_a_slow_look_up_is_a_line_of_its_own() -> None:
    """Whoever waits reads why, once; then come the result and the answer, without the sentence that bridged it."""
    handbook = WaitingHandbook()
    settings = GatewaySettings(timeout_seconds=30, slow_seconds=0.02, holding_sentence=True)
    async with create_gateway_application(handbook, settings=settings) as gateway, chat(gateway.url) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"How many reviewers?\n")
        async with asyncio.timeout(40):
            line = await process.stdout.readline()
        assert line.decode().rstrip() == "[still looking up “How many reviewers?”, for more than 20 ms …]"
        handbook.go.set()
        status, out, _ = await said(process, "")
    assert status == 0
    assert out.startswith("[found 1 passage · ")
    assert "two reviewers" in out
    assert "One moment" not in out


async def test_no_gateway_and_a_wrong_token_are_one_sentence_each() -> None:
    """Both end with status 1 and say what to do; the token is not repeated."""
    hashed = hashlib.sha256(b"ep_right").hexdigest()
    settings = GatewaySettings(token_hashes=f"ann:{hashed}")
    async with create_gateway_application(Handbook(), settings=settings) as gateway:
        async with chat(gateway.url, EARPIECE_TOKEN="ep_wrong") as process:
            refused = await said(process, "Hello?\n")
        async with chat(gateway.url, EARPIECE_TOKEN="ep_right") as process:
            accepted = await said(process, "How many reviewers?\n")
    async with chat(gateway.url) as process:
        away = await said(process, "Hello?\n")
    assert (refused[0], refused[1]) == (1, "")
    assert "does not accept the token" in refused[2]
    assert "ep_wrong" not in refused[2]
    assert "two reviewers" in accepted[1]
    assert away == (1, "", f"earpiece: no gateway answers at {gateway.url}. Start one with: earpiece serve\n")


async def test_a_model_that_cannot_be_reached_is_said_to_be_the_trouble() -> None:
    """It is not the gateway that is missing, and the sentence does not send anybody to start one."""
    settings = GatewaySettings(upstream="ws://127.0.0.1:9/v1/realtime", reconnect_attempts=1)
    async with create_gateway_application(Handbook(), settings=settings) as gateway, chat(gateway.url) as process:
        status, _, err = await said(process, "Hello?\n")
    assert status == 1
    assert "cannot reach its model" in err


@pytest.mark.parametrize(
    ("given", "websocket", "http"),
    [
        ("http://127.0.0.1:8787", "ws://127.0.0.1:8787/v1/realtime", "http://127.0.0.1:8787"),
        ("ws://127.0.0.1:8787/v1/realtime", "ws://127.0.0.1:8787/v1/realtime", "http://127.0.0.1:8787"),
        ("https://voice.example.com/", "wss://voice.example.com/v1/realtime", "https://voice.example.com"),
    ],
)
def test_either_address_of_a_gateway_names_both(given: str, websocket: str, http: str) -> None:
    """A person may paste the address of the page or of the websocket."""
    address = address_of(given, "")
    assert (address.websocket, address.http) == (websocket, http)


@pytest.mark.parametrize("given", ["", "localhost:8787", "ftp://x", "ws://"])
def test_what_is_no_address_is_refused_with_an_example(given: str) -> None:
    """The complaint shows what an address looks like."""
    with pytest.raises(Complaint, match=r"ws://127\.0\.0\.1:8787"):
        address_of(given, "")
