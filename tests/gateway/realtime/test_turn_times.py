"""The moments of a turn, on a clock that the test turns."""

from typing import Any

import pytest

from gateway.realtime.holding import HOLDING_MARK
from gateway.realtime.turn_times import TurnInstruments, TurnTimes


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def told() -> list[dict[str, Any]]:
    return []


@pytest.fixture
def times(clock: Clock, told: list[dict[str, Any]]) -> TurnTimes:
    return TurnTimes(told.append, TurnInstruments(), clock=clock)


def said(times: TurnTimes, response_id: str, metadata: dict[str, str] | None = None) -> None:
    times.take({"type": "response.created", "response": {"id": response_id, "metadata": metadata}})
    times.take({"type": "response.output_audio_transcript.delta", "response_id": response_id, "delta": "Two"})


def done(times: TurnTimes, response_id: str) -> None:
    times.take({"type": "response.done", "response": {"id": response_id, "status": "completed"}})


def answered(times: TurnTimes, clock: Clock, *, after: float) -> None:
    """Seconds later the lookup has its result, and the model says it."""
    clock.now += after
    times.mark("result", "turn_2")
    said(times, "resp_2")
    done(times, "resp_2")


def test_a_holding_sentence_is_a_sound_and_no_answer(
    times: TurnTimes, clock: Clock, told: list[dict[str, Any]]
) -> None:
    """Otherwise fillers would make a slow system look fast."""
    times.asked("turn_2")
    times.mark("call", "turn_2")
    clock.now += 1
    said(times, "resp_h", {HOLDING_MARK: "event_1"})
    done(times, "resp_h")
    answered(times, clock, after=2)
    (event,) = told
    assert event["turn_id"] == "turn_2"
    assert event["at_ms"] == {"call": 0.0, "first_sound": 1000.0, "result": 3000.0, "answer": 3000.0}


def test_what_was_looked_up_before_the_end_of_speech_has_a_time_before_it(
    times: TurnTimes, clock: Clock, told: list[dict[str, Any]]
) -> None:
    """Zero is the user's last word."""
    times.mark("prefetch", "turn_1")
    clock.now += 0.5
    times.asked("turn_1")
    times.mark("call", "turn_1")
    times.mark("result", "turn_1")
    said(times, "resp_1")
    done(times, "resp_1")
    assert told[0]["at_ms"]["prefetch"] == -500.0


def test_a_turn_without_a_call_is_not_told(times: TurnTimes, told: list[dict[str, Any]]) -> None:
    """Small talk is nothing for the panel."""
    times.asked("turn_1")
    said(times, "resp_1")
    done(times, "resp_1")
    assert told == []


def test_a_new_turn_ends_the_one_before(times: TurnTimes, told: list[dict[str, Any]]) -> None:
    """An interrupted turn is told with what it came to."""
    times.asked("turn_1")
    times.mark("call", "turn_1")
    times.asked("turn_2")
    assert [event["turn_id"] for event in told] == ["turn_1"]
    assert "answer" not in told[0]["at_ms"]


def test_words_before_the_call_are_no_answer(times: TurnTimes, clock: Clock, told: list[dict[str, Any]]) -> None:
    """A model that says it will look something up has not answered, and its turn is not over."""
    times.asked("turn_2")
    said(times, "resp_1")
    clock.now += 1
    times.mark("call", "turn_2")
    done(times, "resp_1")
    assert told == []
    answered(times, clock, after=1)
    (event,) = told
    assert event["at_ms"] == {"first_sound": 0.0, "call": 1000.0, "result": 2000.0, "answer": 2000.0}


def test_words_beside_a_running_call_do_not_end_the_turn(
    times: TurnTimes, clock: Clock, told: list[dict[str, Any]]
) -> None:
    """The response that holds the call may be done long before the lookup is."""
    times.asked("turn_2")
    times.mark("call", "turn_2")
    said(times, "resp_1")
    done(times, "resp_1")
    assert told == []
    answered(times, clock, after=1)
    assert told[0]["at_ms"] == {"call": 0.0, "first_sound": 0.0, "result": 1000.0, "answer": 1000.0}
