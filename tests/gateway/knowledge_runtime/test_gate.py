"""What is refused before the provider is asked."""

from typing import Any

import pytest

from gateway import FrontendKnowledgeRuntime
from knowledge_provider import (
    InvalidRetrievalRequest,
    OwnerRequired,
    QueryRequired,
    RetrievalError,
    UnknownKnowledgeBase,
    UnsupportedFilters,
)
from tests.gateway.knowledge_runtime.provider import Provider, ask


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"query": ""}, QueryRequired),
        ({"query": " \n\u200b "}, QueryRequired),
        ({"query": "a" * 501}, InvalidRetrievalRequest),
        ({"owner_id": ""}, OwnerRequired),
        ({"owner_id": "  "}, OwnerRequired),
        ({"top_k": 0}, InvalidRetrievalRequest),
        ({"top_k": 9}, InvalidRetrievalRequest),
        ({"knowledge_base_ids": ["hr"]}, UnknownKnowledgeBase),
        ({"knowledge_base_ids": ["eng"] * 9}, InvalidRetrievalRequest),
        ({"filters": {"year": 2026}}, UnsupportedFilters),
        ({"query": None}, QueryRequired),
        ({"query": 5}, InvalidRetrievalRequest),
        ({"owner_id": None}, OwnerRequired),
        ({"owner_id": 5}, OwnerRequired),
        ({"owner_id": ["ann"]}, OwnerRequired),
        ({"session_id": None}, InvalidRetrievalRequest),
        ({"session_id": ["s"], "turn_id": "t"}, InvalidRetrievalRequest),
        ({"turn_id": 5}, InvalidRetrievalRequest),
        ({"trace_id": 5}, InvalidRetrievalRequest),
        ({"knowledge_base_ids": None}, InvalidRetrievalRequest),
        ({"knowledge_base_ids": "eng"}, InvalidRetrievalRequest),
        ({"filters": 5}, InvalidRetrievalRequest),
    ],
)
async def test_a_request_outside_the_contract_never_reaches_the_provider(
    changes: dict[str, Any], error: type[RetrievalError]
) -> None:
    """Bounds, owner, disclosed knowledge bases and filters are checked before any call."""
    provider = Provider(bases=[{"id": "eng"}])
    async with FrontendKnowledgeRuntime(provider) as runtime:
        with pytest.raises(error):
            await ask(runtime, **changes)
    assert provider.calls == []


async def test_looking_ahead_for_something_wrong_begins_nothing() -> None:
    """`speculate` never raises, whatever it is given."""
    provider = Provider()
    async with FrontendKnowledgeRuntime(provider) as runtime:
        wrong: list[Any] = [(None, "ann", "s"), (5, "ann", "s"), ("a", None, "s"), ("a", 5, "s"), ("a", "ann", ["s"])]
        for query, owner, session in wrong:
            assert not runtime.speculate(query, owner_id=owner, session_id=session)
    assert provider.calls == []


@pytest.mark.parametrize("capabilities", [{}, {"filters": False}])
async def test_filters_for_a_provider_that_does_not_apply_them_are_refused(capabilities: dict[str, bool]) -> None:
    """Ignoring a filter would widen a search that somebody meant to narrow."""
    async with FrontendKnowledgeRuntime(Provider(capabilities=capabilities)) as runtime:
        with pytest.raises(UnsupportedFilters):
            await ask(runtime, filters={"tenant": "a"})
        assert (await ask(runtime, filters={})).status == "ok"
