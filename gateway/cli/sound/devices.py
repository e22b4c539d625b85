"""Which microphones and speakers there are, and how the chosen one is opened."""

import atexit
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from .problem import RATE, SoundProblem

Kind = Literal["input", "output"]

_NOUNS: dict[Kind, str] = {"input": "microphone", "output": "speaker"}
_PACKAGE = "Speaking needs the 'sounddevice' package: pip install \"earpiece[audio]\"."
_LIBRARY = (
    "Speaking needs the PortAudio library, which is not on this machine: "
    "apt install libportaudio2 (Debian, Ubuntu), dnf install portaudio (Fedora)."
)
_SYSTEM = "The sound system of this machine cannot be used: PortAudio does not get along with it."
_BLOCK_SECONDS = 0.04
_LATENCY_SECONDS = 0.1  # a busy machine must not be heard; and whoever interrupts does not notice so little


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
        """Stop at once. May block, and fails on a device that is gone."""
        self.stream.abort(ignore_errors=True)
        self.stream.close(ignore_errors=True)


def library(*, fresh: bool = False) -> Any:
    """Return the ``sounddevice`` module. ``fresh`` looks again for devices; no stream may be open then.

    Raises `SoundProblem` when the package or its library is missing.
    """
    try:
        import sounddevice

        # A sound server that hangs must not keep the process from ending.
        atexit.unregister(sounddevice._exit_handler)
        if fresh:
            # PortAudio lists the devices once, when it starts.
            while sounddevice._initialized:
                sounddevice._terminate()
            sounddevice._initialize()
    except ImportError as error:
        raise SoundProblem(_PACKAGE) from error
    except OSError as error:
        raise SoundProblem(_LIBRARY) from error
    except Exception as error:  # its own error has no name yet when the module could not be loaded
        raise SoundProblem(_SYSTEM) from error
    return sounddevice


def devices() -> list[Device]:
    """Return all devices with a channel in either direction. Raises `SoundProblem`."""
    sounddevice = library()
    try:
        listed = list(sounddevice.query_devices())
    except sounddevice.PortAudioError as error:
        raise SoundProblem(_SYSTEM) from error
    default_input, default_output = sounddevice.default.device
    found = []
    for number, facts in enumerate(listed):
        inputs, outputs = facts["max_input_channels"], facts["max_output_channels"]
        defaults = (number == default_input, number == default_output)
        if inputs or outputs:
            found.append(Device(number, facts["name"], inputs, outputs, int(facts["default_samplerate"]), *defaults))
    return found


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
    device = chosen(kind, wanted, devices())
    sounddevice = library()
    stream_of = sounddevice.RawInputStream if kind == "input" else sounddevice.RawOutputStream
    rate, channels = _form(sounddevice, kind, device)
    try:
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
        raise _refused(kind, device) from error
    return Opened(stream, rate, channels)


def _form(sounddevice: Any, kind: Kind, device: Device) -> tuple[int, int]:
    check = sounddevice.check_input_settings if kind == "input" else sounddevice.check_output_settings
    for rate in dict.fromkeys((RATE, device.rate)):
        for channels in range(1, min(device.channels(kind), 2) + 1):
            try:
                check(device=device.number, channels=channels, dtype="int16", samplerate=rate)
            except sounddevice.PortAudioError:
                continue
            return rate, channels
    raise _refused(kind, device)


def _refused(kind: Kind, device: Device) -> SoundProblem:
    noun = _NOUNS[kind]
    return SoundProblem(
        f"The {noun} {device.name!r} cannot be opened: another program may hold it, or the system does not allow it. "
        f"Free it, then /talk again, or choose another with --{kind}-device; typing goes on."
    )


__all__ = ["Device", "Kind", "Opened", "chosen", "devices", "library", "opened"]
