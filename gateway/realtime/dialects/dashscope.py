"""Qwen realtime models on DashScope: older event names, flat settings, nested tools, 16 kHz in and 24 kHz out.

It gives back neither event ids nor item ids nor metadata; the session falls back on order where those are missing.
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any

from .audio_rate import RateConverter
from .dashscope_settings import flat_settings, ga_session
from .dialect import ErrorClass, Event
from .openai import with_query

_CLIENT_RATE = 24_000
_MODEL_RATE = 16_000

_RENAMED = {
    "response.audio.delta": "response.output_audio.delta",
    "response.audio.done": "response.output_audio.done",
    "response.audio_transcript.delta": "response.output_audio_transcript.delta",
    "response.audio_transcript.done": "response.output_audio_transcript.done",
    "response.text.delta": "response.output_text.delta",
    "response.text.done": "response.output_text.done",
}
_PARTS = {"audio": "output_audio", "text": "output_text"}
_UNSUPPORTED = {"conversation.item.truncate", "output_audio_buffer.clear"}
_RESPONSE_FIELDS = ("instructions",)

# Its codes differ between models and over time; the sentences have stayed.
_EXPIRED_WORDS = ("session was closed because no response", "session timeout", "session expired")
_BUSY_WORDS = ("user is speaking", "another response is in progress", "active response in progress")
_BENIGN_WORDS = ("no active response",)
_FATAL_WORDS = (
    "arrearage",
    "quota",
    "accessdenied",
    "access denied",
    "invalidapikey",
    "model not exist",
    "modelnotfound",
)


class DashScopeDialect:
    """Audio to the model is resampled, audio from it passes with no more than its name changed."""

    raw_from_model: Mapping[str, str] = {"response.audio.delta": "response.output_audio.delta"}
    raw_to_model: frozenset[str] = frozenset()

    def __init__(self) -> None:
        self._to_model_rate = RateConverter(_CLIENT_RATE, _MODEL_RATE)

    def url(self, address: str, model: str) -> str:
        return with_query(address, {"model": model})

    def headers(self, key: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {key}"} if key else {}

    def to_model(self, event: Event) -> Sequence[Event]:
        match event["type"]:
            case "session.update":
                return ({**event, "session": flat_settings(event.get("session") or {})},)
            case "input_audio_buffer.append":
                return self._resampled(event)
            case "input_audio_buffer.commit":
                rest = self._to_model_rate.rest()
                audio = ({"type": "input_audio_buffer.append", "audio": _encoded(rest)},) if rest else ()
                return (*audio, event)
            case "response.create":
                return (_plain_create(event),)
            case "response.cancel":
                return ({key: value for key, value in event.items() if key != "response_id"},)
            case kind if kind in _UNSUPPORTED:
                return ()
        return (event,)

    def from_model(self, event: Event) -> Sequence[Event]:
        kind = event["type"]
        if kind in ("session.created", "session.updated"):
            return ({**event, "session": ga_session(event.get("session") or {})},)
        if kind == "session.finished":
            return ()
        if kind == "conversation.item.created":
            return tuple({**_ga_parts(event), "type": f"conversation.item.{end}"} for end in ("added", "done"))
        return ({**_ga_parts(event), "type": _RENAMED.get(kind, kind)},)

    def error_class(self, error: Mapping[str, Any]) -> ErrorClass:
        text = " ".join(str(error.get(name)) for name in ("code", "type", "message")).lower()
        classes: tuple[tuple[ErrorClass, tuple[str, ...]], ...] = (
            ("expired", _EXPIRED_WORDS),
            ("fatal", _FATAL_WORDS),
            ("benign", _BENIGN_WORDS),
            ("busy", _BUSY_WORDS),
        )
        return next((name for name, words in classes if any(word in text for word in words)), "ordinary")

    def farewell(self) -> Sequence[Event]:
        return ({"type": "session.finish"},)

    def _resampled(self, event: Event) -> Sequence[Event]:
        try:
            pcm = base64.b64decode(event["audio"], validate=True)
        except (KeyError, TypeError, binascii.Error):
            return (event,)  # the model's own complaint says it best
        converted = self._to_model_rate.convert(pcm)
        return ({**event, "audio": _encoded(converted)},) if converted else ()


def _encoded(pcm: bytes) -> str:
    return base64.b64encode(pcm).decode()


def _plain_create(event: Event) -> Event:
    response = event.get("response") or {}
    kept = {name: response[name] for name in _RESPONSE_FIELDS if name in response}
    if "output_modalities" in response:
        kept["modalities"] = flat_settings({"output_modalities": response["output_modalities"]})["modalities"]
    plain = {key: value for key, value in event.items() if key != "response"}
    return {**plain, "response": kept} if kept else plain


def _ga_parts(event: Event) -> Event:
    """Rename the content parts of items, wherever they stand. Events of a part alone have the short names in GA too."""
    changed = dict(event)
    if isinstance(event.get("item"), dict):
        changed["item"] = _ga_item(event["item"])
    response = event.get("response")
    if isinstance(response, dict):
        output = [_ga_item(item) for item in response.get("output") or []]
        modalities = {"output_modalities": response["modalities"]} if "modalities" in response else {}
        changed["response"] = {**response, **modalities, "output": output}
    return changed


def _ga_item(item: Event) -> Event:
    if item.get("role") != "assistant" or not isinstance(item.get("content"), list):
        return item
    return {**item, "content": [_ga_part(part) for part in item["content"]]}


def _ga_part(part: Event) -> Event:
    return {**part, "type": _PARTS.get(str(part.get("type")), part.get("type"))}


__all__ = ["DashScopeDialect"]
