"""Pure: what microphone and speaker are doing, in words."""

from typing import Protocol

from ..said import level_meter
from .devices import Device


class VoiceState(Protocol):
    """What is shown of a `Voice`."""

    @property
    def started(self) -> bool: ...
    @property
    def talking(self) -> bool: ...
    @property
    def aloud(self) -> bool: ...
    @property
    def playing(self) -> bool: ...
    @property
    def muted(self) -> bool: ...
    @property
    def level(self) -> float: ...


def voice_line(voice: VoiceState) -> str:
    """Return what it does just now; empty when neither microphone nor speaker is in use."""
    if voice.playing:
        return "speaking (microphone muted)" if voice.talking and voice.muted else "speaking"
    if voice.talking:
        return f"listening {level_meter(voice.level)}"
    return "answers are spoken" if voice.aloud else ""


def mode_sentence(voice: VoiceState) -> str:
    """Return what is in use, and how it ends."""
    if voice.talking:
        return "Listening. /talk ends it; Ctrl-C or a typed line stops an answer."
    if voice.aloud and voice.started:
        return "Answers are spoken. /talk ends it; Ctrl-C or a typed line stops an answer."
    return "Microphone and speaker are off."


def device_line(device: Device) -> str:
    """Return number, name and use of a device, as a person needs them to choose one."""
    uses = {"microphone": device.inputs, "speaker": device.outputs}
    defaults = {"microphone": device.is_default_input, "speaker": device.is_default_output}
    words = [noun + (" (default)" if defaults[noun] else "") for noun, channels in uses.items() if channels]
    return f"{device.number:>3}  {device.name}  [{', '.join(words)}, {device.rate} Hz]"


def model_hint(voice: VoiceState, *, embedded: bool, has_voice: bool) -> str:
    """Return the sentence that says what this model lacks for talking; empty when it lacks nothing."""
    if voice.aloud and not has_voice:
        return "This model has no voice: its answers are written."
    if voice.talking and embedded:
        return "The embedded model does not understand speech: type your question, and the answer is spoken."
    return ""


__all__ = ["VoiceState", "device_line", "mode_sentence", "model_hint", "voice_line"]
