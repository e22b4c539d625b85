"""The gateway in front of realtime servers that others wrote."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.gateway.realtime.played import Event, Peer
from tests.gateway.realtime.programs import PEERS, ROOT, needs
from tests.gateway.realtime.providers import WatchedProvider
from tests.gateway.realtime.stage import ASK, dialled

SCRIPTS = ROOT / "tests" / "peers"
LOUD = "/z8B" * 1280


@asynccontextmanager
async def running(*command: str, listening: str) -> AsyncIterator[int]:
    """Start a server and yield the port that it announces; ends it afterwards."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=pipe, stderr=asyncio.subprocess.STDOUT)
    assert process.stdout is not None
    draining = None
    try:
        async with asyncio.timeout(100):
            while (line := (await process.stdout.readline()).decode()) and not re.search(listening, line):
                pass
        found = re.search(listening, line)
        assert found, "the server ended before it listened"
        draining = asyncio.create_task(process.stdout.read())
        yield int(found.group(1))
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        if draining is not None:
            await draining


@pytest.fixture
async def speech_to_speech() -> AsyncIterator[str]:
    needs("speech-to-speech")
    python = str(PEERS / "speech-to-speech" / "bin" / "python")
    script = str(SCRIPTS / "realtime" / "speech_to_speech_server.py")
    async with running(python, script, listening=r"^(\d+)$") as port:
        yield f"ws://127.0.0.1:{port}/v1/realtime"


@asynccontextmanager
async def aimock(*options: str) -> AsyncIterator[str]:
    needs("npm")
    program = str(PEERS / "npm" / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js")
    fixtures = str(SCRIPTS / "npm" / "aimock.json")
    command = ("node", program, "-h", "127.0.0.1", "-p", "0", "-f", fixtures, *options)
    async with running(*command, listening=r"https?://127\.0\.0\.1:(\d+)") as port:
        yield f"ws://127.0.0.1:{port}/v1/realtime"


async def answer(client: Peer) -> list[Event]:
    """Ask in text and return the events up to the answer's end."""
    await client.send("conversation.item.create", item=ASK)
    await client.send("response.create")
    return await client.until_done()


def text_of(events: list[Event]) -> str:
    kinds = ("response.output_text.delta", "response.output_audio_transcript.delta")
    return "".join(event["delta"] for event in events if event["type"] in kinds)


async def test_speech_to_speech_answers_aloud_from_the_documents(
    provider: WatchedProvider, speech_to_speech: str
) -> None:
    """The server that refuses a follow-up while an output is missing gets its outputs in time, and speaks."""
    async with dialled(provider, upstream=speech_to_speech, events=True) as client:
        await client.until("session.created")
        events = await answer(client)
        kinds = [event["type"] for event in events]
        assert "response.output_audio.delta" in kinds
        assert kinds.count("response.created") == kinds.count("response.done") == 1
        said = [event for event in events if event["type"] == "response.output_audio_transcript.done"]
        assert said[0]["transcript"] == "The documents say: Releases require two reviewers."
        assert "error" not in kinds
        assert '"function_call"' not in json.dumps(events)


async def test_speech_to_speech_is_interrupted_while_something_is_looked_up(
    held_provider: WatchedProvider, speech_to_speech: str
) -> None:
    """Its own voice detection cancels the retrieval; the next question is answered as if nothing had been."""
    async with dialled(held_provider, upstream=speech_to_speech) as client:
        await client.until("session.created")
        await client.send("conversation.item.create", item=ASK)
        await client.send("response.create")
        await held_provider.until_asked()
        await client.send("input_audio_buffer.append", audio=LOUD)
        await held_provider.until_stopped()
        assert (await client.until("response.done"))["response"]["status"] == "cancelled"
        await client.send("input_audio_buffer.append", audio="AAAA" * 1280)
        await client.until("input_audio_buffer.speech_stopped")
        held_provider.go_on.set()
        events = await answer(client)
        assert "error" not in [event["type"] for event in events]
        assert events[-1]["response"]["status"] == "completed"


@asynccontextmanager
async def before_aimock(provider: WatchedProvider, *options: str) -> AsyncIterator[Peer]:
    """A client of a gateway whose model is aimock."""
    async with aimock(*options) as url, dialled(provider, upstream=url, upstream_model="gpt-realtime") as client:
        yield client


async def test_aimock_answers_from_the_documents(provider: WatchedProvider) -> None:
    """A mock of the GA protocol that leaves the name out where others give it."""
    async with before_aimock(provider) as client:
        assert text_of(await answer(client)) == "Two reviewers."
        assert len(provider.requests) == 1


async def test_aimock_that_is_slow_is_waited_for(provider: WatchedProvider) -> None:
    """Latency of the model is none of the gateway's business."""
    async with before_aimock(provider, "--chaos-latency", "200") as client:
        assert text_of(await answer(client)) == "Two reviewers."


@pytest.mark.parametrize("words", ["The model is overloaded.", "Let it be cut off."])
async def test_aimock_at_its_worst_leaves_no_client_waiting(provider: WatchedProvider, words: str) -> None:
    """An error, or a line that breaks in mid-answer: the client hears of it, and can go on in the same session.

    The rates of ``--chaos-drop`` and the like do not reach aimock's websocket; its fixtures do the same there.
    """
    async with before_aimock(provider) as client:
        content = [{"type": "input_text", "text": words}]
        await client.send("conversation.item.create", item={**ASK, "content": content})
        await client.send("response.create")
        event = await client.next()
        while event["type"] not in ("error", "response.done"):
            event = await client.next()
        assert event["type"] == "error" or event["response"]["status"] == "failed"
        assert text_of(await answer(client)) == "Two reviewers."
