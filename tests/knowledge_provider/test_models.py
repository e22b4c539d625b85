"""The contract's values keep their bounds, and read and write both spellings."""

import dataclasses
import threading
import time
from typing import Any

import pytest
from pydantic import ValidationError

from knowledge_provider import (
    MAX_QUERY_CHARACTERS,
    KnowledgeResult,
    OwnerRequired,
    ProviderDescription,
    ProviderHealth,
    RetrievalContext,
    RetrievalRequest,
)

DESCRIPTION: dict[str, Any] = {"protocol_version": 1, "key": "company-search", "label": "Company Knowledge"}


def test_a_description_is_read_in_both_spellings_and_written_in_camel_case() -> None:
    """Python is snake_case, wires are camelCase (design, section 3)."""
    snake = ProviderDescription.model_validate(DESCRIPTION | {"knowledge_bases": [{"id": "hr"}]})
    camel = ProviderDescription.model_validate(
        {"protocolVersion": 1, "key": "company-search", "label": "Company Knowledge", "knowledgeBases": [{"id": "hr"}]}
    )
    assert snake == camel
    assert set(snake.model_dump(by_alias=True)) == {
        "protocolVersion",
        "key",
        "label",
        "capabilities",
        "knowledgeBases",
    }


@pytest.mark.parametrize(
    "change",
    [
        {"key": "Company"},
        {"key": "-company"},
        {"key": "company_search"},
        {"key": "company\n"},
        {"key": ""},
        {"key": "a" * 65},
        {"label": ""},
        {"label": "  "},
        {"label": "a" * 121},
        {"capabilities": {"filters": 1}},
        {"capabilities": {"filters": "yes"}},
        {"capabilities": {f"c{n}": True for n in range(17)}},
        {"knowledge_bases": [{"id": ""}]},
        {"knowledge_bases": [{"id": f"kb{n}"} for n in range(65)]},
        {"protocol_version": "1"},
        {"protocol_version": True},
    ],
)
def test_a_wrong_description_is_refused(change: dict[str, Any]) -> None:
    """Keys, labels, capabilities and knowledge bases are bounded (design, section 3)."""
    with pytest.raises(ValidationError):
        ProviderDescription.model_validate(DESCRIPTION | change)


@pytest.mark.parametrize(
    "fields",
    [
        {"query": ""},
        {"query": " \n "},
        {"query": "a" * (MAX_QUERY_CHARACTERS + 1)},
        {"query": "a", "top_k": 0},
        {"query": "a", "top_k": 9},
        {"query": "a", "knowledge_base_ids": [str(n) for n in range(9)]},
        {"query": "a", "knowledge_base_ids": ["k" * 121]},
        {"query": "a", "knowledge_base_ids": [""]},
    ],
)
def test_a_request_outside_the_bounds_is_refused(fields: dict[str, Any]) -> None:
    """Query, top_k and knowledge bases are bounded (seed 1, "Request and trusted context")."""
    with pytest.raises(ValidationError):
        RetrievalRequest.model_validate(fields)


def test_a_request_writes_the_wire_names_of_the_seed() -> None:
    """HTTP adapters POST this as it is."""
    request = RetrievalRequest.model_validate({"query": " release policy ", "topK": 3, "knowledgeBaseIds": ["eng"]})
    assert request.model_dump(mode="json", by_alias=True) == {
        "query": "release policy",
        "topK": 3,
        "knowledgeBaseIds": ["eng"],
        "filters": {},
    }


@pytest.mark.parametrize("owner", ["", "  ", None, 5, b"ann", ["ann"], object()])
def test_a_context_without_an_owner_cannot_be_made(owner: Any) -> None:
    """Nobody is never everybody, and an owner is a text."""
    with pytest.raises(OwnerRequired):
        RetrievalContext(owner_id=owner)


def test_a_context_and_a_request_cannot_be_changed() -> None:
    """A provider cannot become someone else half way."""
    context, request = RetrievalContext(owner_id="ann"), RetrievalRequest(query="a")
    with pytest.raises(dataclasses.FrozenInstanceError):
        context.owner_id = "ben"  # type: ignore[misc]
    with pytest.raises(ValidationError):
        request.query = "b"  # type: ignore[misc]


def test_the_remaining_time_is_infinite_without_a_deadline_and_never_negative() -> None:
    """Providers may pass it on as a timeout as it is."""
    assert RetrievalContext(owner_id="ann").remaining_seconds() == float("inf")
    assert RetrievalContext(owner_id="ann", deadline=time.monotonic() - 1).remaining_seconds() == 0
    assert 50 < RetrievalContext(owner_id="ann", deadline=time.monotonic() + 60).remaining_seconds() <= 60


def test_a_context_tells_threads_of_the_cancellation() -> None:
    """Plain functions cannot be cancelled and look at context.cancelled instead."""
    event = threading.Event()
    context = RetrievalContext(owner_id="ann", cancelled=event)
    assert not RetrievalContext(owner_id="ann").cancelled.is_set()
    event.set()
    assert context.cancelled.is_set()


@pytest.mark.parametrize("score", [float("nan"), float("inf"), float("-inf")])
def test_a_score_is_finite_or_absent(score: float) -> None:
    """Scores are never invented, and never break JSON."""
    with pytest.raises(ValidationError):
        KnowledgeResult(id="a", content="b", score=score)
    assert KnowledgeResult(id="a", content="b").score is None


@pytest.mark.parametrize(
    ("status", "ok"), [("ready", True), ("degraded", True), ("unconfigured", False), ("unavailable", False)]
)
def test_ready_and_degraded_can_answer(status: Any, ok: bool) -> None:
    """Degraded still answers."""
    assert ProviderHealth(status=status).ok is ok
