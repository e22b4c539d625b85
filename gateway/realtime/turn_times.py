"""The moments of a turn: for the client's panel, for the operator's metrics, and as one trace.

Times to the first sound and to the answer are kept apart: a holding sentence is a sound and no answer.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from opentelemetry import context as otel_context
from opentelemetry import metrics, trace
from opentelemetry.metrics import MeterProvider
from opentelemetry.trace import Span, TracerProvider

from .holding import HOLDING_MARK

Event = dict[str, Any]
FIRST_SOUND = "earpiece.turn.first_sound"
ANSWER = "earpiece.turn.answer"
_WORDS = ("response.output_audio_transcript.delta", "response.output_text.delta")


class TurnInstruments:
    """The tracer and the histograms that all sessions of a gateway share."""

    def __init__(
        self, *, tracer_provider: TracerProvider | None = None, meter_provider: MeterProvider | None = None
    ) -> None:
        self.tracer = trace.get_tracer("earpiece", tracer_provider=tracer_provider)
        meter = metrics.get_meter("earpiece", meter_provider=meter_provider)
        self.first_sound = meter.create_histogram(FIRST_SOUND, unit="s", description="From the user's last word.")
        self.answer = meter.create_histogram(ANSWER, unit="s", description="From the user's last word; no filler.")


class TurnTimes:
    """Takes the model's events of one session. Milliseconds count from the moment the user stopped speaking.

    ``tell`` gets one ``knowledge.turn`` event for each turn in which something was looked up.
    """

    def __init__(
        self,
        tell: Callable[[Event], None],
        instruments: TurnInstruments,
        *,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._tell = tell
        self._instruments = instruments
        self._clock = clock
        self._span: Span | None = None
        self._turn = ""
        self._moments: dict[str, float] = {}
        self._asked_at = 0.0
        self._holding: set[object] = set()

    @contextmanager
    def within(self, turn_id: str) -> Iterator[None]:
        """Whatever is begun within belongs to the trace of this turn."""
        token = otel_context.attach(trace.set_span_in_context(self._begun(turn_id)))
        try:
            yield
        finally:
            otel_context.detach(token)

    def asked(self, turn_id: str) -> None:
        """The user has stopped speaking, or has sent a text."""
        self._begun(turn_id)
        self._asked_at = self._clock()
        self._moments = {name: moment for name, moment in self._moments.items() if name == "prefetch"}

    def mark(self, name: str, turn_id: str) -> None:
        """Note the first time that something happened in a turn: ``prefetch``, ``call``, ``result``."""
        span = self._begun(turn_id)
        if name in ("call", "result"):
            self._moments.pop("answer", None)  # what was said before the result announced it and answered nothing
        if name not in self._moments:
            self._moments[name] = self._clock()
            span.add_event(f"earpiece.{name}")

    def take(self, event: Event) -> None:
        """Take one event of the model."""
        match event["type"]:
            case "response.created" if HOLDING_MARK in (_response(event).get("metadata") or {}):
                self._holding.add(_response(event).get("id"))
            case kind if kind in _WORDS and self._span is not None:
                self._spoken(event.get("response_id") in self._holding)
            case "response.done" if _response(event).get("id") in self._holding:
                self._holding.discard(_response(event).get("id"))
            case "response.done" if "answer" in self._moments and not self._looking_up:
                self.end()

    def end(self) -> None:
        """The turn is over: tell of it, and close its span."""
        if self._span is None:
            return
        if self._asked_at and "answer" in self._moments:
            self._instruments.answer.record(self._moments["answer"] - self._asked_at)
        if "call" in self._moments:
            self._tell({"type": "knowledge.turn", "turn_id": self._turn, "at_ms": self._at()})
        self._span.end()
        self._span, self._moments = None, {}

    @property
    def _looking_up(self) -> bool:
        return "call" in self._moments and "result" not in self._moments

    def _spoken(self, holding: bool) -> None:
        if "first_sound" not in self._moments and self._asked_at:
            self._instruments.first_sound.record(self._clock() - self._asked_at)
        self.mark("first_sound", self._turn)
        if not holding:
            self.mark("answer", self._turn)

    def _at(self) -> dict[str, float]:
        start = self._asked_at or min(self._moments.values())
        return {name: round((moment - start) * 1000, 1) for name, moment in self._moments.items()}

    def _begun(self, turn_id: str) -> Span:
        if self._span is None or turn_id != self._turn:
            self.end()
            self._turn, self._moments, self._asked_at = turn_id, {}, 0.0
            self._span = self._instruments.tracer.start_span("turn", context=otel_context.Context())
        return self._span


def _response(event: Event) -> Event:
    return event.get("response") or {}


__all__ = ["TurnInstruments", "TurnTimes"]
