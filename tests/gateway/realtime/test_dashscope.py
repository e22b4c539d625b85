"""The DashScope dialect, against a server that speaks as DashScope does; the vendor's SDK vouches for that server."""

import asyncio
import base64
import json
import math
import os
from array import array
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import WSMsgType, web

from gateway.realtime.dialects.dashscope import DashScopeDialect

ROOT = Path(__file__).resolve().parents[3]
SDK = ROOT / ".peers" / "dashscope"
ASK = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "How many reviewers?"}]}
Event = dict[str, Any]


class DashScope:
    """Qwen omni as its documents and its SDK show it: flat settings, nested tools, old names, nothing echoed."""

    def __init__(self) -> None:
        self.url = ""
        self.settings: Event = {}
        self.heard = b""
        self.received: list[Event] = []
        self.asked = self.refuse_from = 0
        self.finished = asyncio.Event()
        self._serial = 0
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        application = web.Application()
        application.router.add_get("/api-ws/v1/realtime", self._serve)
        self._runner = web.AppRunner(application, shutdown_timeout=0.2)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.url = f"ws://127.0.0.1:{self._runner.addresses[0][1]}/api-ws/v1/realtime"

    async def aclose(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _serve(self, request: web.Request) -> web.WebSocketResponse:
        assert request.headers["Authorization"].lower().startswith("bearer ")
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        session = {"id": "sess_1", "model": request.query["model"], "modalities": ["text", "audio"], "voice": "Cherry"}
        await self._emit(socket, "session.created", session=session)
        async for message in socket:
            if message.type is WSMsgType.TEXT:
                event = json.loads(message.data)
                self.received.append(event)
                await self._take(socket, event)
        return socket

    async def _emit(self, socket: web.WebSocketResponse, type: str, **fields: Any) -> None:
        self._serial += 1
        await socket.send_json({"type": type, "event_id": f"event_{self._serial}", **fields})

    async def _fail(self, socket: web.WebSocketResponse, message: str) -> None:
        error = {"type": "invalid_request_error", "code": "invalid_value", "message": message, "param": None}
        await self._emit(socket, "error", error=error)

    async def _take(self, socket: web.WebSocketResponse, event: Event) -> None:
        match event["type"]:
            case "session.update":
                await self._update(socket, event["session"])
            case "input_audio_buffer.append":
                self.heard += base64.b64decode(event["audio"])
            case "conversation.item.create":
                item = {"id": "item_of_the_server", **event["item"]}
                await self._emit(socket, "conversation.item.created", item=item)
            case "response.create" if self._refuses():
                await self._fail(socket, "Cannot create response while user is speaking.")
            case "response.create":
                assert set(event.get("response") or {}) <= {"instructions", "modalities"}
                await self._respond(socket)
            case "session.finish":
                self.finished.set()
                await self._emit(socket, "session.finished")
                await socket.close()

    def _refuses(self) -> bool:
        self.asked += 1
        return self.asked == self.refuse_from

    async def _update(self, socket: web.WebSocketResponse, session: Event) -> None:
        if session.get("modalities") == ["audio"]:
            await self._fail(socket, "Supported combinations are: ['text'] and ['audio', 'text']")
            return
        if any("function" not in tool for tool in session.get("tools") or []):
            await self._fail(socket, "Invalid tools")
            return
        self.settings |= session
        await self._emit(socket, "session.updated", session={"id": "sess_1", **self.settings})

    async def _respond(self, socket: web.WebSocketResponse) -> None:
        last = next(event["item"] for event in reversed(self.received) if event["type"] == "conversation.item.create")
        self._serial += 1
        response: Event = {"id": f"resp_{self._serial}", "status": "in_progress", "output": []}
        await self._emit(socket, "response.created", response=response)
        if last["type"] == "function_call_output":
            item = await self._speak(socket, response["id"], json.loads(last["output"])["results"][0]["content"])
        else:
            item = await self._call(socket, response["id"])
        await self._emit(socket, "response.done", response={**response, "status": "completed", "output": [item]})

    async def _call(self, socket: web.WebSocketResponse, response_id: str) -> Event:
        item: Event = {"id": "item_call", "type": "function_call", "name": "knowledge", "call_id": "call_1"}
        at = {"response_id": response_id, "output_index": 0}
        arguments = json.dumps({"query": "How many reviewers?"})
        await self._emit(socket, "response.output_item.added", **at, item={**item, "status": "in_progress"})
        await self._emit(socket, "conversation.item.created", item={**item, "status": "in_progress"})
        place = {**at, "item_id": item["id"], "call_id": "call_1"}
        await self._emit(socket, "response.function_call_arguments.delta", **place, delta=arguments)
        await self._emit(
            socket, "response.function_call_arguments.done", **place, name="knowledge", arguments=arguments
        )
        item |= {"status": "completed", "arguments": arguments}
        await self._emit(socket, "response.output_item.done", **at, item=item)
        return item

    async def _speak(self, socket: web.WebSocketResponse, response_id: str, text: str) -> Event:
        item: Event = {"id": f"item_{response_id}", "type": "message", "role": "assistant", "content": []}
        at = {"response_id": response_id, "output_index": 0}
        place = {**at, "item_id": item["id"], "content_index": 0}
        await self._emit(socket, "response.output_item.added", **at, item=item)
        await self._emit(socket, "conversation.item.created", item=item)
        await self._emit(socket, "response.content_part.added", **place, part={"type": "audio", "text": ""})
        await self._emit(socket, "response.audio_transcript.delta", **place, delta=text)
        await self._emit(socket, "response.audio.delta", **place, delta="AAAA")
        await self._emit(socket, "response.audio.done", **place)
        await self._emit(socket, "response.audio_transcript.done", **place, transcript=text)
        item = {**item, "content": [{"type": "audio", "transcript": text}], "status": "completed"}
        await self._emit(socket, "response.output_item.done", **at, item=item)
        return item


@pytest.fixture
async def dashscope() -> AsyncIterator[DashScope]:
    server = DashScope()
    await server.start()
    yield server
    await server.aclose()


async def test_the_vendors_sdk_takes_the_server_for_the_real_one(dashscope: DashScope) -> None:
    """dashscope 2.0.2 opens a session, sends tools, answers a call and hears the answer: the stand-in is faithful."""
    if not (SDK / "complete").exists():
        message = "dashscope is not installed: run tests/peers/install_realtime.sh"
        pytest.fail(message) if os.environ.get("CI") == "true" else pytest.skip(message)
    script = str(ROOT / "tests" / "peers" / "realtime" / "dashscope_client.py")
    pipe = asyncio.subprocess.PIPE
    command = (str(SDK / "bin" / "python"), script, dashscope.url.removesuffix("/realtime") + "/realtime")
    process = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe)
    try:
        async with asyncio.timeout(60):
            output, complaints = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, complaints.decode()
    assert output.decode().strip() == "Two."


