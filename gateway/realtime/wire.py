"""Pure: the text of realtime events, read no further than needed, and the few events that the gateway itself makes."""

import json
import re
from collections.abc import Mapping
from typing import Any

_TYPE_FIRST = re.compile(r'\s*\{\s*"type"\s*:\s*"([a-z_.]+)"\s*[,}]')


def quick_type(text: str) -> str | None:
    """Return the event's type when the text tells it at its start and nowhere takes it back; else None.

    JSON lets a later key of the same name win, and lets it be written with escapes: such text must be parsed.
    """
    match = _TYPE_FIRST.match(text)
    if match is None or "\\" in text or text.find('"type"', match.end(1)) != -1:
        return None
    return match.group(1)


def parsed(text: str) -> dict[str, Any] | None:
    """Return the event, or None when the text is no JSON object with a type."""
    try:
        event = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) and isinstance(event.get("type"), str) else None


def encoded(event: Mapping[str, Any]) -> str:
    """Return the event as compact JSON."""
    return json.dumps(event, ensure_ascii=False, separators=(",", ":"))


def error_event(
    code: str,
    message: str,
    *,
    type: str = "invalid_request_error",
    param: str | None = None,
    about: str | None = None,
) -> dict[str, Any]:
    """Return an ``error`` event; ``about`` is the event id of what the client sent."""
    error = {"type": type, "code": code, "message": message, "param": param, "event_id": about}
    return {"type": "error", "error": error}


__all__ = ["encoded", "error_event", "parsed", "quick_type"]
