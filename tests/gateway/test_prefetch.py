"""The planner, which knows words and times and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.prefetch import PrefetchPlanner

QUESTION = "how many reviewers does every release need"


def spoken(planner: PrefetchPlanner, text: str, *, gap: float = 1 / 3, start: float = 0.0) -> tuple[list[str], float]:
    """Say the text word by word; returns what was proposed on the way, and when the last word came."""
    proposed, now, words = [], start, text.split()
    for count in range(1, len(words) + 1):
        now = start + count * gap
        planner.hear(" ".join(words[:count]), now)
        proposed += [query for query in [planner.due(now)] if query]
    return proposed, now


def test_a_pause_proposes_what_was_said_once() -> None:
    """Nothing while words still come; the whole 0.4 s after the last; and not a second time."""
    planner = PrefetchPlanner()
    proposed, last = spoken(planner, QUESTION)
    assert proposed == []
    assert planner.wake_at(last) == pytest.approx(last + 0.4)
    assert planner.due(last + 0.39) is None
    assert planner.due(last + 0.4) == QUESTION
    assert planner.due(last + 0.5) is None
    assert planner.wake_at(last + 0.5) is None


def test_the_end_of_speech_does_not_wait_for_words_to_settle() -> None:
    """An upstream that says so, or sends one final transcript, gains the 0.4 s."""
    planner = PrefetchPlanner()
    planner.hear(QUESTION, 1.0)
    planner.finish(1.0)
    assert planner.due(1.0) == QUESTION


@pytest.mark.parametrize("text", ["so what is it about", "how many reviewers are there", "你们这个呢", "报销款"])
def test_few_content_words_propose_nothing(text: str) -> None:
    """Greetings and half sentences are not worth a lookup; that holds without spaces too."""
    planner = PrefetchPlanner()
    planner.hear(text, 0.0)
    assert planner.due(1.0) is None


def test_chinese_is_heard_without_spaces() -> None:
    """Six characters with content are three words."""
    planner = PrefetchPlanner()
    planner.hear("出差报销材料", 0.0)
    assert planner.due(0.4) == "出差报销材料"


def test_a_revised_word_has_to_settle_again() -> None:
    """Recognizers change their mind about the last words; what they drop is never looked up."""
    planner = PrefetchPlanner()
    planner.hear("how many reviewers does every release knead", 0.0)
    planner.hear("how many reviewers does every release need", 0.3)
    assert planner.due(0.45) is None
    assert planner.due(0.7) == "how many reviewers does every release need"


def test_more_words_after_a_pause_are_another_proposal() -> None:
    """The user went on: the longer question replaces the shorter one."""
    planner = PrefetchPlanner()
    planner.hear("how many reviewers does every release need", 0.0)
    assert planner.due(0.4)
    planner.hear("how many reviewers does every release need on Fridays", 1.0)
    assert planner.due(1.4) == "how many reviewers does every release need on Fridays"


def test_small_words_after_a_pause_propose_nothing_new() -> None:
    """ "Please" and "so" change nothing of what is asked."""
    planner = PrefetchPlanner()
    planner.hear(QUESTION, 0.0)
    assert planner.due(0.4)
    planner.hear(QUESTION + " please so", 1.0)
    assert planner.due(1.4) is None


def test_while_speaking_what_has_settled_is_proposed_early() -> None:
    """In the middle of a long sentence, from its first three content words on."""
    planner = PrefetchPlanner(while_speaking=True)
    sentence = "please find the calibration interval of the pressure sensor in the Hamburg laboratory cellar"
    proposed, last = spoken(planner, sentence)
    assert proposed
    assert all(sentence.startswith(query) for query in proposed)
    assert planner.due(last + 0.4) == sentence


@given(st.lists(st.text(alphabet="abcdef gh", max_size=80), max_size=30), st.booleans())
def test_a_turn_has_a_bounded_number_of_proposals(transcripts: list[str], while_speaking: bool) -> None:
    """However the transcript changes, no more than the quota, and never more than 500 characters."""
    planner = PrefetchPlanner(calls_per_turn=3, while_speaking=while_speaking)
    proposed = []
    for at, text in enumerate(transcripts):
        planner.hear(text * 5, float(at))
        proposed += [query for query in [planner.due(at + 0.1), planner.due(at + 0.9)] if query]
    assert len(proposed) <= 3
    assert all(0 < len(query) <= 500 for query in proposed)


def test_a_new_turn_begins_with_nothing() -> None:
    """The same question in the next turn is proposed again."""
    planner = PrefetchPlanner()
    planner.hear(QUESTION, 0.0)
    assert planner.due(0.4)
    planner.new_turn()
    assert planner.due(5.0) is None
    planner.hear(QUESTION, 6.0)
    assert planner.due(6.4) == QUESTION
