"""Rows of services that answer in JSON: the contract's own shape, and the flat shapes seen in the field."""

from collections.abc import Iterable, Mapping
from typing import Any

from knowledge_provider import KnowledgeResult

from ._values import ScoreKind, SourceFields, is_web_address, result_of, text_of

LIST_NAMES = ("results", "documents", "records", "chunks", "hits", "matches", "data", "items", "result")
CONTENT_KEYS = ("content", "text", "page_content", "snippet", "chunk", "statement", "body", "summary")
_ID_KEYS = ("id", "chunk_id", "_id", "uuid")
_SCORE_KEYS = ("score", "similarity", "relevance_score", "_score")
_TAKEN = {*CONTENT_KEYS, *_ID_KEYS, *_SCORE_KEYS, "source", "metadata"}


def results_of(
    rows: Iterable[Any], *, fields: SourceFields | None = None, score_kind: ScoreKind = "raw"
) -> list[KnowledgeResult]:
    """Translate rows: mappings, plain strings, or results of ours; a row without text is left out."""
    found = (_result(row, fields, score_kind) for row in rows)
    return [result for result in found if result is not None]


def _result(row: Any, fields: SourceFields | None, score_kind: ScoreKind) -> KnowledgeResult | None:
    if isinstance(row, KnowledgeResult):
        return row
    if isinstance(row, str):
        return result_of(content=row)
    if not isinstance(row, Mapping):
        return None
    given = row.get("metadata")
    flat = {key: value for key, value in row.items() if key not in _TAKEN}
    metadata = {**flat, **given} if isinstance(given, Mapping) else flat
    return result_of(
        *(row.get(key) for key in _ID_KEYS),
        content=_first_text(row, CONTENT_KEYS),
        metadata=metadata,
        score=next((row[key] for key in _SCORE_KEYS if row.get(key) is not None), None),
        score_kind=score_kind,
        fields=fields,
        **_known_source(row.get("source")),
    )


def _first_text(row: Mapping[Any, Any], keys: Iterable[str]) -> str:
    return next((text for key in keys if (text := text_of(row.get(key)))), "")


def _known_source(source: object) -> dict[str, object]:
    if isinstance(source, str):
        return {"uri": source} if is_web_address(source) else {"locator": source}
    if not isinstance(source, Mapping):
        return {}
    mime_type = source.get("mimeType", source.get("mime_type"))
    return {**{name: source.get(name) for name in ("id", "title", "uri", "locator")}, "mime_type": mime_type}


__all__ = ["CONTENT_KEYS", "LIST_NAMES", "results_of"]
