"""Talking and listening in a terminal: what is heard goes to the model, what it says to the speaker."""

import array
from collections.abc import Callable
from dataclasses import dataclass

from ..talk import Heard, Talk
from .aside import aside
from .gate import is_muted, let_through
from .microphone import Microphone
from .portaudio import look_again
from .problem import SoundProblem
from .speaker import Speaker

_LOOK_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class VoiceChoice:
    """What a person chose: devices by name or number ("" is the system's own), whether headphones are worn, and
    whether microphone and speaker are wanted from the start.
    """

    input_device: str = ""
    output_device: str = ""
    headphones: bool = False
    from_start: bool = False


class Voice:
    """``changed()`` is called when anything of it is different; ``said(sentence)`` with what a person should know.

    ``started``: what was asked for is in use; once a device is lost it is not, so that the next `toggle` starts again.
    """

    def __init__(
        self, talk: Talk, choice: VoiceChoice, *, changed: Callable[[], None], said: Callable[[str], None]
    ) -> None:
        self.started = False
        self.talking = False
        self.level = 0.0
        self._talk = talk
        self._choice = choice
        self._changed = changed
        self._said = said
        self.microphone = Microphone(self._heard, self._microphone_lost)
        self.speaker = Speaker(changed, self._speaker_lost)

    @property
    def aloud(self) -> bool:
        """Whether answers are spoken."""
        return self.speaker.is_open

    @property
    def playing(self) -> bool:
        return self.speaker.playing

    @property
    def muted(self) -> bool:
        """Whether the microphone is held back, so that the model does not hear itself."""
        return is_muted(sounding=self.speaker.playing, headphones=self._choice.headphones)

    async def start(self) -> None:
        """Open what there is of speaker and microphone. What cannot be opened is said; typing goes on in any case."""
        await self._give_back()
        try:
            await aside(look_again, seconds=_LOOK_SECONDS)
        except TimeoutError:
            self._said("The sound system does not answer. Typing goes on.")
        except SoundProblem as problem:
            self._said(str(problem))
        else:
            await self._open()
        self._changed()

    async def stop(self) -> None:
        """Give microphone and speaker back; answers are written from now on."""
        await self._give_back()
        self._changed()

    async def toggle(self) -> None:
        """Start, or stop what was started."""
        await (self.stop() if self.started else self.start())

    def interrupt(self) -> None:
        """Stop answer and sound. What was not heard is cut off at the model, too."""
        self._talk.interrupt(self.silence())

    def silence(self) -> list[Heard]:
        """Stop the sound alone. Returns what was cut off."""
        return self.speaker.silence()

    def play(self, pcm: bytes, item: str | None) -> None:
        """Speak this; see `gateway.cli.talk.Speech`."""
        self.speaker.play(pcm, item)

    def played_out(self) -> None:
        """The item is complete."""
        self.speaker.finish()

    def person_speaks(self) -> None:
        """The model hears somebody: whatever it says itself is over."""
        self.interrupt()

    async def _open(self) -> None:
        try:
            await self.speaker.start(self._choice.output_device)
            self._talk.speak_to(self)
        except SoundProblem as problem:
            self._said(str(problem))
        try:
            await self.microphone.start(self._choice.input_device)
            self.talking = True
        except SoundProblem as problem:
            self._said(str(problem))
        self.started = self.talking or self.aloud

    async def _give_back(self) -> None:
        self.started = self.talking = False
        self._talk.speak_to(None)
        await self.microphone.stop()
        await self.speaker.stop()

    def _heard(self, pcm: bytes) -> None:
        passed = let_through(pcm, muted=self.muted)
        self.level = _peak(passed)
        self._talk.send_audio(passed)
        self._changed()

    def _microphone_lost(self, sentence: str) -> None:
        self.started = self.talking = False
        self._said(sentence)
        self._changed()

    def _speaker_lost(self, sentence: str) -> None:
        self.started = False
        self._talk.speak_to(None)
        self._said(sentence)
        self._changed()


def _peak(pcm: bytes) -> float:
    """Return the loudest sample, of 1.0."""
    samples = array.array("h", pcm)
    return max(map(abs, samples), default=0) / 32768


__all__ = ["Voice", "VoiceChoice"]
