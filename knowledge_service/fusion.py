"""Hits of several sources in one order. Scores of different indexes mean different things, so only ranks are
compared.
"""

from collections.abc import Sequence

from .documents import KnowledgeHit

RANK_OFFSET = 60
"""The usual constant of reciprocal rank fusion: large, so that the first place of one source does not outweigh all."""


def fused(rankings: Sequence[Sequence[KnowledgeHit]], top_k: int) -> list[KnowledgeHit]:
    """The best ``top_k`` of all rankings. Equal ranks keep the order of the sources; a passage is shown once."""
    gains: dict[tuple[str, str, str], float] = {}
    first: dict[tuple[str, str, str], KnowledgeHit] = {}
    for hits in rankings:
        for rank, hit in enumerate(hits):
            key = (hit.source_id, hit.document_id, hit.snippet)
            gains[key] = gains.get(key, 0.0) + 1 / (RANK_OFFSET + rank)
            first.setdefault(key, hit)
    return [first[key] for key in sorted(gains, key=lambda one: -gains[one])[:top_k]]


__all__ = ["RANK_OFFSET", "fused"]