def settings_for(server: DashScope) -> dict[str, Any]:
    return {
        "upstream": server.url,
        "upstream_dialect": "dashscope",
        "upstream_key": "sk-test",
        "upstream_model": "qwen3.5-omni-flash-realtime",
    }


async def test_a_ga_client_gets_a_spoken_answer_from_dashscope(open_gateway, dial, provider, dashscope) -> None:  # type: ignore[no-untyped-def]
    """The client speaks GA and hears GA; the tool goes in nested and its call comes out hidden."""
    async with open_gateway(provider, **settings_for(dashscope)) as gateway, dial(gateway) as client:
        await client.until("session.created")
        session = {"type": "realtime", "output_modalities": ["audio"], "audio": {"output": {"voice": "Ethan"}}}
        await client.send("session.update", session=session)
        updated = (await client.until("session.updated"))["session"]
        assert (updated["output_modalities"], updated["audio"]["output"]["voice"]) == (["audio"], "Ethan")
        assert updated["tools"] == []
        await client.send("conversation.item.create", item=ASK)
        await client.send("response.create", response={"metadata": {"of": "mine"}})
        kinds = []
        while (event := await client.next())["type"] != "response.done":
            kinds.append(event["type"])
            if event["type"] == "response.output_audio_transcript.delta":
                assert event["delta"] == "Releases require two reviewers."
        assert "response.output_audio.delta" in kinds
        assert not {kind for kind in kinds if kind.startswith("response.audio") or kind == "error"}
        assert event["response"]["output"][0]["content"][0]["type"] == "output_audio"
        tool = dashscope.settings["tools"][0]
        assert (tool["type"], tool["function"]["name"]) == ("function", "knowledge")
        assert dashscope.settings["modalities"] == ["text", "audio"]
    async with asyncio.timeout(5):
        await dashscope.finished.wait()


async def test_a_model_that_is_busy_and_names_nothing_is_asked_again(open_gateway, dial, provider, dashscope) -> None:  # type: ignore[no-untyped-def]
    """DashScope's errors name no event: the refusal is about what was asked first, and is not the client's to see."""
    async with open_gateway(provider, **settings_for(dashscope)) as gateway, dial(gateway) as client:
        await client.until("session.created")
        await client.send("conversation.item.create", item=ASK)
        dashscope.refuse_from = 2
        await client.send("response.create")
        kinds = []
        while (event := await client.next())["type"] != "response.done":
            kinds.append(event["type"])
        assert event["response"]["status"] == "completed"
        assert "error" not in kinds
        assert dashscope.asked == 3


async def test_audio_reaches_the_model_at_its_own_rate(open_gateway, dial, provider, dashscope) -> None:  # type: ignore[no-untyped-def]
    """24 kHz from the client becomes 16 kHz, as one unbroken stream."""
    tone = array("h", [int(8000 * math.sin(2 * math.pi * 440 * n / 24_000)) for n in range(24_000)]).tobytes()
    async with open_gateway(provider, **settings_for(dashscope)) as gateway, dial(gateway) as client:
        await client.until("session.created")
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
