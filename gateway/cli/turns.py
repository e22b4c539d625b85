"""What was asked and answered, as the gateway's events tell it. No network and no screen in here."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ..realtime.holding import HOLDING_MARK

Phase = Literal["queued", "listening", "asked", "looking", "answering", "done", "interrupted", "failed", "lost"]
Event = Mapping[str, Any]

RUNNING = frozenset({"listening", "asked", "looking", "answering"})
_REMEMBERED_TURNS = 12


@dataclass(slots=True)
class Lookup:
    """One look-up; ``milliseconds`` is None while it runs, ``waited_milliseconds`` is set once it is slow."""

    query: str
    began: float
    status: str = "running"
    milliseconds: float | None = None
    waited_milliseconds: float = 0.0


@dataclass(slots=True)
class SaidTurn:
    """One question and what came of it. A ``spoken`` one has words only if the model writes down what it hears."""

    question: str
    phase: Phase = "queued"
    spoken: bool = False
    item: str = ""
    answer: str = ""
    problem: str = ""
    lookups: list[Lookup] = field(default_factory=list)
    sources: list[dict[str, Any]] = field(default_factory=list)
    citations: list[dict[str, Any]] = field(default_factory=list)

    @property
    def ended(self) -> bool:
        return self.phase not in RUNNING and self.phase != "queued"


class Turns:
    """``said`` is all of them, oldest first; ``changed`` is called with each turn that is new or different."""

    def __init__(self, changed: Callable[[SaidTurn], None]) -> None:
        self.said: list[SaidTurn] = []
        self._changed = changed
        self._responses: dict[str, SaidTurn] = {}
        self._calls: dict[str, tuple[SaidTurn, Lookup]] = {}
        self._holding: set[str] = set()

    @property
    def current(self) -> SaidTurn | None:
        """The last turn that the model knows of."""
        return next((turn for turn in reversed(self.said) if turn.phase != "queued"), None)

    @property
    def running(self) -> SaidTurn | None:
        """The turn that is not answered yet, if any."""
        turn = self.current
        return turn if turn is not None and turn.phase in RUNNING else None

    @property
    def queued(self) -> list[SaidTurn]:
        return [turn for turn in self.said if turn.phase == "queued"]

    def begin(self, turn: SaidTurn) -> SaidTurn:
        """Add a turn and return it."""
        self.said.append(turn)
        self._changed(turn)
        return turn

    def move(self, turn: SaidTurn, phase: Phase) -> None:
        """Say how far a turn has come."""
        turn.phase = phase
        self._changed(turn)

    def lose(self) -> None:
        """The connection is gone, and with it every answer that was not complete."""
        for known in (self._responses, self._calls, self._holding):
            known.clear()
        for turn in self.said:
            if not turn.ended:
                self.move(turn, "lost")

    def history(self) -> list[tuple[str, str]]:
        """Return the last questions in words, each with its answer, for a session that knows of none."""
        return [
            (turn.question, turn.answer) for turn in self.said[-_REMEMBERED_TURNS:] if turn.question and turn.answer
        ]

    def take(self, event: Event) -> None:
        """Take one event of the gateway. A sentence that only bridges a slow look-up is neither answer nor end."""
        handler = _HANDLERS.get(event["type"])
        if handler is not None:
            handler(self, event)

    def is_holding(self, event: Event) -> bool:
        """Say whether the event is about a response that only bridges a slow look-up."""
        return event.get("response_id", (event.get("response") or {}).get("id")) in self._holding

    def wants(self, response_id: str) -> bool:
        """Say whether what this response says is still to be heard."""
        turn = self._responses.get(response_id)
        return turn is not None and turn.phase in RUNNING

    def _started(self, event: Event) -> None:
        turn = self.running
        if turn is None:
            return
        lookup = Lookup(event.get("query", ""), time.perf_counter())
        turn.lookups.append(lookup)
        self._calls[event["call_id"]] = (turn, lookup)
        self.move(turn, "looking")

    def _slow(self, event: Event) -> None:
        if found := self._calls.get(event["call_id"]):
            turn, lookup = found
            lookup.waited_milliseconds = event["waited_ms"]
            self._changed(turn)

    def _completed(self, event: Event) -> None:
        found = self._calls.get(event["call_id"])
        if found is None:
            return
        turn, lookup = found
        lookup.status = event.get("status", "superseded")
        lookup.milliseconds = event.get("elapsed_ms", (time.perf_counter() - lookup.began) * 1000)
        turn.sources += [source for source in event.get("sources", ()) if source not in turn.sources]
        self.move(turn, "asked" if turn.phase == "looking" else turn.phase)

    def _cited(self, event: Event) -> None:
        found = self._calls.get(event.get("call_id", ""))
        if found is None:
            return
        turn = found[0]
        turn.citations += [citation for citation in event["citations"] if citation not in turn.citations]
        self._changed(turn)

    def _response_began(self, event: Event) -> None:
        response = event["response"]
        if HOLDING_MARK in (response.get("metadata") or {}):
            self._holding.add(response["id"])
        if self.current is not None:
            self._responses[response["id"]] = self.current

    def _words(self, event: Event) -> None:
        if not self.wants(event["response_id"]) or self.is_holding(event):
            return
        turn = self._responses[event["response_id"]]
        turn.answer += event["delta"]
        self.move(turn, "answering")

    def _response_done(self, event: Event) -> None:
        response = event["response"]
        if self.is_holding(event):
            return
        turn = self._responses.pop(response["id"], self.current)
        if turn is None or turn.phase not in RUNNING:
            return
        endings: dict[str, Phase] = {"completed": "done", "cancelled": "interrupted"}
        phase = endings.get(response.get("status", ""), "failed")
        if phase == "failed":
            turn.problem = "The model could not answer."
        self.move(turn, phase)

    def _speech_started(self, event: Event) -> None:
        if self.running is not None:
            self.move(self.running, "interrupted")
        self.begin(SaidTurn("", "listening", spoken=True, item=event.get("item_id") or ""))

    def _speech_stopped(self, event: Event) -> None:
        turn = self.current
        if turn is not None and turn.phase == "listening":
            self.move(turn, "asked")

    def _heard(self, event: Event) -> None:
        about = [turn for turn in self.said if turn.spoken and turn.item == event["item_id"]]
        if about:
            about[-1].question = event.get("transcript") or about[-1].question + event.get("delta", "")
            self._changed(about[-1])

    def _failed(self, event: Event) -> None:
        error = event.get("error") or {}
        turn = self.running
        if turn is not None and error.get("code") != "response_cancel_not_active":
            turn.problem = error.get("message") or "The model reported an error."
            self.move(turn, "failed")


_HANDLERS: dict[str, Callable[[Turns, Event], None]] = {
    "knowledge.started": Turns._started,
    "knowledge.slow": Turns._slow,
    "knowledge.completed": Turns._completed,
    "knowledge.superseded": Turns._completed,
    "knowledge.citations": Turns._cited,
    "response.created": Turns._response_began,
    "response.output_text.delta": Turns._words,
    "response.output_audio_transcript.delta": Turns._words,
    "response.done": Turns._response_done,
    "input_audio_buffer.speech_started": Turns._speech_started,
    "input_audio_buffer.speech_stopped": Turns._speech_stopped,
    "conversation.item.input_audio_transcription.delta": Turns._heard,
    "conversation.item.input_audio_transcription.completed": Turns._heard,
    "error": Turns._failed,
}

__all__ = ["RUNNING", "Lookup", "Phase", "SaidTurn", "Turns"]
