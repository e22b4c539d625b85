"""The DashScope dialect, against a server that speaks as DashScope does; the vendor's SDK vouches for that server."""

import asyncio
import base64
import math
from array import array
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from gateway.realtime.dialects.dashscope import DashScopeDialect
from tests.gateway.realtime.dashscope_server import DashScope
from tests.gateway.realtime.played import Peer
from tests.gateway.realtime.programs import PEERS, ROOT, needs, printed
from tests.gateway.realtime.providers import WatchedProvider
from tests.gateway.realtime.stage import ASK, dialled


@pytest.fixture
async def dashscope() -> AsyncIterator[DashScope]:
    server = DashScope()
    await server.start()
    yield server
    await server.aclose()


async def test_the_vendors_sdk_takes_the_server_for_the_real_one(dashscope: DashScope) -> None:
    """dashscope 2.0.2 opens a session, sends tools, answers a call and hears the answer: the stand-in is faithful."""
    needs("dashscope")
    python = str(PEERS / "dashscope" / "bin" / "python")
    script = str(ROOT / "tests" / "peers" / "realtime" / "dashscope_client.py")
    output, _ = await printed(python, script, dashscope.url)
    assert output == "Two."


@asynccontextmanager
async def before(server: DashScope, provider: WatchedProvider) -> AsyncIterator[Peer]:
    """A client of a gateway whose model is this server, greeted."""
    settings: dict[str, Any] = {"upstream_dialect": "dashscope", "upstream_model": "qwen3.5-omni-flash-realtime"}
    async with dialled(provider, upstream=server.url, upstream_key="sk-test", **settings) as client:
        await client.until("session.created")
        yield client


async def test_a_ga_client_gets_a_spoken_answer_from_dashscope(provider: WatchedProvider, dashscope: DashScope) -> None:
    """The client speaks GA and hears GA; the tool goes in nested and its call comes out hidden."""
    async with before(dashscope, provider) as client:
        session = {"type": "realtime", "output_modalities": ["audio"], "audio": {"output": {"voice": "Ethan"}}}
        await client.send("session.update", session=session)
        updated = (await client.until("session.updated"))["session"]
        assert (updated["output_modalities"], updated["audio"]["output"]["voice"]) == (["audio"], "Ethan")
        assert updated["tools"] == []
        await client.send("conversation.item.create", item=ASK)
        await client.send("response.create", response={"metadata": {"of": "mine"}})
        *events, done = await client.until_done()
        kinds = {event["type"] for event in events}
        said = [event["delta"] for event in events if event["type"] == "response.output_audio_transcript.delta"]
        assert said == ["Releases require two reviewers."]
        assert "response.output_audio.delta" in kinds
        assert not {kind for kind in kinds if kind.startswith("response.audio") or kind == "error"}
        assert done["response"]["output"][0]["content"][0]["type"] == "output_audio"
        tool = dashscope.settings["tools"][0]
        assert (tool["type"], tool["function"]["name"]) == ("function", "knowledge")
        assert dashscope.settings["modalities"] == ["text", "audio"]
    async with asyncio.timeout(5):
        await dashscope.finished.wait()


async def test_a_model_that_is_busy_and_names_nothing_is_asked_again(
    provider: WatchedProvider, dashscope: DashScope
) -> None:
    """DashScope's errors name no event: the refusal is about what was asked first, and is not the client's to see."""
    async with before(dashscope, provider) as client:
        await client.send("conversation.item.create", item=ASK)
        dashscope.refuse_from = 2
        await client.send("response.create")
        *events, done = await client.until_done()
        assert done["response"]["status"] == "completed"
        assert "error" not in [event["type"] for event in events]
        assert dashscope.asked == 3


async def test_audio_reaches_the_model_at_its_own_rate(provider: WatchedProvider, dashscope: DashScope) -> None:
    """24 kHz from the client becomes 16 kHz, as one unbroken stream."""
    tone = array("h", [int(8000 * math.sin(2 * math.pi * 440 * n / 24_000)) for n in range(24_000)]).tobytes()
    async with before(dashscope, provider) as client:
        for start in range(0, len(tone), 960):
            await client.send("input_audio_buffer.append", audio=base64.b64encode(tone[start : start + 960]).decode())
        await client.send("input_audio_buffer.commit")
        await client.send("conversation.item.create", item=ASK)
        await client.until("conversation.item.done")
    heard = array("h", dashscope.heard)
    assert abs(len(heard) - 16_000) <= 16
    expected = [8000 * math.sin(2 * math.pi * 440 * n / 16_000) for n in range(len(heard))]
    assert max(abs(a - b) for a, b in zip(heard[200:-200], expected[200:-200], strict=True)) < 200


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("Cannot create response while user is speaking.", "busy"),
        ("Cannot create response while another response is in progress.", "busy"),
        ("Conversation has none active response", "ordinary"),
        ("Cancellation failed: no active response found", "benign"),
        ("The session was closed because no response was generated for 180 seconds.", "expired"),
        ("Access denied, please make sure your account is in good standing. Arrearage", "fatal"),
        ("You exceeded your current quota", "fatal"),
        ("Invalid value", "ordinary"),
    ],
)
def test_errors_are_told_apart_by_their_words(message: str, kind: str) -> None:
    """What to do about an error is decided in one place from these classes."""
    assert DashScopeDialect().error_class({"code": "invalid_value", "message": message}) == kind


def test_what_dashscope_does_not_know_is_not_sent() -> None:
    """Truncation, ids of responses and metadata are GA's alone."""
    dialect = DashScopeDialect()
    assert dialect.to_model({"type": "conversation.item.truncate", "item_id": "item_1"}) == ()
    assert dialect.to_model({"type": "response.cancel", "response_id": "resp_1"}) == ({"type": "response.cancel"},)
    create = {"type": "response.create", "event_id": "e", "response": {"metadata": {"a": "b"}, "tool_choice": "auto"}}
    assert dialect.to_model(create) == ({"type": "response.create", "event_id": "e"},)
