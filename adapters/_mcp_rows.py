"""What an MCP tool answered, as rows: structured content, JSON in text, or prose where the host allows it."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from knowledge_provider import InvalidRetrievalResult

from ._json_text import parse_json
from ._rows import CONTENT_KEYS, LIST_NAMES
from ._values import rows_at, text_of


def rows_of(
    result: Any, provider: str, *, text_fallback: bool = False, empty_text: Callable[[str], bool] | None = None
) -> list[Any]:
    """Return the rows of a tool's result; raises `InvalidRetrievalResult` for an error or an answer without rows."""
    if getattr(result, "is_error", False):
        raise InvalidRetrievalResult(provider, "an error of its tool")
    rows = _rows_in(getattr(result, "structured_content", None))
    if rows is not None:
        return rows
    texts = [
        text for block in getattr(result, "content", None) or () if (text := text_of(getattr(block, "text", None)))
    ]
    if empty_text is not None and texts and all(empty_text(text) for text in texts):
        return []
    rows = _rows_in_texts(texts, provider)
    if rows is not None:
        return rows
    if text_fallback:
        return texts
    raise InvalidRetrievalResult(provider, "prose, and text_fallback is off" if texts else "no rows")


def size_of(result: Any) -> int:
    """Roughly the bytes of an answer, for transports that cannot be counted while they read."""
    texts = sum(len(getattr(block, "text", None) or "") for block in getattr(result, "content", None) or ())
    structured = getattr(result, "structured_content", None)
    return max(texts, len(json.dumps(structured, default=str)) if structured is not None else 0)


def _rows_in(value: Any, depth: int = 0) -> list[Any] | None:
    """Find the first list under a usual name, also one level deeper; a mapping that has text is one row itself."""
    found = rows_at(value, LIST_NAMES)
    if found is not None or not isinstance(value, Mapping):
        return found
    if depth < 2:
        for name in LIST_NAMES:
            inner = _rows_in(value[name], depth + 1) if isinstance(value.get(name), Mapping) else None
            if inner is not None:
                return inner
    return [value] if any(text_of(value.get(key)) for key in CONTENT_KEYS) else None


def _rows_in_texts(texts: list[str], provider: str) -> list[Any] | None:
    """Read text blocks that are JSON: a list comes whole in one block, or one row in each."""
    rows: list[Any] = []
    for text in texts:
        if text[0] not in "[{":
            return None
        try:
            found = _rows_in(parse_json(text, provider))
        except InvalidRetrievalResult:
            return None
        if found is None:
            return None
        rows += found
    return rows if texts else None


__all__ = ["rows_of", "size_of"]
