"""One source, one question: the index proposes in growing rounds until enough of it is readable by the caller."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .adapter import AdapterSearch, KnowledgeAdapter
from .caller import ExecutionContext
from .current import CurrentDocuments
from .documents import IndexHit, KnowledgeDocument, KnowledgeHit, is_wellformed
from .passages import passage_for
from .sources import KnowledgeSource
from .where import matches


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchLimits:
    """The first round asks for ``first_factor`` x top_k proposals; each next one for ``growth`` times more."""

    first_factor: int = 4
    growth: int = 4
    max_candidates: int = 1024
    max_rounds: int = 5

    def first(self, top_k: int) -> int:
        return min(self.max_candidates, max(1, top_k * self.first_factor))


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked, and on whose behalf."""

    query: str
    top_k: int
    caller: ExecutionContext
    filter: Mapping[str, Any] = field(default_factory=dict)
    trace_id: str = ""


@dataclass(frozen=True, slots=True)
class SourceHits:
    """What one source gave: ``raw`` proposals were looked at, ``dropped`` of them were not shown to this caller."""

    hits: tuple[KnowledgeHit, ...]
    raw: int
    dropped: int
    rounds: int
    exhausted: bool


class SourceSearch:
    """Asks an index and shows only what `CurrentDocuments` can read for the caller.

    ``trust_index`` is the compatibility switch: proposals of object sources that name no record are then shown to every
    identified caller, as the index wrote them.
    """

    def __init__(self, current: CurrentDocuments, limits: SearchLimits, *, trust_index: bool = False) -> None:
        self._current = current
        self._limits = limits
        self._trust_index = trust_index

    async def ask(self, source: KnowledgeSource, adapter: KnowledgeAdapter, question: Question) -> SourceHits:
        known: dict[str, KnowledgeDocument | None] = {}
        limit = self._limits.first(question.top_k)
        rounds = 0
        while True:
            rounds += 1
            raw = await self._proposals(source, adapter, question, limit)
            await self._look_up(source, question.caller, [hit for hit in raw if is_wellformed(hit)], known)
            hits = self._shown(source, question, raw, known)
            exhausted = len(raw) < limit
            if len(hits) >= question.top_k or exhausted or self._is_last(limit, rounds):
                break
            limit = min(limit * self._limits.growth, self._limits.max_candidates)
        return SourceHits(tuple(hits[: question.top_k]), len(raw), len(raw) - len(hits), rounds, exhausted)

    def _is_last(self, limit: int, rounds: int) -> bool:
        return limit >= self._limits.max_candidates or rounds >= self._limits.max_rounds

    async def _proposals(
        self, source: KnowledgeSource, adapter: KnowledgeAdapter, question: Question, limit: int
    ) -> Sequence[IndexHit]:
        options = AdapterSearch(source=source, limit=limit, filter=question.filter, trace_id=question.trace_id)
        return list(await adapter.search(question.query, options))[:limit]

    async def _look_up(
        self,
        source: KnowledgeSource,
        caller: ExecutionContext,
        hits: Sequence[IndexHit],
        known: dict[str, KnowledgeDocument | None],
    ) -> None:
        unknown = [one for one in dict.fromkeys(hit.document_id for hit in hits) if one not in known]
        if unknown:
            readable = await self._current.readable(source, unknown, caller)
            known.update({one: readable.get(one) for one in unknown})

    def _shown(
        self,
        source: KnowledgeSource,
        question: Question,
        raw: Sequence[IndexHit],
        known: Mapping[str, KnowledgeDocument | None],
    ) -> list[KnowledgeHit]:
        shown: dict[tuple[str, str], KnowledgeHit] = {}
        for hit in raw:
            found = self._checked(source, question, hit, known) if is_wellformed(hit) else None
            if found is not None:
                shown.setdefault((found.document_id, found.snippet), found)
        return list(shown.values())

    def _checked(
        self,
        source: KnowledgeSource,
        question: Question,
        hit: IndexHit,
        known: Mapping[str, KnowledgeDocument | None],
    ) -> KnowledgeHit | None:
        of_object = source.object_content() is not None
        if self._trust_index and of_object and hit.source_record_id is None and not question.caller.is_anonymous:
            return _as_proposed(source, hit)
        expected = source.record_id(hit.document_id) if of_object else None
        document = known.get(hit.document_id)
        # Every hit of an object source must name its record, and the one its document stands for.
        if document is None or hit.source_record_id != expected or not matches(question.filter, document.metadata):
            return None
        snippet = passage_for(document.content, question.query, hit.snippet)
        return _hit(source, hit, document, snippet) if snippet else None


def _hit(source: KnowledgeSource, hit: IndexHit, document: KnowledgeDocument, snippet: str) -> KnowledgeHit:
    return KnowledgeHit(
        source_id=source.id,
        document_id=document.id,
        chunk_id=hit.chunk_id,
        score=hit.score,
        snippet=snippet,
        title=document.title,
        uri=document.uri,
        source_record_id=document.source_record_id,
        metadata=document.metadata,
    )


def _as_proposed(source: KnowledgeSource, hit: IndexHit) -> KnowledgeHit:
    return KnowledgeHit(
        source_id=source.id,
        document_id=hit.document_id,
        chunk_id=hit.chunk_id,
        score=hit.score,
        snippet=hit.snippet,
    )


__all__ = ["Question", "SearchLimits", "SourceHits", "SourceSearch"]
