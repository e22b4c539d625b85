"""The model does not hear itself, and its clock goes on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.cli.sound.gate import is_muted, let_through


@pytest.mark.parametrize(
    ("sounding", "headphones", "muted"),
    [(True, False, True), (True, True, False), (False, False, False), (False, True, False)],
)
def test_only_a_speaker_in_the_room_mutes_the_microphone(sounding: bool, headphones: bool, muted: bool) -> None:
    """With headphones somebody can speak over the answer; in silence everybody is heard."""
    assert is_muted(sounding=sounding, headphones=headphones) is muted


@given(st.binary(max_size=200), st.booleans())
def test_a_muted_piece_is_as_long_and_silent(piece: bytes, muted: bool) -> None:
    """The model counts time in samples: it gets as many, with nothing in them."""
    passed = let_through(piece, muted=muted)
    assert len(passed) == len(piece)
    assert passed == (bytes(len(piece)) if muted else piece)
