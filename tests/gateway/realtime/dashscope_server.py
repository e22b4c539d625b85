"""A server that speaks as DashScope does; the vendor's SDK vouches for it in `test_dashscope.py`."""

import asyncio
import base64
import json
from typing import Any

from aiohttp import WSMsgType, web

from tests.gateway.realtime.played import Event


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
