"""Several sources asked at once, under one deadline. What failed or came late is said, never hidden."""

import asyncio
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass

from knowledge_provider import KnowledgeError

from .adapter import KnowledgeAdapter
from .documents import KnowledgeHit
from .errors import place_of
from .events import SourceOutcome
from .fusion import fused
from .source_search import Question, SourceHits, SourceSearch
from .sources import KnowledgeSource

logger = logging.getLogger(__name__)

Asked = tuple[KnowledgeSource, KnowledgeAdapter]


@dataclass(frozen=True, slots=True)
class KnowledgeSearch:
    """The hits a caller may read, best first, and what became of every source that was asked."""

    query: str
    hits: tuple[KnowledgeHit, ...]
    sources: tuple[SourceOutcome, ...]

    @property
    def missing(self) -> tuple[SourceOutcome, ...]:
        """The sources that gave nothing because they failed or came late."""
        return tuple(outcome for outcome in self.sources if outcome.status in ("failed", "timed_out"))

    @property
    def partial(self) -> bool:
        return bool(self.missing)


async def search_together(
    asked: Sequence[Asked],
    search: SourceSearch,
    question: Question,
    *,
    timeout_seconds: float,
    skipped: Sequence[SourceOutcome] = (),
) -> KnowledgeSearch:
    """Ask every source at the same time; what is not back within ``timeout_seconds`` is abandoned."""
    tasks = [asyncio.create_task(_timed(search, source, adapter, question)) for source, adapter in asked]
    try:
        if tasks:
            await asyncio.wait(tasks, timeout=timeout_seconds)
    finally:
        for task in tasks:
            task.add_done_callback(_consumed)
            task.cancel()
    outcomes = [
        _outcome(source, task, question, timeout_seconds) for (source, _), task in zip(asked, tasks, strict=True)
    ]
    rankings = [found[0].hits for task in tasks if (found := _answer(task)) is not None]
    hits = tuple(fused(rankings, question.top_k))
    return KnowledgeSearch(question.query, hits, (*outcomes, *skipped))


async def _timed(
    search: SourceSearch, source: KnowledgeSource, adapter: KnowledgeAdapter, question: Question
) -> tuple[SourceHits, float]:
    started = time.monotonic()
    return await search.ask(source, adapter, question), time.monotonic() - started


def _answer(task: asyncio.Task[tuple[SourceHits, float]]) -> tuple[SourceHits, float] | None:
    return task.result() if task.done() and not task.cancelled() and task.exception() is None else None


def _outcome(
    source: KnowledgeSource,
    task: asyncio.Task[tuple[SourceHits, float]],
    question: Question,
    timeout_seconds: float,
) -> SourceOutcome:
    if not task.done():
        return SourceOutcome(
            source_id=source.id, status="timed_out", code="knowledge_timeout", seconds=timeout_seconds, complete=False
        )
    answer = _answer(task)
    if answer is None:
        error = None if task.cancelled() else task.exception()
        why = place_of(error) if error else "cancelled"
        logger.warning("Source %r could not be searched: %s (trace %s)", source.id, why, question.trace_id or "none")
        code = error.code if isinstance(error, KnowledgeError) else "knowledge_internal"
        return SourceOutcome(source_id=source.id, status="failed", code=code, complete=False)
    found, seconds = answer
    return SourceOutcome(
        source_id=source.id,
        status="ok",
        raw=found.raw,
        dropped=found.dropped,
        returned=len(found.hits),
        rounds=found.rounds,
        seconds=seconds,
        complete=found.exhausted or len(found.hits) >= question.top_k,
    )


def _consumed(task: asyncio.Task[tuple[SourceHits, float]]) -> None:
    # An abandoned call may fail long after nobody waits for it; asyncio would report that as unhandled.
    if not task.cancelled():
        task.exception()


__all__ = ["Asked", "KnowledgeSearch", "search_together"]
