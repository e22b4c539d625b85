"""What microphone and speaker do is said in words that a screen reader can read as well."""

from dataclasses import dataclass

import pytest

from gateway.cli.said import level_meter
from gateway.cli.sound.devices import Device
from gateway.cli.sound.words import device_line, mode_sentence, model_hint, voice_line


@dataclass
class Shown:
    """The state of a voice."""

    started: bool = True
    talking: bool = True
    aloud: bool = True
    playing: bool = False
    muted: bool = False
    level: float = 0.0


@pytest.mark.parametrize(
    ("voice", "words"),
    [
        (Shown(level=0.1), "listening ▮▮▮▮▯"),
        (Shown(playing=True, muted=True), "speaking (microphone muted)"),
        (Shown(playing=True), "speaking"),
        (Shown(talking=False, playing=True, muted=True), "speaking"),
        (Shown(talking=False), "answers are spoken"),
        (Shown(started=False, talking=False, aloud=False), ""),
    ],
)
def test_the_state_is_a_word_or_two(voice: Shown, words: str) -> None:
    """Whether it speaks, listens, or hears nothing just now."""
    assert voice_line(voice) == words


@pytest.mark.parametrize(("level", "full"), [(0.0, 0), (0.001, 0), (0.002, 1), (0.1, 4), (0.5, 5), (1.0, 5)])
def test_the_meter_follows_the_ear(level: float, full: int) -> None:
    """Ten decibels a mark; the room's noise shows none, and nothing shows more than five."""
    assert level_meter(level) == "▮" * full + "▯" * (5 - full)


def test_what_a_model_lacks_is_said_only_to_whom_it_matters() -> None:
    """No ears for who talks, no voice for who listens; and nothing about a model that has both."""
    assert "does not understand speech" in model_hint(Shown(), embedded=True, has_voice=True)
    assert "has no voice" in model_hint(Shown(), embedded=False, has_voice=False)
    assert model_hint(Shown(), embedded=False, has_voice=True) == ""
    assert model_hint(Shown(talking=False), embedded=True, has_voice=True) == ""
    assert model_hint(Shown(talking=False, aloud=False), embedded=True, has_voice=False) == ""


def test_the_mode_says_how_it_ends() -> None:
    """Each of the three is a sentence of its own."""
    modes = [Shown(), Shown(talking=False), Shown(started=False, talking=False)]
    assert ["/talk" in mode_sentence(mode) for mode in modes] == [True, True, False]
    assert len({mode_sentence(mode) for mode in modes}) == 3


def test_a_device_is_named_with_its_number_and_use() -> None:
    """What --input-device and --output-device take, and which is taken without them."""
    device = Device(3, "USB headset", 1, 2, 48_000, is_default_input=True, is_default_output=False)
    assert device_line(device) == "  3  USB headset  [microphone (default), speaker, 48000 Hz]"
