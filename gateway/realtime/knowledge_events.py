"""Pure: what a client that asks for it is told about our calls. Sent only with ``?knowledge_events=1``."""

import json
from dataclasses import asdict
from typing import Any

from ..knowledge_tool import ToolOutcome
from ..speculation import NO_PREFETCH, PrefetchCounts
from ..text import clean_text, cut_text

Event = dict[str, Any]


def started(call_id: str, turn_id: str, arguments: str) -> Event:
    """A retrieval began."""
    return {"type": "knowledge.started", "call_id": call_id, "turn_id": turn_id, "query": _query(arguments)}


def prefetch(turn_id: str, query: str) -> Event:
    """Something is looked up while the user still speaks, or before the model has called."""
    return {"type": "knowledge.prefetch", "turn_id": turn_id, "query": query}


def slow(call_id: str, turn_id: str, waited_milliseconds: float) -> Event:
    """A retrieval has been under way for so long that the user may be told."""
    return {"type": "knowledge.slow", "call_id": call_id, "turn_id": turn_id, "waited_ms": round(waited_milliseconds)}


def completed(
    call_id: str,
    turn_id: str,
    outcome: ToolOutcome,
    elapsed_milliseconds: float,
    prefetched: PrefetchCounts = NO_PREFETCH,
) -> list[Event]:
    """A retrieval ended: its status and sources, and the citations that may be shown as links, if any.

    ``prefetch`` says what lookups ahead have come to in this turn so far.
    """
    about = {"call_id": call_id, "turn_id": turn_id}
    end: Event = {"type": "knowledge.completed", **about, "status": outcome.status, "retryable": outcome.retryable}
    end |= {"elapsed_ms": round(elapsed_milliseconds, 2), "prefetch": asdict(prefetched)}
    events: list[Event] = [{**end, "sources": _sources(outcome)}]
    if outcome.citations:
        citations = [citation.model_dump(by_alias=True) for citation in outcome.citations]
        events.append({"type": "knowledge.citations", **about, "citations": citations})
    return events


def superseded(call_id: str, turn_id: str, reason: str) -> Event:
    """A retrieval's result is not wanted any more, or its session is gone."""
    return {"type": "knowledge.superseded", "call_id": call_id, "turn_id": turn_id, "reason": reason}


def _query(arguments: str) -> str:
    try:
        query = json.loads(arguments)["query"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    return cut_text(clean_text(query), 500)[0] if isinstance(query, str) else ""


def _sources(outcome: ToolOutcome) -> list[Event]:
    results = outcome.response.results if outcome.response else ()
    return [
        {"id": result.id, "title": result.source.title, "locator": result.source.locator, "citation": result.citation}
        for result in results
    ]


__all__ = ["completed", "prefetch", "slow", "started", "superseded"]
