"""Vendor values become contract values here: text, scores, metadata, sources, ids."""

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any, Literal

from knowledge_provider import KnowledgeResult, MetadataValue, Source

MAX_CONTENT_CHARACTERS = 200_000
"""A passage longer than this is cut here; the gateway cuts much further and says so."""

MAX_METADATA_KEYS = 64

ScoreKind = Literal["raw", "distance"]
"""``raw``: higher is better and passes as it is. ``distance``: lower is better, so no score is passed at all."""

SourceFields = Mapping[str, str]
"""Where a host keeps the facts of a source: our field (id, title, uri, mime_type, locator) -> metadata key."""

_SOURCE_KEYS: Mapping[str, tuple[str, ...]] = {
    "id": ("source_id", "doc_id", "document_id", "ref_doc_id", "file_id"),
    "title": ("title", "file_name", "filename", "name"),
    "uri": ("url", "uri", "source", "link", "href"),
    "mime_type": ("mime_type", "content_type", "file_type"),
    "locator": ("locator", "section", "page_label", "page", "file_path", "path", "source"),
}


def text_of(value: object) -> str:
    """Return visible text, or "" for anything that is none; unpaired surrogates become a replacement character."""
    if not isinstance(value, str):
        return ""
    return value[:MAX_CONTENT_CHARACTERS].encode("utf-8", "replace").decode("utf-8").strip()


def score_of(value: object) -> float | None:
    """Return a finite number, also from numpy's scalars, or None: a score is never invented."""
    value = _plain(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def metadata_of(values: object) -> dict[str, MetadataValue]:
    """Return the flat facts of a vendor's metadata; nested values, private keys and the rest are left out."""
    if not isinstance(values, Mapping):
        return {}
    kept: dict[str, MetadataValue] = {}
    for key, value in values.items():
        plain = _metadata_value(value)
        if isinstance(key, str) and not key.startswith("_") and plain is not None and len(kept) < MAX_METADATA_KEYS:
            kept[text_of(key)] = plain
    kept.pop("", None)
    return kept


def _metadata_value(value: object) -> MetadataValue | None:
    value = _plain(value)
    if isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, list | tuple) and value and all(isinstance(part, str) for part in value):
        value = ", ".join(value)
    return (text_of(value) or None) if isinstance(value, str) else None


def _plain(value: object) -> object:
    """Unwrap a numpy scalar without knowing numpy."""
    if type(value).__module__.partition(".")[0] == "numpy" and not getattr(value, "shape", None):
        item = getattr(value, "item", None)
        return item() if callable(item) else value
    return value


def source_of(metadata: Mapping[str, MetadataValue], fields: SourceFields | None = None, **known: object) -> Source:
    """Find a source's facts: what the vendor says (``known``), else the host's fields, else the usual keys.

    Only http(s) addresses become ``uri``; a path or any other address becomes the locator.
    """
    found: dict[str, str] = {}
    for name, usual in _SOURCE_KEYS.items():
        keys = (fields[name],) if fields is not None and name in fields else usual
        for value in (known.get(name), *((key, metadata.get(key)) for key in keys)):
            if text := _fact(name, value):
                found[name] = text
                break
    return Source(**found)


def _fact(name: str, value: object) -> str:
    key, value = value if isinstance(value, tuple) else ("", value)
    if value is None or isinstance(value, bool):
        return ""
    text = text_of(value if isinstance(value, str) else str(value))
    if name == "uri":
        return text if is_web_address(text) else ""
    if name == "locator":
        return "" if is_web_address(text) else (f"page={text}" if key in ("page", "page_label") and text else text)
    return text


def is_web_address(text: str) -> bool:
    return text[:8].lower().startswith(("http://", "https://"))


def id_of(*candidates: object, content: str, source: Source) -> str:
    """Return the first usable id as text, else a hash of the content and its source."""
    for candidate in candidates:
        if isinstance(candidate, bool) or candidate is None:
            continue
        if text := text_of(candidate if isinstance(candidate, str) else str(candidate)):
            return text
    place = source.id or source.uri or source.locator or ""
    return hashlib.sha256(f"{content}\0{place}".encode()).hexdigest()[:24]


def result_of(
    *ids: object,
    content: object,
    metadata: object = None,
    score: object = None,
    score_kind: ScoreKind = "raw",
    fields: SourceFields | None = None,
    **known: object,
) -> KnowledgeResult | None:
    """Build one result from a vendor's values, or None when it has no text."""
    text = text_of(content)
    if not text:
        return None
    facts = metadata_of(metadata)
    source = source_of(facts, fields, **known)
    return KnowledgeResult(
        id=id_of(*ids, content=text, source=source),
        content=text,
        score=score_of(score) if score_kind == "raw" else None,
        source=source,
        metadata=facts,
    )


def kept(results: Iterable[KnowledgeResult | None], min_score: float | None = None) -> list[KnowledgeResult]:
    """Leave out what has no text and, where the host set ``min_score``, what scored lower or not at all."""
    present = [result for result in results if result is not None]
    if min_score is None:
        return present
    return [result for result in present if result.score is not None and result.score >= min_score]


def check_min_score(min_score: float | None, score_kind: ScoreKind) -> None:
    """Raise ValueError for a threshold that could not be applied."""
    if score_kind not in ("raw", "distance"):
        raise ValueError(f"score_kind must be 'raw' or 'distance', not {score_kind!r}")
    if min_score is not None and score_kind == "distance":
        raise ValueError("min_score needs scores where higher is better; score_kind='distance' passes none")


def rows_at(value: object, names: Sequence[str]) -> list[Any] | None:
    """Return the list itself, or the first list found under one of ``names``."""
    if isinstance(value, list):
        return value
    if isinstance(value, Mapping):
        for name in names:
            if isinstance(value.get(name), list):
                return list(value[name])
    return None


__all__ = [
    "ScoreKind",
    "SourceFields",
    "check_min_score",
    "id_of",
    "is_web_address",
    "kept",
    "metadata_of",
    "result_of",
    "rows_at",
    "score_of",
    "source_of",
    "text_of",
]
