"""Pure: ranked lists of several systems become one, by rank alone, since their scores cannot be compared."""

import hashlib
from collections.abc import Mapping, Sequence

from knowledge_provider import KnowledgeResult

RANK_CONSTANT = 60
"""Reciprocal rank fusion's usual constant: a hit counts 1 / (60 + rank), so first places do not drown agreement."""


def interleaved(parts: Mapping[str, Sequence[KnowledgeResult]], top_k: int) -> list[KnowledgeResult]:
    """Merge the lists: what several parts found counts more, otherwise parts take turns in their own order.

    Ids are prefixed with the part's name. What two parts found on the same page, or in the same words, is one result;
    the first part's stays. Several passages of a page found by one part stay several.
    Scores are left out: the fused number says nothing about a match, and the raw ones cannot stand side by side.
    """
    weights: dict[str, float] = {}
    first: dict[str, tuple[int, int, KnowledgeResult]] = {}
    known: dict[str, str] = {}
    for order, (name, results) in enumerate(parts.items()):
        seen: set[str] = set()
        elsewhere = dict(known)
        for rank, result in enumerate(results, start=1):
            text, page = _text(result), _page(result)
            same = elsewhere.get(text) or elsewhere.get(page) or text
            known.setdefault(text, same)
            if page:
                known.setdefault(page, same)
            if same in seen:
                continue
            seen.add(same)
            weights[same] = weights.get(same, 0.0) + 1 / (RANK_CONSTANT + rank)
            first.setdefault(same, (rank, order, _named(name, result)))
    ranked = sorted(first, key=lambda same: (-weights[same], first[same][:2]))
    return [first[same][2] for same in ranked[:top_k]]


def _text(result: KnowledgeResult) -> str:
    """The same words are the same passage, wherever they come from."""
    words = " ".join(result.content.split()).casefold()
    return hashlib.sha256(words.encode("utf-8", "replace")).hexdigest()


def _page(result: KnowledgeResult) -> str:
    """The same place of the same page, found by two parts, is one passage however each of them cut it."""
    return f"{result.source.uri} {result.source.locator or ''}" if result.source.uri else ""


def _named(name: str, result: KnowledgeResult) -> KnowledgeResult:
    metadata = {"part": name, **{key: value for key, value in result.metadata.items() if key != "part"}}
    return result.model_copy(update={"id": f"{name}:{result.id}", "score": None, "metadata": metadata})


__all__ = ["RANK_CONSTANT", "interleaved"]
