"""Pure: what a client that asks for it is told about our calls. Sent only with ``?knowledge_events=1``."""

import json
from typing import Any

from ..knowledge_tool import ToolOutcome

Event = dict[str, Any]


def started(call_id: str, turn_id: str, arguments: str) -> Event:
    """A retrieval began."""
    return {"type": "knowledge.started", "call_id": call_id, "turn_id": turn_id, "query": _query(arguments)}


def completed(call_id: str, turn_id: str, outcome: ToolOutcome, elapsed_milliseconds: float) -> list[Event]:
    """A retrieval ended: its status and sources, and the citations that may be shown as links, if any."""
    about = {"call_id": call_id, "turn_id": turn_id}
    end = {"type": "knowledge.completed", **about, "status": outcome.status, "retryable": outcome.retryable}
    events: list[Event] = [{**end, "elapsed_ms": round(elapsed_milliseconds, 2), "sources": _sources(outcome)}]
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
    return query[:500] if isinstance(query, str) else ""


def _sources(outcome: ToolOutcome) -> list[Event]:
    results = outcome.response.results if outcome.response else ()
    return [
        {"id": result.id, "title": result.source.title, "locator": result.source.locator, "citation": result.citation}
        for result in results
    ]


__all__ = ["completed", "started", "superseded"]
