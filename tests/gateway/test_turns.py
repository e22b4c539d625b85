"""A turn remembers, the next one does not, and old ones are forgotten."""

from gateway.turns import Turns


def test_one_turn_is_one_state_and_another_is_another() -> None:
    """State belongs to owner, session and turn together."""
    turns = Turns()
    turn = turns.turn("ann", "s1", "t1")
    assert turns.turn("ann", "s1", "t1") is turn
    others = [("ben", "s1", "t1"), ("ann", "s2", "t1"), ("ann", "s1", "t2")]
    assert all(turns.turn(*other) is not turn for other in others)


def test_a_call_without_a_turn_shares_nothing() -> None:
    """No turn id means no turn, not one turn for everybody."""
    turns = Turns()
    assert turns.turn("ann", "s1", "") is not turns.turn("ann", "s1", "")
    assert len(turns) == 0


def test_the_least_recently_used_turn_is_forgotten() -> None:
    """A gateway that runs for months remembers a bounded number of turns."""
    turns = Turns(capacity=2)
    first, second = turns.turn("ann", "s", "1"), turns.turn("ann", "s", "2")
    assert turns.turn("ann", "s", "1") is first
    turns.turn("ann", "s", "3")
    assert len(turns) == 2
    assert turns.turn("ann", "s", "1") is first
    assert turns.turn("ann", "s", "2") is not second
