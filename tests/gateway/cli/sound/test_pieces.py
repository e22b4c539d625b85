"""The queue of the microphone is bounded, keeps the newest, and says what it lost."""

from hypothesis import given
from hypothesis import strategies as st

from gateway.cli.sound.pieces import Pieces


@given(st.integers(1, 6), st.lists(st.one_of(st.none(), st.binary(max_size=3)), max_size=40))
def test_the_newest_pieces_stay_in_order_and_the_lost_ones_are_counted(limit: int, steps: list[bytes | None]) -> None:
    """None takes all that waits; whatever the order, it equals a list of which the beginning is cut off."""
    pieces, waiting, dropped = Pieces(limit), list[bytes](), 0
    for step in steps:
        if step is None:
            assert pieces.take_all() == waiting
            waiting = []
        else:
            assert pieces.put(step) is (not waiting), "its reader is woken once"
            dropped += len(waiting) == limit
            waiting = [*waiting, step][-limit:]
    assert pieces.take_all() == waiting
    assert pieces.dropped == dropped
