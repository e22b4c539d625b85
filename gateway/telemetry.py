"""One span and a few metrics per knowledge call, through the OpenTelemetry API; a host that wants them sets the SDK.

Neither carries an owner, a session or the user's words; the query is added to spans only where a host asks for it.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from opentelemetry import metrics, trace
from opentelemetry.metrics import CallbackOptions, MeterProvider, Observation
from opentelemetry.trace import SpanKind, Status, StatusCode, TracerProvider
from opentelemetry.util.types import AttributeValue

# Names of the GenAI semantic conventions, release 0.1.0. They are still in development and the packages that carry them
# move, so the few that are used stand here.
SPAN_NAME = "execute_tool knowledge"
OPERATION_NAME = "gen_ai.operation.name"
TOOL_NAME = "gen_ai.tool.name"
TOOL_TYPE = "gen_ai.tool.type"
RETRIEVAL_TOP_K = "gen_ai.retrieval.top_k"
RETRIEVAL_QUERY = "gen_ai.retrieval.query.text"
ERROR_TYPE = "error.type"
DURATION = "gen_ai.execute_tool.duration"

PROVIDER = "earpiece.provider"
OUTCOME = "earpiece.outcome"
CACHE = "earpiece.cache"
RESULTS = "earpiece.results"
TRACE_ID = "earpiece.trace_id"
LOOKUPS = "earpiece.knowledge.lookups"
ABANDONED = "earpiece.knowledge.abandoned"
SPECULATIONS = "earpiece.knowledge.speculations"
HIDDEN = "earpiece.knowledge.hidden"
EVENT = "earpiece.event"
PROVIDER_ASKED = "earpiece.provider.asked"
PROVIDER_ANSWERED = "earpiece.provider.answered"
NORMALIZED = "earpiece.normalized"

_ALWAYS: dict[str, AttributeValue] = {OPERATION_NAME: "execute_tool", TOOL_NAME: "knowledge", TOOL_TYPE: "function"}


def moment(name: str) -> None:
    """Mark a step on the span of whoever is looking up, so that a trace shows where its time went."""
    trace.get_current_span().add_event(name)


@dataclass(slots=True)
class CallRecord:
    """What becomes known of a call while it runs."""

    outcome: str = "error"
    cache: str = ""
    error: str = ""
    attributes: dict[str, AttributeValue] = field(default_factory=dict)


class Telemetry:
    """The instruments of one runtime."""

    def __init__(
        self,
        provider: str,
        abandoned: Callable[[], int],
        *,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
    ) -> None:
        self._provider = provider
        self._tracer = trace.get_tracer("earpiece", tracer_provider=tracer_provider)
        meter = metrics.get_meter("earpiece", meter_provider=meter_provider)
        self._duration = meter.create_histogram(DURATION, unit="s", description="Time of a knowledge call.")
        self._lookups = meter.create_counter(LOOKUPS, description="Knowledge calls by how they were answered.")
        self._speculations = meter.create_counter(SPECULATIONS, description="Lookups ahead: started, adopted, wasted.")
        self._hidden = meter.create_histogram(HIDDEN, unit="s", description="Time that lookups ahead have saved.")

        def observed(_: CallbackOptions) -> Iterator[Observation]:
            yield Observation(abandoned(), {PROVIDER: provider})

        meter.create_observable_gauge(ABANDONED, [observed], description="Calls told to stop that have not.")

    def speculation(self, event: str, hidden_ms: float) -> None:
        """Count what became of a lookup ahead of the model's call."""
        self._speculations.add(1, {PROVIDER: self._provider, EVENT: event})
        if hidden_ms:
            self._hidden.record(hidden_ms / 1000, {PROVIDER: self._provider})

    @contextmanager
    def ahead(self) -> Iterator[None]:
        """Span one lookup ahead of the model's call."""
        attributes = {PROVIDER: self._provider}
        with self._tracer.start_as_current_span(
            "prefetch", attributes=attributes, record_exception=False, set_status_on_exception=False
        ):
            yield

    @contextmanager
    def call(self, trace_id: str, **attributes: AttributeValue) -> Iterator[CallRecord]:
        """Span and measure one call; the body fills the record in. An error leaves only its code behind."""
        record = CallRecord()
        started = time.perf_counter()
        known = {**_ALWAYS, PROVIDER: self._provider, TRACE_ID: trace_id}
        with self._tracer.start_as_current_span(
            SPAN_NAME, kind=SpanKind.INTERNAL, attributes=known, record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield record
            finally:
                seconds = time.perf_counter() - started
                labels: dict[str, AttributeValue] = {PROVIDER: self._provider, OUTCOME: record.outcome}
                if record.error:
                    labels[ERROR_TYPE] = record.error
                    span.set_status(Status(StatusCode.ERROR))
                self._duration.record(seconds, labels)
                if record.cache:
                    self._lookups.add(1, {PROVIDER: self._provider, CACHE: record.cache})
                    labels[CACHE] = record.cache
                span.set_attributes({**attributes, **record.attributes, **labels})


__all__ = ["CallRecord", "Telemetry", "moment"]
