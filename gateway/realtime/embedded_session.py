"""One conversation with the embedded model: the GA realtime protocol, several turns, cancellation, barge-in.

It is not a language model. It turns the user's words into a call of the ``knowledge`` tool and answers with a sentence
out of what comes back.
"""

import asyncio
import base64
import binascii
import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any

from .embedded_response import EmbeddedResponse
from .synthetic_voice import RATE, voice_is_installed
from .voice_activity import VoiceActivity

Event = dict[str, Any]
NOT_A_LANGUAGE_MODEL = (
    "Earpiece's embedded model. It is not a language model: it looks the user's words up with the knowledge tool and "
    "reads out the sentence that fits best, with the title of its source. It does not understand speech."
)
SESSION_SECONDS = 3600


def identifier(prefix: str) -> str:
    """Return a new id such as ``item_0f3a...``."""
    return f"{prefix}_{secrets.token_hex(10)}"


class EmbeddedSession:
    """The state of one connection. ``send`` takes each server event; it must not block."""

    def __init__(self, send: Callable[[Event], None]) -> None:
        self._send = send
        self.items: dict[str, Event] = {}
        self.session = _defaults()
        self._audio = bytearray()
        self._voice: VoiceActivity | None = None
        self._speech_item = ""
        self._response: EmbeddedResponse | None = None
        self._task: asyncio.Task[None] | None = None

    def emit(self, type: str, **fields: Any) -> None:
        """Send one server event with a fresh event id."""
        self._send({"type": type, "event_id": identifier("event"), **fields})

    def open(self) -> None:
        """Greet the client with what this session is."""
        self.emit("session.created", session=self.session)

    async def close(self) -> None:
        """Stop the running response, if any, and wait for its task."""
        if self._task and not self._task.done():
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def receive(self, event: Mapping[str, Any]) -> None:
        """Take one client event. Never waits: a response runs in a task of its own."""
        handler = _HANDLERS.get(str(event.get("type")))
        if handler is None:
            self._refuse(event, "unknown_event", f"The event type {event.get('type')!r} is not known.")
            return
        try:
            handler(self, event)
        except (AttributeError, KeyError, TypeError, ValueError, binascii.Error):
            self._refuse(event, "invalid_event", f"The event {event.get('type')!r} lacks a field or has a wrong one.")

    def add_item(self, item: Event) -> None:
        """Put an item at the end of the conversation and tell the client."""
        previous = next(reversed(self.items), None)
        self.items[item["id"]] = item
        self.emit("conversation.item.added", previous_item_id=previous, item=item)
        if item.get("status") != "in_progress":
            self.emit("conversation.item.done", previous_item_id=previous, item=item)

    def _refuse(self, event: Mapping[str, Any], code: str, message: str) -> None:
        error = {"type": "invalid_request_error", "code": code, "message": message, "param": None}
        self.emit("error", error={**error, "event_id": event.get("event_id")})

    def _update_session(self, event: Mapping[str, Any]) -> None:
        self.session = _merged(self.session, event["session"])
        if not voice_is_installed():
            self.session["output_modalities"] = ["text"]
        self._voice = None
        self.emit("session.updated", session=self.session)

    def _create_item(self, event: Mapping[str, Any]) -> None:
        given = event["item"]
        item = {"id": identifier("item"), "object": "realtime.item", "status": "completed", **given}
        if given["type"] == "function_call_output" and not self._knows_call(given["call_id"]):
            self._refuse(event, "invalid_function_call_output", f"No function_call with call_id {given['call_id']!r}.")
        elif item["id"] in self.items:
            self._refuse(event, "item_already_exists", f"An item with the id {item['id']!r} exists.")
        else:
            self.add_item(item)

    def _knows_call(self, call_id: str) -> bool:
        return any(item["type"] == "function_call" and item["call_id"] == call_id for item in self.items.values())

    def _delete_item(self, event: Mapping[str, Any]) -> None:
        if self.items.pop(event["item_id"], None) is None:
            self._refuse(event, "item_not_found", f"No item {event['item_id']!r}.")
        else:
            self.emit("conversation.item.deleted", item_id=event["item_id"])

    def _retrieve_item(self, event: Mapping[str, Any]) -> None:
        item = self.items.get(event["item_id"])
        if item is None:
            self._refuse(event, "item_not_found", f"No item {event['item_id']!r}.")
        else:
            self.emit("conversation.item.retrieved", item=item)

    def _truncate_item(self, event: Mapping[str, Any]) -> None:
        fields = {name: event[name] for name in ("item_id", "content_index", "audio_end_ms")}
        self.emit("conversation.item.truncated", **fields)

    def _append_audio(self, event: Mapping[str, Any]) -> None:
        pcm = base64.b64decode(event["audio"], validate=True)
        self._audio += pcm
        detection = self.session["audio"]["input"].get("turn_detection")
        if not detection:
            return
        if self._voice is None:
            silence = int(detection.get("silence_duration_ms") or 500)
            self._voice = VoiceActivity(rate=RATE, silence_milliseconds=silence)
        for change in self._voice.feed(pcm):
            self._speech_started(detection) if change == "started" else self._speech_stopped(detection)

    def _speech_started(self, detection: Mapping[str, Any]) -> None:
        self._speech_item = identifier("item")
        elapsed = self._voice.elapsed_milliseconds if self._voice else 0
        self.emit("input_audio_buffer.speech_started", item_id=self._speech_item, audio_start_ms=elapsed)
        if detection.get("interrupt_response", True) and self._response:
            self._response.cancel("turn_detected")

    def _speech_stopped(self, detection: Mapping[str, Any]) -> None:
        elapsed = self._voice.elapsed_milliseconds if self._voice else 0
        self.emit("input_audio_buffer.speech_stopped", item_id=self._speech_item, audio_end_ms=elapsed)
        self._commit({"type": "input_audio_buffer.commit"})
        if detection.get("create_response", True):
            self._create_response({"type": "response.create"})

    def _commit(self, event: Mapping[str, Any]) -> None:
        if not self._audio:
            self._refuse(event, "input_audio_buffer_commit_empty", "The input audio buffer is empty.")
            return
        self._audio.clear()
        item_id, self._speech_item = self._speech_item or identifier("item"), ""
        previous = next(reversed(self.items), None)
        self.emit("input_audio_buffer.committed", item_id=item_id, previous_item_id=previous)
        content = [{"type": "input_audio", "transcript": None}]
        message = {"object": "realtime.item", "type": "message", "role": "user", "status": "completed"}
        self.add_item({"id": item_id, **message, "content": content})

    def _clear(self, event: Mapping[str, Any]) -> None:
        self._audio.clear()
        self.emit("input_audio_buffer.cleared")

    def _create_response(self, event: Mapping[str, Any]) -> None:
        if self._response and self._response.active:
            code = "conversation_already_has_active_response"
            self._refuse(event, code, f"Conversation already has an active response: {self._response.id}.")
            return
        overrides = event.get("response") or {}
        self._response = EmbeddedResponse(self, {**self.session, **overrides}, metadata=overrides.get("metadata"))
        self._task = asyncio.create_task(self._response.run())

    def _cancel_response(self, event: Mapping[str, Any]) -> None:
        running = self._response if self._response and self._response.active else None
        if running is None or event.get("response_id") not in (None, running.id):
            self._refuse(event, "response_cancel_not_active", "Cancellation failed: no active response found.")
        else:
            running.cancel("client_cancelled")


