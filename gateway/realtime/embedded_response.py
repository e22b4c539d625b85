"""One response of the embedded model, from ``response.created`` to ``response.done``."""

import asyncio
import base64
import json
import re
import secrets
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from .extractive_answer import answer_from, is_chinese, phrase
from .holding import HOLDING_MARK
from .synthetic_voice import RATE, speech, voice_is_installed

_AUDIO_CHUNK_BYTES = RATE // 10 * 2
_WORDS = re.compile(r"\S+\s*|\s+")
_CHARACTERS = re.compile(r"[^\S]*\S{1,2}")


class Conversation(Protocol):
    """What a response needs of its session."""

    items: dict[str, dict[str, Any]]

    def emit(self, type: str, **fields: Any) -> None: ...

    def add_item(self, item: dict[str, Any]) -> None: ...


class EmbeddedResponse:
    """Looks at the conversation, then either calls the tool or speaks. ``cancel`` may come at any time."""

    def __init__(
        self, conversation: Conversation, settings: Mapping[str, Any], *, metadata: Mapping[str, str] | None
    ) -> None:
        self.id = f"resp_{secrets.token_hex(10)}"
        self.active = True
        self._conversation = conversation
        self._settings = settings
        self._metadata = metadata
        self._output: list[dict[str, Any]] = []
        self._reason = ""
        self._work: asyncio.Task[None] | None = None

    def cancel(self, reason: str) -> None:
        """End early; ``response.done`` will say ``cancelled`` and why (client_cancelled, turn_detected)."""
        if self.active and not self._reason:
            self._reason = reason
            if self._work:
                self._work.cancel()

    async def run(self) -> None:
        """Produce the whole response; returns when ``response.done`` was sent."""
        self._conversation.emit("response.created", response=self._summary("in_progress"))
        self._work = asyncio.create_task(self._produce())
        if self._reason:
            self._work.cancel()
        try:
            await asyncio.wait([self._work])
        finally:
            self._work.cancel()
        self.active = False
        failed = not self._work.cancelled() and self._work.exception() is not None
        status = "cancelled" if self._work.cancelled() else "failed" if failed else "completed"
        self._finish_items()
        self._conversation.emit("response.done", response=self._summary(status))

    def _summary(self, status: str) -> dict[str, Any]:
        details = {"type": "cancelled", "reason": self._reason} if status == "cancelled" else None
        summary = {"object": "realtime.response", "id": self.id, "status": status, "status_details": details}
        modalities = {"output_modalities": self._settings["output_modalities"]}
        return {**summary, **modalities, "output": list(self._output), "metadata": self._metadata}

    def _finish_items(self) -> None:
        for index, item in enumerate(self._output):
            if item["status"] == "in_progress":
                item["status"] = "incomplete"
                self._emit("response.output_item.done", output_index=index, item=item)

    async def _produce(self) -> None:
        items = list(self._conversation.items.values())
        question = _question(items)
        tool = _lookup_tool(self._settings)
        if HOLDING_MARK in (self._metadata or {}):
            await self._say(phrase("holding", question), question)
            return
        answered = items[-1] if items and items[-1]["type"] == "function_call_output" else None
        if answered is not None:
            await self._say(answer_from(_parsed(answered.get("output")), question), question)
        elif not question:
            await self._say(phrase("deaf", question), question)
        elif tool is None:
            await self._say(phrase("toolless", question), question)
        else:
            self._call(tool, question)

    def _call(self, tool: str, question: str) -> None:
        call_id = f"call_{secrets.token_hex(10)}"
        arguments = json.dumps({"query": question[:500]}, ensure_ascii=False)
        item = self._begin({"type": "function_call", "name": tool, "call_id": call_id, "arguments": ""})
        place = {"item_id": item["id"], "output_index": len(self._output) - 1, "call_id": call_id}
        self._emit("response.function_call_arguments.delta", **place, delta=arguments)
        self._emit("response.function_call_arguments.done", **place, name=tool, arguments=arguments)
        item["arguments"] = arguments
        self._complete(item)

    async def _say(self, text: str, question: str) -> None:
        aloud = "audio" in self._settings["output_modalities"] and voice_is_installed()
        kind = "response.output_audio_transcript" if aloud else "response.output_text"
        part = {"type": "audio", "transcript": ""} if aloud else {"type": "text", "text": ""}
        item = self._begin({"type": "message", "role": "assistant", "content": []})
        place = {"item_id": item["id"], "output_index": len(self._output) - 1, "content_index": 0}
        self._emit("response.content_part.added", **place, part=part)
        for piece in _pieces(text):
            self._emit(f"{kind}.delta", **place, delta=piece)
            await asyncio.sleep(0)
        if aloud:
            await self._speak(text, question, place)
        spoken = {"transcript" if aloud else "text": text}
        self._emit(f"{kind}.done", **place, **spoken)
        self._emit("response.content_part.done", **place, part={**part, **spoken})
        item["content"] = [{"type": f"output_{part['type']}", **spoken}]
        self._complete(item)

    async def _speak(self, text: str, question: str, place: Mapping[str, Any]) -> None:
        pcm = await speech(text, chinese=is_chinese(text) or is_chinese(question))
        for start in range(0, len(pcm), _AUDIO_CHUNK_BYTES):
            chunk = base64.b64encode(pcm[start : start + _AUDIO_CHUNK_BYTES]).decode()
            self._emit("response.output_audio.delta", **place, delta=chunk)
            await asyncio.sleep(0)
        self._emit("response.output_audio.done", **place)

    def _begin(self, fields: dict[str, Any]) -> dict[str, Any]:
        item = {"id": f"item_{secrets.token_hex(10)}", "object": "realtime.item", "status": "in_progress", **fields}
        self._output.append(item)
        self._emit("response.output_item.added", output_index=len(self._output) - 1, item=item)
        self._conversation.add_item(item)
        return item

    def _complete(self, item: dict[str, Any]) -> None:
        item["status"] = "completed"
        self._emit("response.output_item.done", output_index=len(self._output) - 1, item=item)
        self._conversation.emit("conversation.item.done", item=item)

    def _emit(self, type: str, **fields: Any) -> None:
        self._conversation.emit(type, response_id=self.id, **fields)


def _question(items: Iterable[Mapping[str, Any]]) -> str:
    """Return the words of the last message of the user; empty when they were spoken."""
    messages = [item for item in items if item["type"] == "message" and item.get("role") == "user"]
    parts = messages[-1].get("content") or [] if messages else []
    return " ".join(str(part["text"]).strip() for part in parts if part.get("type") == "input_text")


def _lookup_tool(settings: Mapping[str, Any]) -> str | None:
    """Return the name of the first function tool that asks for a ``query``, unless tools are switched off."""
    if settings.get("tool_choice") == "none":
        return None
    for tool in settings.get("tools") or []:
        if tool.get("type") == "function" and "query" in (tool.get("parameters") or {}).get("required", ()):
            return str(tool["name"])
    return None


def _parsed(output: object) -> Mapping[str, Any]:
    try:
        parsed = json.loads(str(output))
    except ValueError:
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _pieces(text: str) -> list[str]:
    """Split for streaming: by word, and by two characters where words are not spaced."""
    return (_CHARACTERS if is_chinese(text) else _WORDS).findall(text)


__all__ = ["EmbeddedResponse"]
