"""Answers of providers, and the bounds that results of them keep."""

import math
from typing import Any

from gateway.normalization import NormalizedResults, normalize
from knowledge_provider import KnowledgeResult


def steady(value: object) -> str:
    """A test id that is the same in every process: no addresses, nothing long."""
    if isinstance(value, int) and abs(value) >= 10**40:
        return "huge"
    text = repr(value)
    return type(value).__name__ if " at 0x" in text else text[:60]


def hit(id: object = "a", content: object = "Text.", **fields: object) -> dict[str, Any]:
    return {"id": id, "content": content, **fields}


def normalized(*hits: object, top_k: int = 8) -> NormalizedResults:
    return normalize(list(hits), provider="p", top_k=top_k)


def only(**fields: object) -> KnowledgeResult:
    return normalized(hit(**fields)).results[0]


def keeps_all_bounds(outcome: NormalizedResults, top_k: int) -> bool:
    return len(outcome.results) <= top_k and all(
        0 < len(result.id) <= 160
        and 0 < len(result.content) <= 4_000
        and (result.score is None or math.isfinite(result.score))
        and len(result.source.id or "") <= 120
        and len(result.source.title or "") <= 300
        and len(result.source.mime_type or "") <= 120
        and len(result.source.locator or "") <= 300
        and len(result.source.uri or "") <= 2_048
        and len(result.metadata) <= 16
        and all(len(key) <= 80 and len(str(value)) <= 500 for key, value in result.metadata.items())
        for result in outcome.results
    )
