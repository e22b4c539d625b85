"""How the service looks to a gateway: one provider, its disclosed sources, and results that say what is missing."""

from collections.abc import Mapping, Sequence
from typing import Any

from knowledge_provider import (
    MAX_DISCLOSED_KNOWLEDGE_BASES,
    PROTOCOL_VERSION,
    KnowledgeBase,
    KnowledgeResult,
    ProviderDescription,
    ProviderHealth,
    ProviderUnavailable,
    RetrievalContext,
    RetrievalTimedOut,
    Source,
    UnknownKnowledgeBase,
)

from .adapter import AdapterHealth
from .caller import EVERYONE
from .documents import KnowledgeHit
from .search import KnowledgeSearch
from .sources import KnowledgeSource

MARGIN_SECONDS = 0.15
"""Left of the gateway's deadline for putting an answer together: a late partial answer is no answer."""


def description(key: str, label: str, sources: Sequence[KnowledgeSource]) -> ProviderDescription:
    """Only sources that every caller may ask are disclosed; the others are searched for those who may."""
    disclosed = tuple(
        KnowledgeBase(id=source.id, label=source.label, description=source.description)
        for source in sources
        if source.ai_exposed and EVERYONE in source.audience
    )
    return ProviderDescription(
        protocol_version=PROTOCOL_VERSION,
        key=key,
        label=label,
        capabilities={"filters": True, "scores": True, "citations": True},
        knowledge_bases=disclosed if 0 < len(disclosed) <= MAX_DISCLOSED_KNOWLEDGE_BASES else None,
    )


def time_for_search(context: RetrievalContext, timeout_seconds: float) -> float:
    """Seconds for the sources, so that what is there by then still reaches the gateway in time."""
    remaining = context.remaining_seconds()
    return min(timeout_seconds, max(remaining - MARGIN_SECONDS, remaining / 2))


def raw_results(key: str, found: KnowledgeSearch) -> Mapping[str, Any]:
    """Results for the gateway. Raises `RetrievalTimedOut`, `ProviderUnavailable` or `UnknownKnowledgeBase` when there
    is nothing to say but that."""
    answered = [outcome for outcome in found.sources if outcome.status == "ok"]
    unknown = [outcome.source_id for outcome in found.sources if outcome.status == "skipped"]
    if not answered and found.missing:
        if all(outcome.status == "timed_out" for outcome in found.missing):
            raise RetrievalTimedOut(key)
        raise ProviderUnavailable(key, "could not search any of its sources")
    if not answered and unknown:
        raise UnknownKnowledgeBase(unknown)
    # The contract's own word for an answer that may not be all there is: the voice model is told which parts.
    return {"results": [_result(hit) for hit in found.hits], "partial": [one.source_id for one in found.missing]}


def _result(hit: KnowledgeHit) -> KnowledgeResult:
    metadata = {name: value for name, value in hit.metadata.items() if value is not None}
    return KnowledgeResult(
        id=hit.chunk_id,
        content=hit.snippet,
        score=hit.score,
        source=Source(id=hit.document_id[:120], title=hit.title or None, uri=hit.uri, locator=hit.document_id),
        metadata=metadata,
    )


def health(states: Mapping[str, AdapterHealth], *, trust_index: bool) -> ProviderHealth:
    """One state from those of the adapters in use."""
    if not states:
        return ProviderHealth(status="unconfigured", message="no source is registered")
    failing = [name for name, state in states.items() if not state.ok]
    if len(failing) == len(states):
        return ProviderHealth(status="unavailable", message=f"no index answers: {', '.join(failing)}"[:500])
    if failing:
        return ProviderHealth(status="degraded", message=f"not answering: {', '.join(failing)}"[:500])
    if trust_index:
        return ProviderHealth(status="degraded", message="trust_index is on: hits that name no record are not checked")
    return ProviderHealth(status="ready")


__all__ = ["MARGIN_SECONDS", "description", "health", "raw_results", "time_for_search"]
