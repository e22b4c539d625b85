"""Every call leaves one span and its measurements, and never what a user said or who it was."""

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode, get_current_span

from gateway import FrontendKnowledgeRuntime, KnowledgeTool
from knowledge_provider import ProviderUnavailable, RetrievalContext, RetrievalRequest, RetrievalTimedOut


class Provider:
    def __init__(self) -> None:
        self.fails: BaseException | None = None
        self.spans: list[Any] = []
        self.started = asyncio.Event()

    def describe(self) -> Any:
        return {"protocolVersion": 1, "key": "search", "label": "Search"}

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        self.spans.append(get_current_span().get_span_context().span_id)
        self.started.set()
        if request.query == "slow":
            await asyncio.Event().wait()
        if self.fails:
            raise self.fails
        return [{"id": "1", "content": "Releases need two reviewers."}]


class Recorded:
    """A runtime with an SDK that keeps everything in memory."""

    def __init__(self, provider: Provider | None = None, **options: Any) -> None:
        self.exporter = InMemorySpanExporter()
        self.reader = InMemoryMetricReader()
        tracer_provider = TracerProvider()
        tracer_provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.provider = provider or Provider()
        self.runtime = FrontendKnowledgeRuntime(
            self.provider,
            tracer_provider=tracer_provider,
            meter_provider=MeterProvider([self.reader]),
            **options,
        )

    def spans(self) -> tuple[ReadableSpan, ...]:
        return self.exporter.get_finished_spans()

    def points(self, name: str) -> list[tuple[dict[str, Any], Any]]:
        data = self.reader.get_metrics_data()
        found: list[tuple[dict[str, Any], Any]] = []
        for resource in data.resource_metrics if data else ():
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    if metric.name == name:
                        found += [(dict(point.attributes or {}), point) for point in metric.data.data_points]
        return found


@pytest.fixture
async def recorded() -> AsyncIterator[Recorded]:
    recorded = Recorded()
    yield recorded
    await recorded.runtime.aclose()


async def test_a_call_is_one_span_that_the_provider_works_under(recorded: Recorded) -> None:
    """The name and attributes are those of the GenAI conventions, and the provider's own spans become children."""
    await recorded.runtime.search("release policy", owner_id="ann", session_id="s", trace_id="x7", top_k=3)
    (span,) = recorded.spans()
    assert (span.name, span.kind) == ("execute_tool knowledge", SpanKind.INTERNAL)
    attributes = dict(span.attributes or {})
    assert attributes == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "knowledge",
        "gen_ai.tool.type": "function",
        "gen_ai.retrieval.top_k": 3,
        "earpiece.provider": "search",
        "earpiece.trace_id": "x7",
        "earpiece.outcome": "ok",
        "earpiece.cache": "miss",
        "earpiece.results": 1,
    }
    assert recorded.provider.spans == [span.context.span_id]


async def test_neither_query_nor_owner_is_in_it_unless_the_host_wants_the_query(recorded: Recorded) -> None:
    """What a user says is nobody's log line by default."""
    await recorded.runtime.search("release policy", owner_id="ann-owner", session_id="a-session")
    seen = recorded.spans()[0].to_json() + repr(recorded.points("gen_ai.execute_tool.duration"))
    assert "release policy" not in seen
    assert "ann-owner" not in seen
    assert "a-session" not in seen
    wanted = Recorded(record_query_text=True)
    await wanted.runtime.search("release policy", owner_id="ann-owner")
    assert dict(wanted.spans()[0].attributes or {})["gen_ai.retrieval.query.text"] == "release policy"
    await wanted.runtime.aclose()


async def test_an_error_leaves_its_code_and_not_its_words(recorded: Recorded) -> None:
    """A span with the vendor's message would be a leak."""
    recorded.provider.fails = OSError("password=hunter2")
    with pytest.raises(ProviderUnavailable):
        await recorded.runtime.search("release policy", owner_id="ann")
    (span,) = recorded.spans()
    attributes = dict(span.attributes or {})
    assert attributes["error.type"] == attributes["earpiece.outcome"] == "knowledge_unavailable"
    assert span.status.status_code is StatusCode.ERROR
    assert "hunter2" not in span.to_json()


async def test_latency_is_measured_by_outcome_and_lookups_by_cache(recorded: Recorded) -> None:
    """Outcome, latency and cache: what an operator needs to see."""
    for _ in range(3):
        await recorded.runtime.search("release policy", owner_id="ann")
    ((labels, duration),) = recorded.points("gen_ai.execute_tool.duration")
    assert labels == {"earpiece.provider": "search", "earpiece.outcome": "ok"}
    assert duration.count == 3
    lookups = {labels["earpiece.cache"]: point.value for labels, point in recorded.points("earpiece.knowledge.lookups")}
    assert lookups == {"miss": 1, "hit": 2}


async def test_abandoned_calls_are_a_gauge() -> None:
    """It shows how many calls were told to stop and have not."""
    released = threading.Event()

    class Blocking(Provider):
        def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
            released.wait()

    blocking = Recorded(Blocking(), timeout_seconds=0.02)
    with pytest.raises(RetrievalTimedOut):
        await blocking.runtime.search("release policy", owner_id="ann")
    try:
        ((labels, point),) = blocking.points("earpiece.knowledge.abandoned")
    finally:
        released.set()
    assert (labels, point.value) == ({"earpiece.provider": "search"}, 1)
    await blocking.runtime.aclose()


async def test_a_cancelled_call_is_counted_as_cancelled_and_is_no_error(recorded: Recorded) -> None:
    """Barge-in is ordinary."""
    async with asyncio.timeout(5):
        caller = asyncio.create_task(recorded.runtime.search("slow", owner_id="ann"))
        await recorded.provider.started.wait()
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
    (span,) = recorded.spans()
    assert dict(span.attributes or {})["earpiece.outcome"] == "cancelled"
    assert span.status.status_code is StatusCode.UNSET


async def test_calls_that_never_reach_the_runtime_leave_a_span_too(recorded: Recorded) -> None:
    """Refused is an outcome like any other."""
    outcome = await KnowledgeTool(recorded.runtime).call("{", owner_id="ann")
    assert outcome.status == "invalid_request"
    (span,) = recorded.spans()
    assert dict(span.attributes or {})["earpiece.outcome"] == "invalid_request"
