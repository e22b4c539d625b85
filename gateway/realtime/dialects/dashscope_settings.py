"""Pure: a session's settings, from the GA shape to DashScope's flat one and back."""

from collections.abc import Mapping
from typing import Any

Event = dict[str, Any]

_SAME_NAME = ("instructions", "tool_choice", "enable_search", "temperature", "top_p", "max_tokens", "voice")
_MODEL_ONLY = ("input_audio_transcription", "turn_detection", "smooth_output", "search_options")


def flat_settings(session: Mapping[str, Any]) -> Event:
    """Return what DashScope is to be told; only what is set appears."""
    flat: Event = {name: session[name] for name in (*_SAME_NAME, *_MODEL_ONLY) if name in session}
    heard, spoken = _audio(session, "input"), _audio(session, "output")
    if "output_modalities" in session:
        # Audio alone is refused there: speech always comes with its text.
        flat["modalities"] = ["text", "audio"] if "audio" in session["output_modalities"] else ["text"]
    if "tools" in session:
        flat["tools"] = [_nested(tool) for tool in session["tools"]]
    if "voice" in spoken:
        flat["voice"] = spoken["voice"]
    if "transcription" in heard:
        flat["input_audio_transcription"] = heard["transcription"]
    if "turn_detection" in heard:
        flat["turn_detection"] = heard["turn_detection"]
    return {**flat, "input_audio_format": "pcm", "output_audio_format": "pcm"}


def ga_session(flat: Mapping[str, Any]) -> Event:
    """Return the session that a GA client expects to be told of."""
    pcm = {"type": "audio/pcm", "rate": 24_000}
    heard: Event = {"format": pcm, "turn_detection": flat.get("turn_detection")}
    if "input_audio_transcription" in flat:
        heard["transcription"] = flat["input_audio_transcription"]
    spoken = {"format": pcm, "voice": flat.get("voice")}
    kept = {name: flat[name] for name in ("id", "model", "instructions", "tool_choice", "expires_at") if name in flat}
    modalities = ["audio"] if "audio" in (flat.get("modalities") or []) else ["text"]
    shape = {"type": "realtime", "object": "realtime.session", "output_modalities": modalities}
    tools = [_flat(tool) for tool in flat.get("tools") or []]
    return {**shape, **kept, "tools": tools, "audio": {"input": heard, "output": spoken}}


def _audio(session: Mapping[str, Any], direction: str) -> Mapping[str, Any]:
    audio = session.get("audio")
    settings = audio.get(direction) if isinstance(audio, Mapping) else None
    return settings if isinstance(settings, Mapping) else {}


def _nested(tool: Mapping[str, Any]) -> Event:
    if tool.get("type") != "function" or "function" in tool:
        return dict(tool)
    return {"type": "function", "function": {key: value for key, value in tool.items() if key != "type"}}


def _flat(tool: Mapping[str, Any]) -> Event:
    function = tool.get("function")
    return {"type": "function", **function} if isinstance(function, Mapping) else dict(tool)


__all__ = ["flat_settings", "ga_session"]
