"""Two calls share an answer only if everything that was asked, and who asked, is the same."""

import datetime
from typing import Any

import pytest

from gateway.query_key import flight_key, normalized_query
from knowledge_provider import RetrievalRequest

BASE: dict[str, Any] = {"query": "Release policy", "top_k": 5, "knowledge_base_ids": ("a", "b"), "filters": {"year": 1}}


def key(owner: str = "ann", provider: str = "search", **changes: Any) -> Any:
    return flight_key(owner, provider, RetrievalRequest(**(BASE | changes)))


@pytest.mark.parametrize(
    "same", ["release policy", " Release   POLICY? ", "release policy...", "ＲＥＬＥＡＳＥ policy", "Release\npolicy。"]
)
def test_spelling_that_changes_nothing_is_ignored(same: str) -> None:
    """Models rarely repeat a question letter by letter."""
    assert normalized_query(same) == normalized_query("Release policy")


@pytest.mark.parametrize("query", ["?", "...", "C++", "C#", ".NET"])
def test_punctuation_that_is_the_question_stays(query: str) -> None:
    """No query becomes empty, and names keep their signs."""
    assert normalized_query(query)
    assert normalized_query(query) != normalized_query("C")


@pytest.mark.parametrize(
    "other",
    [
        {"owner": "ben"},
        {"provider": "other"},
        {"query": "Release notes"},
        {"top_k": 4},
        {"knowledge_base_ids": ("a",)},
        {"knowledge_base_ids": ()},
        {"filters": {}},
        {"filters": {"year": 2}},
        {"filters": {"year": True}},
        {"filters": {"year": 1.0}},
        {"filters": {"year": "1"}},
        {"filters": {"year": [1]}},
        {"filters": {"year": None}},
    ],
)
def test_anything_else_that_differs_keeps_calls_apart(other: dict[str, Any]) -> None:
    """Never across owners, providers, knowledge bases, filters or top_k (design, section 5)."""
    assert key(**other) != key()


def test_order_that_means_nothing_is_ignored() -> None:
    """The same set of knowledge bases and the same filters are the same question."""
    assert key(knowledge_base_ids=("b", "a", "a")) == key()
    assert key(filters={"a": 1, "b": [1, 2]}) == key(filters={"b": [1, 2], "a": 1})
    assert key(filters={"a": [1, 2]}) != key(filters={"a": [2, 1]})


def test_filters_that_cannot_be_compared_are_never_shared() -> None:
    """In doubt two calls are two calls."""
    filters: dict[str, Any] = {"since": datetime.date(2026, 1, 1)}
    assert key(filters=filters) != key(filters=filters)
    loop: list[Any] = []
    loop.append(loop)
    assert key(filters={"loop": loop}) != key(filters={"loop": loop})
