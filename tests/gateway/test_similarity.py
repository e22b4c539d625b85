"""Which query another one answers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.similarity import ADOPTION_THRESHOLD, Need, content_words, similarity


def fits(looked_up: str, asked: str) -> bool:
    return similarity(Need.of(looked_up), Need.of(asked)) >= ADOPTION_THRESHOLD


@pytest.mark.parametrize(
    ("looked_up", "asked"),
    [
        ("how many reviewers does a release need", "How many reviewers does a release need?"),
        ("how many reviewers does a release need", "number of reviewers needed for a release"),
        ("so um how many reviewers does a release need please", "release reviewers"),
        ("when does the warranty of the calibration kit expire", "calibration kit warranty expiry"),
        ("what is the deadline for travel expenses", "travel expense deadlines"),
        ("wie viele Prüfer braucht ein Release", "Anzahl Prüfer Release"),
        ("报销款多久到账", "报销款到账多久？"),
        ("请问出差报销需要哪些材料", "出差报销材料"),
    ],
)
def test_another_way_to_put_it_is_the_same_need(looked_up: str, asked: str) -> None:
    """Filler, word order, endings, and how a question is phrased change nothing of what is asked."""
    assert fits(looked_up, asked)


@pytest.mark.parametrize(
    ("looked_up", "asked"),
    [
        ("how many reviewers does a release need", "how many days does a release need"),
        ("when was the Berlin office opened", "where is the Berlin office"),
        ("who signs the travel request", "when is the travel request signed"),
        ("warranty of the X200 sensor", "warranty of the X300 sensor"),
        ("travel budget for 2025", "travel budget for 2026"),
        ("are dogs allowed in the office", "are dogs not allowed in the office"),
        ("what is the check in time of that hotel", "check in time of the Hilton hotel"),
        ("how many reviewers", "how many reviewers does an emergency release need"),
        ("请假需要谁批准", "报销需要谁批准"),
        ("青岛办公室在哪里", "青岛办公室有多大"),
        ("可以带狗进办公室吗", "不可以带狗进办公室吗"),
    ],
)
def test_another_question_is_another_need(looked_up: str, asked: str) -> None:
    """A new name, another number, a negation or another kind of answer is never served with what was looked up."""
    assert not fits(looked_up, asked)


def test_a_term_that_was_not_looked_up_weighs_more_than_one_not_asked_for() -> None:
    """A shorter query still wants the same; one with a new term wants more than was looked up."""
    long, short = Need.of("release reviewers approval policy"), Need.of("release reviewers approval")
    assert similarity(long, short) > similarity(short, long)


@given(st.text(max_size=60), st.text(max_size=60))
def test_it_is_a_share_and_sameness_is_whole(first: str, second: str) -> None:
    """Between 0 and 1 for any text; a query with content answers itself wholly."""
    one, other = Need.of(first), Need.of(second)
    assert 0.0 <= similarity(one, other) <= 1.0
    assert similarity(one, one) == (1.0 if one.terms else 0.0)


@pytest.mark.parametrize(
    ("text", "count"),
    [("so what is it", 0), ("how many reviewers does a release", 2), ("报销款多久到账", 2), ("", 0), ("?!", 0)],
)
def test_words_that_carry_content_are_counted(text: str, count: int) -> None:
    """Function words do not count, and two characters make a word where words are not spaced."""
    assert content_words(text) == count