def _defaults() -> Event:
    detection = {"type": "server_vad", "create_response": True, "interrupt_response": True, "silence_duration_ms": 500}
    pcm = {"type": "audio/pcm", "rate": RATE}
    return {
        "type": "realtime",
        "object": "realtime.session",
        "id": identifier("sess"),
        "model": "earpiece-embedded",
        "expires_at": int(time.time()) + SESSION_SECONDS,
        "instructions": NOT_A_LANGUAGE_MODEL,
        "output_modalities": ["audio"] if voice_is_installed() else ["text"],
        "tools": [],
        "tool_choice": "auto",
        "audio": {"input": {"format": pcm, "turn_detection": detection}, "output": {"format": pcm, "voice": "espeak"}},
    }


def _merged(old: Event, new: Mapping[str, Any]) -> Event:
    nested = {key: _merged(old[key], value) for key, value in new.items() if _both_objects(old.get(key), value)}
    return {**old, **new, **nested}


def _both_objects(old: object, new: object) -> bool:
    return isinstance(old, dict) and isinstance(new, Mapping)


_HANDLERS: dict[str, Callable[[EmbeddedSession, Mapping[str, Any]], None]] = {
    "session.update": EmbeddedSession._update_session,
    "conversation.item.create": EmbeddedSession._create_item,
    "conversation.item.delete": EmbeddedSession._delete_item,
    "conversation.item.retrieve": EmbeddedSession._retrieve_item,
    "conversation.item.truncate": EmbeddedSession._truncate_item,
    "input_audio_buffer.append": EmbeddedSession._append_audio,
    "input_audio_buffer.commit": EmbeddedSession._commit,
    "input_audio_buffer.clear": EmbeddedSession._clear,
    "response.create": EmbeddedSession._create_response,
    "response.cancel": EmbeddedSession._cancel_response,
}

__all__ = ["NOT_A_LANGUAGE_MODEL", "EmbeddedSession", "identifier"]
