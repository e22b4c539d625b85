"""Pure: speech or silence in 16-bit mono PCM, by energy. Good enough to notice that somebody begins to talk."""

from array import array
from dataclasses import dataclass, field
from typing import Literal

_FRAME_MILLISECONDS = 20
_BYTES_PER_SAMPLE = 2


@dataclass(slots=True)
class VoiceActivity:
    """Turns audio into ``started`` and ``stopped``; feed it whatever arrives, in any sizes.

    ``threshold`` is the loudness (mean absolute sample, of 32,768) above which a frame of 20 ms counts as speech.
    """

    rate: int = 24_000
    threshold: float = 500.0
    start_milliseconds: int = 60
    silence_milliseconds: int = 500
    speaking: bool = False
    elapsed_milliseconds: int = 0
    _loud: int = 0
    _quiet: int = 0
    _rest: bytes = field(default=b"")

    def feed(self, pcm: bytes) -> list[Literal["started", "stopped"]]:
        """Take audio and return what changed, in order."""
        size = self.rate * _FRAME_MILLISECONDS // 1000 * _BYTES_PER_SAMPLE
        data = self._rest + pcm
        whole = len(data) - len(data) % size
        self._rest = data[whole:]
        changes = [self._frame(data[start : start + size]) for start in range(0, whole, size)]
        return [change for change in changes if change is not None]

    def _frame(self, frame: bytes) -> Literal["started", "stopped"] | None:
        self.elapsed_milliseconds += _FRAME_MILLISECONDS
        samples = array("h", frame)
        loud = sum(map(abs, samples)) / len(samples) > self.threshold
        self._loud = self._loud + _FRAME_MILLISECONDS if loud else 0
        self._quiet = 0 if loud else self._quiet + _FRAME_MILLISECONDS
        if not self.speaking and self._loud >= self.start_milliseconds:
            self.speaking = True
            return "started"
        if self.speaking and self._quiet >= self.silence_milliseconds:
            self.speaking = False
            return "stopped"
        return None


__all__ = ["VoiceActivity"]
