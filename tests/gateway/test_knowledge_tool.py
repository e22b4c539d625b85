"""The tool answers every call of a model with one typed outcome, and lets it choose nothing that is the gateway's."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway import FrontendKnowledgeRuntime, KnowledgeTool, ToolOutcome
from knowledge_provider import (
    InvalidRetrievalRequest,
    KnowledgeNotFound,
    ProviderForbidden,
    ProviderRateLimited,
    ProviderUnauthorized,
    ProviderUnavailable,
    ProviderUnconfigured,
    RetrievalContext,
    RetrievalRequest,
    RetrievalTimedOut,
    UnsupportedFilters,
)

BASES = [{"id": "eng", "label": "Engineering", "description": "How we build"}, {"id": "hr", "label": "People"}]


class Provider:
    """Finds what was asked for, records who asked, and fails or waits as the test says."""

    def __init__(self, *, bases: Any = None) -> None:
        self.calls: list[tuple[RetrievalRequest, RetrievalContext]] = []
        self.fails: BaseException | None = None
        self.found = True
        self.started = asyncio.Event()
        self.gate = asyncio.Event()
        self.gate.set()
        self._bases = bases

    def describe(self) -> Any:
        return {"protocolVersion": 1, "key": "search", "label": "Search", "knowledgeBases": self._bases}

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        self.calls.append((request, context))
        self.started.set()
        await self.gate.wait()
        if self.fails:
            raise self.fails
        content = f"About {request.query}, see https://docs.example.com/a/b?c=d"
        source = {"title": "Handbook", "uri": f"https://docs.example.com/{len(self.calls)}"}
        return [{"id": "1", "content": content, "source": source}] if self.found else []


@pytest.fixture
def provider() -> Provider:
    return Provider(bases=BASES)


@pytest.fixture
async def tool(provider: Provider) -> AsyncIterator[KnowledgeTool]:
    async with FrontendKnowledgeRuntime(provider) as runtime:
        yield KnowledgeTool(runtime)


async def call(tool: KnowledgeTool, arguments: Any = '{"query": "release policy"}', **ids: str) -> ToolOutcome:
    return await tool.call(arguments, **({"owner_id": "ann", "session_id": "s", "turn_id": "t"} | ids))


def told(outcome: ToolOutcome) -> dict[str, Any]:
    heard: dict[str, Any] = json.loads(outcome.output)
    assert heard["status"] == outcome.status
    return heard


async def test_the_definition_is_flat_and_offers_query_top_k_and_disclosed_bases(tool: KnowledgeTool) -> None:
    """Nothing else: no filters, no owner, no vendor action (design, section 4)."""
    definition = tool.definition
    assert definition is not None
    assert (definition["type"], definition["name"]) == ("function", "knowledge")
    parameters = definition["parameters"]
    assert set(parameters["properties"]) == {"query", "top_k", "knowledge_base_ids"}
    assert parameters["required"] == ["query"]
    assert parameters["additionalProperties"] is False
    assert parameters["properties"]["knowledge_base_ids"]["items"]["enum"] == ["eng", "hr"]
    assert "eng: How we build" in parameters["properties"]["knowledge_base_ids"]["description"]
    assert (parameters["properties"]["top_k"]["minimum"], parameters["properties"]["top_k"]["maximum"]) == (1, 8)


async def test_without_disclosed_bases_there_is_nothing_to_choose() -> None:
    """Knowledge bases appear only where they were disclosed."""
    async with FrontendKnowledgeRuntime(Provider()) as runtime:
        definition = KnowledgeTool(runtime).definition_for("ann")
    assert definition is not None
    assert set(definition["parameters"]["properties"]) == {"query", "top_k"}


async def test_without_a_provider_there_is_no_tool_and_a_call_is_told_so() -> None:
    """Knowledge is optional (seed 1)."""
    async with FrontendKnowledgeRuntime() as runtime:
        tool = KnowledgeTool(runtime)
        assert tool.definition is None
        outcome = await call(tool)
    assert told(outcome)["status"] == "unconfigured"
    assert not outcome.retryable


async def test_a_result_goes_to_the_model_without_links_and_to_the_client_with_them(tool: KnowledgeTool) -> None:
    """Two lanes: what is spoken, and what is shown."""
    outcome = await call(tool)
    heard = told(outcome)
    assert heard["status"] == "ok"
    assert heard["results"][0]["citation"] == "source_1"
    assert "https://" not in outcome.output
    assert [citation.uri for citation in outcome.citations] == ["https://docs.example.com/1"]
    assert outcome.response is not None
    assert outcome.response.query == "release policy"


async def test_nothing_found_is_typed(tool: KnowledgeTool, provider: Provider) -> None:
    """A bare empty list makes models search again and again."""
    provider.found = False
    outcome = await call(tool)
    assert told(outcome)["status"] == "no_results"
    assert told(outcome)["message"]
    assert told(await call(tool))["status"] == "repeated"
    assert len(provider.calls) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        '{"query": "a", "ownerId": "ben", "owner_id": "ben", "sessionId": "x", "turn_id": "x", "traceId": "x"}',
        '{"query": "a", "filters": {"tenant": "ben"}}',
        '{"query": "a", "context": {"owner_id": "ben"}}',
        '{"query": "a", "request": {"filters": {"a": 1}}, "cancelled": true, "deadline": 0}',
        {"query": "a", "ownerId": "ben", "filters": {"tenant": "ben"}, "__class__": "x", "self": 1},
    ],
)
async def test_who_asks_comes_from_the_gateway_alone(tool: KnowledgeTool, provider: Provider, arguments: Any) -> None:
    """Nothing the model writes can set or reach owner, session, turn, trace or filters."""
    assert (await call(tool, arguments, trace_id="x7")).status == "ok"
    request, context = provider.calls[0]
    assert (context.owner_id, context.session_id, context.turn_id, context.trace_id) == ("ann", "s", "t", "x7")
    assert request == RetrievalRequest(query="a")
    assert "ben" not in repr(request) + repr(context)


@pytest.mark.parametrize("bases", ['["finance"]', '["eng", "finance"]', '"finance"', '["../eng"]', '["ENG"]'])
async def test_undisclosed_knowledge_bases_are_refused(tool: KnowledgeTool, provider: Provider, bases: str) -> None:
    """Refused, not passed on and not dropped."""
    outcome = await call(tool, f'{{"query": "a", "knowledge_base_ids": {bases}}}')
    assert told(outcome)["status"] == "invalid_request"
    assert provider.calls == []


async def test_a_disclosed_knowledge_base_reaches_the_provider(tool: KnowledgeTool, provider: Provider) -> None:
    """Also as a text instead of a list."""
    assert (await call(tool, '{"query": "a", "knowledge_base_ids": "eng"}')).status == "ok"
    assert provider.calls[0][0].knowledge_base_ids == ("eng",)


@pytest.mark.parametrize(
    "arguments", ["", "{", "{}", "null", None, [], '{"query": ""}', '{"query": "' + "a" * 501 + '"}']
)
async def test_unreadable_arguments_are_answered_and_never_run(
    tool: KnowledgeTool, provider: Provider, arguments: Any
) -> None:
    """invalid_request, with one sentence on what to send; never an empty query."""
    outcome = await call(tool, arguments)
    assert told(outcome)["status"] == "invalid_request"
    assert "Send" in told(outcome)["message"]
    assert provider.calls == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(arguments=st.text() | st.dictionaries(st.text(), st.text()) | st.text().map(lambda q: json.dumps({"query": q})))
async def test_any_text_as_arguments_gets_one_typed_outcome(
    tool: KnowledgeTool, provider: Provider, arguments: Any
) -> None:
    """Whatever a model writes, the call is answered."""
    outcome = await call(tool, arguments, turn_id="")
    assert told(outcome)["status"] in {"ok", "invalid_request"}
    assert all(context.owner_id == "ann" for _, context in provider.calls)


@pytest.mark.parametrize(
    ("error", "status", "retryable"),
    [
        (RetrievalTimedOut("search"), "timeout", True),
        (ProviderUnavailable("search"), "unavailable", True),
        (ProviderRateLimited("search"), "unavailable", True),
        (ProviderUnauthorized("search"), "unavailable", False),
        (ProviderForbidden("search"), "unavailable", False),
        (KnowledgeNotFound("search"), "unavailable", False),
        (ProviderUnconfigured("search"), "unconfigured", False),
        (UnsupportedFilters("search"), "invalid_request", False),
        (InvalidRetrievalRequest("secret hunter2"), "invalid_request", False),
        (ValueError("secret hunter2"), "unavailable", True),
        (SystemExit("secret hunter2"), "unavailable", True),
    ],
)
async def test_every_failure_is_a_short_typed_fact(
    tool: KnowledgeTool, provider: Provider, error: BaseException, status: str, retryable: bool
) -> None:
    """The model hears what it may do, and no name, address or secret."""
    provider.fails = error
    outcome = await call(tool)
    heard = told(outcome)
    assert (heard["status"], heard["retryable"], outcome.retryable) == (status, retryable, retryable)
    assert 0 < len(heard["message"]) < 200
    assert "hunter2" not in outcome.output
    assert "search" not in heard["message"]
    assert set(heard) == {"status", "retryable", "message"}


async def test_a_silent_provider_is_a_timeout(provider: Provider) -> None:
    """The audio path never waits for it."""
    provider.gate.clear()
    async with FrontendKnowledgeRuntime(provider, timeout_seconds=0.02) as runtime, asyncio.timeout(5):
        outcome = await call(KnowledgeTool(runtime))
    assert (outcome.status, outcome.retryable) == ("timeout", True)


async def test_a_bug_in_the_gateway_is_an_outcome_too(tool: KnowledgeTool, caplog: pytest.LogCaptureFixture) -> None:
    """call() raises nothing but cancellation; here an owner that cannot be a key breaks it."""
    with caplog.at_level(logging.ERROR):
        outcome = await tool.call('{"query": "a"}', owner_id=["ann"], turn_id="t", trace_id="x7")  # type: ignore[arg-type]
    assert told(outcome)["status"] == "unavailable"
    assert "x7" in caplog.text


async def test_a_call_without_an_owner_is_not_made(tool: KnowledgeTool, provider: Provider) -> None:
    """Nobody is never everybody."""
    assert (await call(tool, owner_id="")).status == "unavailable"
    assert provider.calls == []


async def test_cancellation_is_no_outcome(tool: KnowledgeTool, provider: Provider) -> None:
    """It passes through."""
    provider.gate.clear()
    async with asyncio.timeout(5):
        caller = asyncio.create_task(call(tool))
        await provider.started.wait()
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller


@pytest.mark.parametrize("again", ["release policy", "Release  Policy?", " release policy. "])
async def test_the_same_query_in_a_turn_repeats_the_earlier_results(
    tool: KnowledgeTool, provider: Provider, again: str
) -> None:
    """No provider call, the same citations, and the model is told."""
    first = await call(tool)
    second = await call(tool, {"query": again, "top_k": 2})
    assert told(second)["status"] == "repeated"
    assert told(second)["results"] == told(first)["results"]
    assert second.citations == first.citations
    assert len(provider.calls) == 1


async def test_the_same_query_in_another_turn_or_knowledge_base_is_no_repetition(
    tool: KnowledgeTool, provider: Provider
) -> None:
    """What is remembered belongs to one turn and one scope."""
    await call(tool)
    assert (await call(tool, turn_id="u")).status == "ok"
    assert (await call(tool, owner_id="ben")).status == "ok"
    assert (await call(tool, session_id="z")).status == "ok"
    assert (await call(tool, {"query": "release policy", "knowledge_base_ids": ["eng"]})).status == "ok"


async def test_a_turn_has_three_provider_calls(tool: KnowledgeTool, provider: Provider) -> None:
    """The fourth is told to answer from what it has; refused and repeated calls do not count."""
    for number in range(3):
        assert (await call(tool, {"query": f"question {number}"})).status == "ok"
        assert (await call(tool, {"query": f"question {number}"})).status == "repeated"
        assert (await call(tool, "{")).status == "invalid_request"
    outcome = await call(tool, {"query": "question 4"})
    assert told(outcome)["status"] == "limit_reached"
    assert len(provider.calls) == 3
    assert (await call(tool, {"query": "question 4"}, turn_id="u")).status == "ok"


async def test_failed_calls_count_and_may_be_tried_again(tool: KnowledgeTool, provider: Provider) -> None:
    """A failure is no earlier result, and no way around the limit."""
    provider.fails = OSError("down")
    for _ in range(2):
        assert (await call(tool)).status == "unavailable"
    provider.fails = None
    assert (await call(tool)).status == "ok"
    assert (await call(tool, {"query": "other"})).status == "limit_reached"


async def test_the_limit_holds_for_calls_at_the_same_time(tool: KnowledgeTool, provider: Provider) -> None:
    """Eight parallel calls of one response are three provider calls, also with one query and eight top_k."""
    for turn, arguments in (
        ("t", [{"query": f"question {n}"} for n in range(8)]),
        ("u", [{"query": "question", "top_k": n} for n in range(1, 9)]),
    ):
        provider.calls.clear()
        async with asyncio.timeout(5):
            outcomes = await asyncio.gather(*(call(tool, each, turn_id=turn) for each in arguments))
        assert [outcome.status for outcome in outcomes] == ["ok"] * 3 + ["limit_reached"] * 5
        assert len(provider.calls) == 3


async def test_identical_calls_at_the_same_time_share_one_flight(tool: KnowledgeTool, provider: Provider) -> None:
    """They cost one provider call and one of the turn's three."""
    provider.gate.clear()
    async with asyncio.timeout(5):
        callers = [asyncio.create_task(call(tool)) for _ in range(5)]
        await provider.started.wait()
        provider.gate.set()
        outcomes = await asyncio.gather(*callers)
    assert [outcome.status for outcome in outcomes] == ["ok"] * 5
    assert len(provider.calls) == 1
    assert (await call(tool, {"query": "two"})).status == "ok"
    assert (await call(tool, {"query": "three"})).status == "ok"
    assert (await call(tool, {"query": "four"})).status == "limit_reached"


async def test_the_output_keeps_its_budget(provider: Provider) -> None:
    """The whole output, not each result."""
    make: Callable[[int], dict[str, Any]] = lambda n: {"id": str(n), "content": f"{n} " * 3000}  # noqa: E731

    class Long(Provider):
        async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
            return [make(number) for number in range(8)]

    async with FrontendKnowledgeRuntime(Long()) as runtime:
        outcome = await call(KnowledgeTool(runtime, budget_characters=2000), {"query": "a", "top_k": 8})
    assert len(outcome.output) <= 2000
    assert told(outcome)["truncated"] is True
