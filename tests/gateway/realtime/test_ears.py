"""How transcripts of a realtime model become what the user says."""

from typing import Any

import pytest

from gateway.realtime.ears import Ears

TRANSCRIPT = "conversation.item.input_audio_transcription."


class Listening:
    def __init__(self) -> None:
        self.said: list[tuple[str, str | None]] = []

    def heard(self, delta: str) -> None:
        self.said.append(("heard", delta))

    def heard_so_far(self, text: str) -> None:
        self.said.append(("so far", text))

    def finished(self, text: str | None = None) -> None:
        self.said.append(("finished", text))

    def asked(self) -> None:
        self.said.append(("asked", None))

    def new_turn(self) -> None:
        self.said.append(("new turn", None))

    def close(self) -> None:
        self.said.append(("closed", None))


def heard(*events: dict[str, Any]) -> list[tuple[str, str | None]]:
    listening = Listening()
    ears = Ears(listening)
    for event in events:
        ears.take(event)
    return listening.said


STARTED = {"type": "input_audio_buffer.speech_started", "item_id": "item_2"}
STOPPED = {"type": "input_audio_buffer.speech_stopped", "item_id": "item_2"}
DONE = {"type": "response.done", "response": {"id": "resp_1", "status": "completed"}}


def test_pieces_and_a_final_transcript_are_heard() -> None:
    """An upstream that sends transcripts while the user speaks."""
    piece = {"type": f"{TRANSCRIPT}delta", "item_id": "item_2", "delta": "how many"}
    final = {"type": f"{TRANSCRIPT}completed", "item_id": "item_2", "transcript": "How many?"}
    said = heard(STARTED, piece, STOPPED, final)
    assert said == [("new turn", None), ("heard", "how many"), ("finished", None), ("finished", "How many?")]


def test_a_text_that_still_changes_is_heard_as_a_whole() -> None:
    """DashScope sends what is certain and what is not in two fields."""
    said = heard(STARTED, {"type": f"{TRANSCRIPT}text", "item_id": "item_2", "text": "how ", "stash": "many"})
    assert said[-1] == ("so far", "how many")


def test_words_of_an_earlier_utterance_are_passed_over() -> None:
    """A transcript may come after the user has begun to say something else."""
    late = {"type": f"{TRANSCRIPT}completed", "item_id": "item_1", "transcript": "What was that?"}
    assert heard(STARTED, late) == [("new turn", None)]


@pytest.mark.parametrize(
    ("events", "closed"),
    [
        ((STARTED, STOPPED, DONE), True),
        ((STARTED, DONE), False),
        ((STARTED, STOPPED, {"type": "response.done", "response": {"id": "r", "status": "cancelled"}}), False),
    ],
    ids=["answered", "still speaking", "interrupted"],
)
def test_after_an_answer_nothing_is_looked_up(events: tuple[dict[str, Any], ...], closed: bool) -> None:
    """The end of the answer before does not close the ears for what is said now."""
    assert (("asked", None) in heard(*events)) is closed
