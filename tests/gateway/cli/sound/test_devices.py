"""The right device is taken, and what is missing or refused is a sentence with a way on."""

import asyncio
import ctypes.util
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from gateway.cli.chat import chat
from gateway.cli.complaint import Complaint
from gateway.cli.doctor import doctor
from gateway.cli.sound.devices import Device, chosen, devices, form, opened
from gateway.cli.sound.microphone import mono
from gateway.cli.sound.portaudio import look_again
from gateway.cli.sound.problem import SoundProblem
from gateway.cli.sound.speaker import on_channels
from tests.gateway.cli.sound.sound_card import sound_card


def device(number: int, name: str, inputs: int = 1, outputs: int = 1, *, default: bool = False) -> Device:
    return Device(number, name, inputs, outputs, 48_000, is_default_input=default, is_default_output=default)


CARDS = [device(0, "USB headset"), device(1, "USB headset II", default=True), device(4, "HDMI", inputs=0)]


@pytest.mark.parametrize(
    ("wanted", "number"), [("", 1), ("0", 0), ("USB headset", 0), ("usb HEADSET", 0), ("ii", 1), ("hdmi", 4)]
)
def test_a_speaker_is_chosen_by_number_name_or_part_of_it(wanted: str, number: int) -> None:
    """A whole name wins over a part of another; without a wish it is the system's own."""
    assert chosen("output", wanted, CARDS).number == number


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [("hdmi", "No microphone is called 'hdmi'"), ("usb", "More than one microphone is called 'usb'"), ("7", "No mic")],
)
def test_a_wrong_choice_says_how_to_list_what_there_is(wanted: str, sentence: str) -> None:
    """What cannot do it, what is not there, and what is not clear."""
    with pytest.raises(SoundProblem, match=f"{sentence}.*--list-devices"):
        chosen("input", wanted, CARDS)


def test_no_device_is_a_sentence_of_its_own() -> None:
    """A machine with a speaker may be without a microphone."""
    with pytest.raises(SoundProblem, match="No microphone was found"):
        chosen("input", "", [device(4, "HDMI", inputs=0)])


class PickyCard:
    """What `form` needs of the library: a card that can be opened in one form only."""

    class PortAudioError(Exception):
        """As the library's."""

    def __init__(self, *able: tuple[int, int]) -> None:
        self._able = able

    def check_output_settings(self, *, device: int, channels: int, dtype: str, samplerate: int) -> None:
        if (samplerate, channels) not in self._able:
            raise self.PortAudioError("Invalid sample rate")


def test_a_card_that_cannot_do_24_khz_or_one_channel_is_taken_as_it_is() -> None:
    """The protocol's own form where it can be had, else the card's; else it is refused."""
    hdmi = device(4, "HDMI", inputs=0)
    assert form(PickyCard((24_000, 1), (48_000, 2)), "output", hdmi) == (24_000, 1)
    assert form(PickyCard((48_000, 2)), "output", hdmi) == (48_000, 2)
    with pytest.raises(PickyCard.PortAudioError):
        form(PickyCard((44_100, 2)), "output", hdmi)


def test_two_channels_become_one_and_one_becomes_two() -> None:
    """The microphone's are mixed, the speaker's are the same on both sides."""
    assert mono(b"\x02\x00\x04\x00\xfe\xff\xfc\xff", 2) == b"\x03\x00\xfd\xff"
    assert mono(b"\x02\x00", 1) == b"\x02\x00"
    assert on_channels(b"\x01\x02\x03\x04", 2) == b"\x01\x02\x01\x02\x03\x04\x03\x04"
    assert on_channels(b"\x01\x02", 1) == b"\x01\x02"


def complaint(*options: str) -> str:
    finished = CliRunner().invoke(chat, [*options])
    assert isinstance(finished.exception, Complaint)
    return str(finished.exception)


def test_a_missing_package_is_answered_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra by name, as it is typed."""
    monkeypatch.setitem(sys.modules, "sounddevice", None)
    assert 'pip install "earpiece[audio]"' in complaint("--list-devices")


def test_a_missing_portaudio_is_answered_with_the_package_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """The Python package is there, the library under it is not: pip does not help. The diagnosis says the same."""
    monkeypatch.delitem(sys.modules, "sounddevice", raising=False)
    monkeypatch.setattr(ctypes.util, "find_library", lambda name: None)
    assert "apt install libportaudio2" in complaint("--list-devices")
    found = CliRunner().invoke(doctor, env={"COLUMNS": "400", "EARPIECE_PORT": "0"})
    assert "apt install libportaudio2" in found.stdout
    assert found.exit_code == 0


async def test_a_real_card_is_listed_opened_and_refused_once_it_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list names it, the diagnosis too; a device that was listed and does not open is named in the refusal."""
    async with sound_card(tmp_path / "card") as card:
        for name, value in card.environment.items():
            monkeypatch.setenv(name, value)
        look_again()
        assert [found.name for found in devices()] == ["default"]
        listed = CliRunner().invoke(chat, ["--list-devices"])
        assert listed.stdout.startswith("  0  default  [microphone (default), speaker (default), ")
        diagnosing = asyncio.to_thread(CliRunner().invoke, doctor, env={"COLUMNS": "400", "EARPIECE_PORT": "0"})
        assert (await diagnosing).stdout.count("default (earpiece chat --voice)") == 2
        opened("output", "", silent, lambda: None).close()
        await card.unplug()
        with pytest.raises(SoundProblem, match="The speaker 'default' cannot be opened: another program may hold it"):
            opened("output", "", silent, lambda: None)
    look_again()
    assert devices() == []


def silent(data: Any, frames: int, time: Any, status: Any) -> None:
    data[:] = bytes(len(data))
