"""What is played is what came, in order; and what was cut off is known to the millisecond."""

from hypothesis import given
from hypothesis import strategies as st

from gateway.cli.sound.playback import ECHO_SECONDS, Playback
from gateway.cli.talk import Heard

RATE = 24_000
MILLISECOND = RATE // 1000
pieces = st.lists(st.binary(min_size=1, max_size=40), max_size=8)
blocks = st.lists(st.integers(0, 60), max_size=12)


def tone(milliseconds: int) -> bytes:
    return b"\x01\x02" * (milliseconds * MILLISECOND)


@given(pieces, blocks)
def test_the_sound_card_gets_every_sample_once_and_then_silence(given_pieces: list[bytes], frames: list[int]) -> None:
    """Whatever the sizes: exactly as many frames as asked for, the sound in order, nothing lost or repeated."""
    playback = Playback(RATE)
    for piece in given_pieces:
        playback.put(piece * 2, "item")
    sound = b"".join(piece * 2 for piece in given_pieces)
    taken = [playback.take(count) for count in frames]
    assert [len(block) for block in taken] == [2 * count for count in frames]
    played = b"".join(taken)
    assert played == (sound + bytes(len(played)))[: len(played)]


@given(st.lists(st.integers(1, 30), min_size=1, max_size=6), st.integers(0, 200))
def test_what_was_cut_off_is_told_for_each_item(milliseconds: list[int], played: int) -> None:
    """The item that is heard is told with what was played of it, those behind it with nothing, those before not."""
    playback = Playback(RATE)
    for number, length in enumerate(milliseconds):
        playback.put(tone(length), f"item_{number}")
    playback.take(played * MILLISECOND)
    expected, left = [], played
    for number, length in enumerate(milliseconds):
        if left < length:
            expected.append(Heard(f"item_{number}", left))
        left = max(0, left - length)
    assert playback.stop() == expected
    assert playback.take(MILLISECOND) == bytes(2 * MILLISECOND), "it is silent at once"
    assert playback.stop() == [], "nothing is cut off twice"


def test_an_item_that_goes_on_is_counted_on() -> None:
    """A gap in what arrives is silence to the ear, and no part of the item."""
    playback = Playback(RATE)
    playback.put(tone(20), "item")
    playback.take(50 * MILLISECOND)
    playback.put(tone(20), "item")
    playback.take(5 * MILLISECOND)
    assert playback.stop() == [Heard("item", 25)]


def test_what_is_no_item_cannot_be_cut_off_at_the_model() -> None:
    """A sentence that only bridges a wait is silenced, and nothing is told of it."""
    playback = Playback(RATE)
    playback.put(tone(20), None)
    assert playback.stop() == []
    assert playback.take(10) == bytes(20)


def test_it_sounds_until_the_room_is_silent() -> None:
    """From the first sound that waits until the echo is gone, also when it was stopped."""
    playback = Playback(RATE)
    echo = int(ECHO_SECONDS * RATE)
    assert not playback.sounding
    playback.put(tone(20), "item")
    assert playback.sounding
    playback.take(20 * MILLISECOND + echo - 1)
    assert playback.sounding
    playback.take(1)
    assert not playback.sounding
    playback.put(tone(20), "item")
    playback.take(MILLISECOND)
    playback.stop()
    assert playback.sounding, "what the card holds is still to be heard"
    playback.take(echo)
    assert not playback.sounding
