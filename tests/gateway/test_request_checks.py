"""What a host hands over becomes a request within the contract, or a typed refusal."""

from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.request_checks import checked_context, checked_request
from knowledge_provider import InvalidRetrievalRequest, OwnerRequired, QueryRequired, RetrievalRequest


def checked(query: Any = "release policy", bases: Any = (), filters: Any = None, top_k: Any = 5) -> RetrievalRequest:
    return checked_request(query, bases, filters, top_k)


@pytest.mark.parametrize(
    ("arguments", "request_"),
    [
        ({"query": " a\u200bb \n"}, RetrievalRequest(query="ab")),
        ({"bases": ["eng", "hr"]}, RetrievalRequest(query="release policy", knowledge_base_ids=("eng", "hr"))),
        ({"bases": iter(["eng"])}, RetrievalRequest(query="release policy", knowledge_base_ids=("eng",))),
        ({"bases": {"eng"}}, RetrievalRequest(query="release policy", knowledge_base_ids=("eng",))),
        ({"filters": {"year": 2026}}, RetrievalRequest(query="release policy", filters={"year": 2026})),
        ({"filters": {}}, RetrievalRequest(query="release policy")),
        ({"top_k": 8}, RetrievalRequest(query="release policy", top_k=8)),
    ],
)
def test_what_keeps_the_contract_becomes_a_request(arguments: dict[str, Any], request_: RetrievalRequest) -> None:
    """The query is cleaned, and ids may come from anything that lists them."""
    assert checked(**arguments) == request_


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"query": 5}, "query is no text"),
        ({"query": b"a"}, "query is no text"),
        ({"query": ["a"]}, "query is no text"),
        ({"query": "a" * 501}, "more than 500 characters"),
        ({"bases": None}, "knowledge_base_ids are no list"),
        ({"bases": "kb"}, "knowledge_base_ids are no list"),
        ({"bases": b"kb"}, "knowledge_base_ids are no list"),
        ({"bases": {"kb": True}}, "knowledge_base_ids are no list"),
        ({"bases": 5}, "knowledge_base_ids are no list"),
        ({"bases": [5]}, "wrong knowledge_base_ids"),
        ({"bases": [None]}, "wrong knowledge_base_ids"),
        ({"bases": [""]}, "wrong knowledge_base_ids"),
        ({"bases": map(str, count())}, "wrong knowledge_base_ids"),
        ({"filters": 5}, "filters are no mapping"),
        ({"filters": 0}, "filters are no mapping"),
        ({"filters": ""}, "filters are no mapping"),
        ({"filters": []}, "filters are no mapping"),
        ({"filters": [("year", 2026)]}, "filters are no mapping"),
        ({"filters": {1: 2}}, "wrong filters"),
        ({"top_k": 0}, "wrong top_k"),
        ({"top_k": None}, "wrong top_k"),
        ({"top_k": "many"}, "wrong top_k"),
    ],
    ids=lambda value: str(value).partition(" at 0x")[0],
)
@pytest.mark.timeout(20)
def test_the_rest_is_refused_with_what_is_wrong(arguments: dict[str, Any], says: str) -> None:
    """A text is no list of its letters, and nothing of the wrong kind is guessed at."""
    with pytest.raises(InvalidRetrievalRequest, match=says):
        checked(**arguments)


@pytest.mark.parametrize("query", [None, "", " \n\u200b "])
def test_a_query_is_required(query: Any) -> None:
    """Nothing is never looked up."""
    with pytest.raises(QueryRequired):
        checked(query)


@pytest.mark.parametrize("owner", [None, "", "  ", 5, ["ann"]])
def test_an_owner_is_required(owner: Any) -> None:
    """Nobody is never everybody."""
    with pytest.raises(OwnerRequired):
        checked_context(owner, "s", "t", "x", seconds=1)


@pytest.mark.parametrize("name", ["session_id", "turn_id", "trace_id"])
@pytest.mark.parametrize("value", [None, 5, ["s"], b"s"])
def test_session_turn_and_trace_are_texts(name: str, value: Any) -> None:
    """They are keys of what is remembered, so they are checked before they are used."""
    texts: dict[str, Any] = {"session_id": "", "turn_id": "", "trace_id": ""} | {name: value}
    with pytest.raises(InvalidRetrievalRequest, match=f"{name} is no text"):
        checked_context("ann", **texts, seconds=1)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.integers(), inner, max_size=3),
    max_leaves=6,
)


@given(st.text() | ANYTHING, ANYTHING, ANYTHING, ANYTHING, st.text() | ANYTHING)
def test_whatever_is_handed_over_is_a_request_or_a_typed_refusal(
    query: Any, bases: Any, filters: Any, top_k: Any, owner: Any
) -> None:
    """No exception but the contract's own."""
    for check in (
        lambda: checked(query, bases, filters, top_k),
        lambda: checked_context(owner, query, bases, filters, seconds=1),
    ):
        try:
            check()
        except InvalidRetrievalRequest:
            continue
