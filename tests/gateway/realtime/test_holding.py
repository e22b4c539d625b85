"""When a holding sentence is wanted, and when never."""

from gateway.realtime.actions import CallKey
from gateway.realtime.holding import HOLDING_MARK, Holding, holding_response

KEY = CallKey("resp_1", "call_1")


def speaking(holding: Holding) -> None:
    assert holding.wants_sentence("turn_1", silent=True)
    holding.asked("event_1")
    assert holding.created({"id": "resp_9", "metadata": {HOLDING_MARK: "event_1"}})


def test_it_is_wanted_once_in_a_turn() -> None:
    """A second slow lookup of the same turn says nothing more; the next turn may."""
    holding = Holding(speaks=True)
    speaking(holding)
    holding.over()
    assert not holding.wants_sentence("turn_1", silent=True)
    assert holding.wants_sentence("turn_2", silent=True)


def test_it_is_not_wanted_while_somebody_speaks_or_where_it_is_off() -> None:
    """Neither over the user nor over the model, and only where the operator asked for it."""
    assert not Holding(speaks=True).wants_sentence("turn_1", silent=False)
    assert not Holding().wants_sentence("turn_1", silent=True)


def test_a_lookup_that_has_ended_is_not_slow() -> None:
    """The answer is there: nothing is said any more."""
    holding = Holding(speaks=True)
    holding.began(KEY)
    assert holding.is_slow(KEY)
    holding.ended(KEY)
    assert not holding.is_slow(KEY)


def test_other_responses_are_not_taken_for_the_sentence() -> None:
    """Only the response that carries its mark."""
    holding = Holding(speaks=True)
    assert holding.wants_sentence("turn_1", silent=True)
    holding.asked("event_1")
    assert not holding.created({"id": "resp_8", "metadata": None})
    assert not holding.created({"id": "resp_8", "metadata": {HOLDING_MARK: "event_0"}})
    assert holding.in_the_way
    assert holding.speaking is None


def test_the_sentence_is_outside_the_conversation_and_calls_nothing() -> None:
    """It must not be taken for the answer, nor begin another lookup."""
    response = holding_response("event_1")["response"]
    assert (response["conversation"], response["tools"], response["tool_choice"]) == ("none", [], "none")
    assert "language" in response["instructions"]
