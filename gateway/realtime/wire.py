"""Pure: the text of realtime events, read no further than needed, and the few events that the gateway itself makes.

What was read can be written again: half a character becomes U+FFFD, a number that JSON has not becomes null, and what
is nested so deeply that it only just could be read is no event.
"""

import json
import math
import re
from collections.abc import Mapping
from typing import Any

_TYPE_FIRST = re.compile(r'\s*\{\s*"type"\s*:\s*"([a-z_.]+)"\s*[,}]')
_MAYBE_HALF = re.compile(r"\\u[dD][89a-fA-F]")
_HALF = re.compile("[\ud800-\udfff]")
_DEPTH = 100


def quick_type(text: str) -> str | None:
    """Return the event's type when the text tells it at its start and nowhere takes it back; else None.

    JSON lets a later key of the same name win, and lets it be written with escapes: such text must be parsed.
    """
    match = _TYPE_FIRST.match(text)
    if match is None or "\\" in text or text.find('"type"', match.end(1)) != -1:
        return None
    return match.group(1)


def parsed(text: str) -> dict[str, Any] | None:
    """Return the event, or None when the text is no JSON object with a type, or nested over 100 deep."""
    try:
        event = json.loads(text, parse_float=_finite, parse_constant=_finite)
        if text.count("{") + text.count("[") > _DEPTH and _is_deep(event):
            return None
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict) or not isinstance(event.get("type"), str):
        return None
    whole: dict[str, Any] = json.loads(encoded(event)) if _MAYBE_HALF.search(text) else event
    return whole


def encoded(event: Mapping[str, Any]) -> str:
    """Return the event as compact JSON, fit for UTF-8: half a character becomes U+FFFD, two halves become one."""
    text = json.dumps(event, ensure_ascii=False, separators=(",", ":"))
    if text.isascii() or _HALF.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def error_event(
    code: str,
    message: str,
    *,
    type: str = "invalid_request_error",
    param: str | None = None,
    about: object = None,
) -> dict[str, Any]:
    """Return an ``error`` event; ``about`` is the event id of what the client sent, of use only if it is a text."""
    event_id = about if isinstance(about, str) else None
    error = {"type": type, "code": code, "message": message, "param": param, "event_id": event_id}
    return {"type": "error", "error": error}


def _finite(number: str) -> float | None:
    value = float(number)
    return value if math.isfinite(value) else None


def _is_deep(event: object) -> bool:
    level = [event] if isinstance(event, (dict, list)) else []
    for _ in range(_DEPTH):
        inner = [value.values() if isinstance(value, dict) else value for value in level]
        level = [value for values in inner for value in values if isinstance(value, (dict, list))]
        if not level:
            return False
    return True


__all__ = ["encoded", "error_event", "parsed", "quick_type"]
