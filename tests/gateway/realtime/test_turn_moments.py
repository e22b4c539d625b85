"""The moments of a turn, as a client and a trace are told of them, with a model that the test plays."""

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.gateway.realtime.played import PlayedModel
from tests.gateway.realtime.providers import WatchedProvider
from tests.gateway.realtime.speech import QUESTION, speaks
from tests.gateway.realtime.stage import staged


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    return exporter


def own(span: ReadableSpan) -> trace.SpanContext:
    context = span.get_span_context()
    assert context is not None
    return context


async def test_the_moments_of_a_turn_are_told_in_order(model: PlayedModel, provider: WatchedProvider) -> None:
    """For a panel: looked up ahead, called, found, delivered, first sound, answer."""
    async with staged(model, provider, events=True) as stage:
        await speaks(stage.model, pieces=True)
        await stage.client.until("knowledge.prefetch")
        await stage.calls(query=QUESTION)
        await stage.model.until("response.create")
        await stage.answers("Two.")
        at = (await stage.client.until("knowledge.turn"))["at_ms"]
    assert list(at) == ["prefetch", "call", "result", "delivered", "first_sound", "answer"]
    assert list(at.values()) == sorted(at.values())


async def test_a_turn_is_one_trace(model: PlayedModel, provider: WatchedProvider, traced: InMemorySpanExporter) -> None:
    """The lookup ahead and the call are children of the turn, and its moments are marked on it."""
    async with staged(model, provider, events=True) as stage:
        await speaks(stage.model, pieces=True)
        await stage.client.until("knowledge.prefetch")
        await stage.calls(query=QUESTION)
        await stage.model.until("response.create")
    spans = {span.name: span for span in traced.get_finished_spans()}
    assert set(spans) == {"turn", "prefetch", "execute_tool knowledge"}
    assert len({own(span).trace_id for span in spans.values()}) == 1
    parents = {name: span.parent and span.parent.span_id for name, span in spans.items()}
    turn = own(spans["turn"]).span_id
    assert parents == {"turn": None, "prefetch": turn, "execute_tool knowledge": turn}
    marks = {event.name for event in spans["turn"].events}
    assert {"earpiece.prefetch", "earpiece.call", "earpiece.result", "earpiece.delivered"} <= marks
    steps = [event.name for event in spans["prefetch"].events]
    assert steps == ["earpiece.provider.asked", "earpiece.provider.answered", "earpiece.normalized"]
    assert QUESTION not in "".join(span.to_json() for span in spans.values())
