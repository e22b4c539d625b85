"""What the events of a spoken turn become, without a network: begun, ended, written down, interrupted."""

from typing import Any

import pytest

from gateway.cli.said import question_line
from gateway.cli.turns import SaidTurn, Turns
from gateway.realtime.holding import HOLDING_MARK

STARTED = {"type": "input_audio_buffer.speech_started", "item_id": "item_1"}
STOPPED = {"type": "input_audio_buffer.speech_stopped", "item_id": "item_1"}
CREATED = {"type": "response.created", "response": {"id": "resp_1"}}
WORDS = {"type": "response.output_audio_transcript.delta", "response_id": "resp_1", "delta": "Two."}
DONE = {"type": "response.done", "response": {"id": "resp_1", "status": "completed"}}
TRANSCRIPT = "conversation.item.input_audio_transcription."


def after(*events: dict[str, Any]) -> Turns:
    turns = Turns(lambda turn: None)
    for event in events:
        turns.take(event)
    return turns


@pytest.mark.parametrize(
    ("events", "phase", "question"),
    [
        ((STARTED,), "listening", "listening …"),
        ((STARTED, STOPPED), "asked", "(spoken)"),
        ((STARTED, STOPPED, CREATED, WORDS), "answering", "(spoken)"),
        ((STARTED, STOPPED, CREATED, WORDS, DONE), "done", "(spoken)"),
    ],
)
def test_a_spoken_turn_goes_from_listening_to_answered(
    events: tuple[dict[str, Any], ...], phase: str, question: str
) -> None:
    """Each event moves it on; without a transcript it says that it was spoken."""
    (turn,) = after(*events).said
    assert (turn.phase, question_line(turn), turn.spoken) == (phase, question, True)


def test_what_the_model_writes_down_becomes_the_question() -> None:
    """In pieces while it listens, and as a whole in the end, also after the answer has begun."""
    turns = after(STARTED, {"type": f"{TRANSCRIPT}delta", "item_id": "item_1", "delta": "How "})
    turns.take({"type": f"{TRANSCRIPT}delta", "item_id": "item_1", "delta": "manny"})
    assert question_line(turns.said[0]) == "How manny"
    turns.take({"type": f"{TRANSCRIPT}completed", "item_id": "item_1", "transcript": "How many?"})
    turns.take({"type": f"{TRANSCRIPT}completed", "item_id": "item_9", "transcript": "Nobody said this."})
    assert [turn.question for turn in turns.said] == ["How many?"]


def test_speaking_over_an_answer_ends_it_and_its_words_are_wanted_no_more() -> None:
    """The old turn is interrupted, the new one listens, and late words go nowhere."""
    turns = after(STARTED, STOPPED, CREATED, WORDS, {**STARTED, "item_id": "item_2"}, WORDS)
    assert [turn.phase for turn in turns.said] == ["interrupted", "listening"]
    assert turns.said[0].answer == "Two."
    assert not turns.wants("resp_1")


def test_a_sentence_that_bridges_a_wait_is_heard_and_is_no_answer() -> None:
    """It may be played, its words are not written, and its end is not that of the turn."""
    holding = {"type": "response.created", "response": {"id": "resp_0", "metadata": {HOLDING_MARK: "1"}}}
    about = {**WORDS, "response_id": "resp_0"}
    turns = after(STARTED, STOPPED, holding, about, {**DONE, "response": {"id": "resp_0", "status": "completed"}})
    assert turns.wants("resp_0")
    assert turns.is_holding(about)
    assert (turns.said[0].phase, turns.said[0].answer) == ("asked", "")


def test_a_new_session_is_told_only_what_has_words_on_both_sides() -> None:
    """A spoken question that nobody wrote down cannot be told."""
    turns = after(STARTED, STOPPED, CREATED, WORDS, DONE)
    turns.begin(SaidTurn("How many?", "done", answer="Two."))
    turns.begin(SaidTurn("And now?", "asked"))
    assert turns.history() == [("How many?", "Two.")]
    turns.lose()
    assert [turn.phase for turn in turns.said] == ["done", "done", "lost"]
