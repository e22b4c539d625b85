"""Which microphones and speakers there are, and how the chosen one is opened."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from .portaudio import alone
from .problem import RATE, SoundProblem

Kind = Literal["input", "output"]

_NOUNS: dict[Kind, str] = {"input": "microphone", "output": "speaker"}
_BLOCK_SECONDS = 0.04
_LATENCY_SECONDS = 0.1  # a busy machine is not to be heard; whoever interrupts does not notice so little


@dataclass(frozen=True, slots=True)
class Device:
    """One sound device; ``inputs`` and ``outputs`` are numbers of channels, ``rate`` its own samples a second."""

    number: int
    name: str
    inputs: int
    outputs: int
    rate: int
    is_default_input: bool
    is_default_output: bool

    def channels(self, kind: Kind) -> int:
        return self.inputs if kind == "input" else self.outputs

    def is_default(self, kind: Kind) -> bool:
        return self.is_default_input if kind == "input" else self.is_default_output


@dataclass(frozen=True, slots=True)
class Opened:
    """A stream that runs, and the form of its samples: 16-bit, ``channels`` interleaved."""

    stream: Any
    rate: int
    channels: int

    def close(self) -> None:
        """Stop at once; a device that is gone is no error. May block."""
        with contextlib.suppress(SoundProblem), alone():
            self.stream.abort(ignore_errors=True)
            self.stream.close(ignore_errors=True)


def devices() -> list[Device]:
    """Return all devices with a channel in either direction. Raises `SoundProblem`."""
    with alone() as sounddevice:
        return _listed(sounddevice)


def chosen(kind: Kind, wanted: str, among: list[Device]) -> Device:
    """Return the device of this number or name (a part will do), or the default for "". Raises `SoundProblem`."""
    noun = _NOUNS[kind]
    able = [device for device in among if device.channels(kind)]
    if not able:
        raise SoundProblem(f"No {noun} was found. Connect one, then /talk again; typing goes on.")
    if not wanted:
        return next((device for device in able if device.is_default(kind)), able[0])
    fitting = [device for device in able if wanted == str(device.number)]
    fitting = fitting or [device for device in able if wanted.lower() == device.name.lower()]
    fitting = fitting or [device for device in able if wanted.lower() in device.name.lower()]
    if len(fitting) == 1:
        return fitting[0]
    how_many = "No" if not fitting else "More than one"
    raise SoundProblem(f"{how_many} {noun} is called {wanted!r}. List them with: earpiece chat --list-devices")


def opened(kind: Kind, wanted: str, callback: Callable[..., None], ended: Callable[[], None]) -> Opened:
    """Open and start the chosen device; ``callback`` is PortAudio's, ``ended`` is called in its thread at the end.

    Takes the protocol's own rate and one channel where the device can, and the device's own otherwise. Blocks.
    Raises `SoundProblem`.
    """
    with alone() as sounddevice:
        device = chosen(kind, wanted, _listed(sounddevice))
        stream_of = sounddevice.RawInputStream if kind == "input" else sounddevice.RawOutputStream
        try:
            rate, channels = form(sounddevice, kind, device)
            stream = stream_of(
                samplerate=rate,
                channels=channels,
                dtype="int16",
                device=device.number,
                latency=_LATENCY_SECONDS,
                blocksize=int(rate * _BLOCK_SECONDS),
                callback=callback,
                finished_callback=ended,
            )
            stream.start()
        except sounddevice.PortAudioError as error:
            raise SoundProblem(_refusal(kind, device)) from error
    return Opened(stream, rate, channels)


def form(sounddevice: Any, kind: Kind, device: Device) -> tuple[int, int]:
    """Return the rate and the number of channels at which a device can be opened. Raises ``PortAudioError``."""
    check = sounddevice.check_input_settings if kind == "input" else sounddevice.check_output_settings
    forms = [(rate, channels) for rate in dict.fromkeys((RATE, device.rate)) for channels in (1, 2)]
    for rate, channels in forms:
        with contextlib.suppress(sounddevice.PortAudioError):
            check(device=device.number, channels=channels, dtype="int16", samplerate=rate)
            return rate, channels
    raise sounddevice.PortAudioError("no form fits")


def _listed(sounddevice: Any) -> list[Device]:
    default_input, default_output = sounddevice.default.device
    found = []
    for number, facts in enumerate(sounddevice.query_devices()):
        inputs, outputs = facts["max_input_channels"], facts["max_output_channels"]
        defaults = (number == default_input, number == default_output)
        if inputs or outputs:
            found.append(Device(number, facts["name"], inputs, outputs, int(facts["default_samplerate"]), *defaults))
    return found


def _refusal(kind: Kind, device: Device) -> str:
    return (
        f"The {_NOUNS[kind]} {device.name!r} cannot be opened: another program may hold it, or the system does not "
        f"allow it. Free it, then /talk again, or choose another with --{kind}-device; typing goes on."
    )


__all__ = ["Device", "Kind", "Opened", "chosen", "devices", "form", "opened"]
