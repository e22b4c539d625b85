"""Plays the model's speech, and knows how much of it was heard when somebody speaks over it."""

import asyncio
import contextlib
import functools
from collections.abc import Callable
from typing import Any

from ..talk import Heard
from .aside import aside, in_loop
from .devices import Opened, opened
from .heartbeat import Heartbeat
from .playback import Playback
from .problem import RATE, SoundProblem
from .resampling import Resampling

_OPEN_SECONDS = 10.0
_CLOSE_SECONDS = 3.0
LOST = "The speaker was taken away. Answers are written; connect it, then /talk again."


class Speaker:
    """``on_playing()`` when `playing` has changed; ``on_lost(sentence)`` when the device goes away.

    ``playing`` lasts from the first sound until the room is silent again.
    """

    def __init__(self, on_playing: Callable[[], None], on_lost: Callable[[str], None]) -> None:
        self.playing = False
        self._on_playing = on_playing
        self._on_lost = on_lost
        self._opened: Opened | None = None
        self._watching: asyncio.Task[None] | None = None
        self._playback = Playback(RATE)
        self._resampling = Resampling(RATE, RATE)
        self._item: str | None = None

    @property
    def is_open(self) -> bool:
        return self._opened is not None

    async def start(self, wanted: str) -> None:
        """Open the device of this name or number, "" for the system's own. Raises `SoundProblem`."""
        heartbeat = Heartbeat()
        loop = asyncio.get_running_loop()

        def asked(data: Any, frames: int, time: Any, status: Any) -> None:
            heartbeat.beat()
            was_sounding = self._playback.sounding
            data[:] = on_channels(self._playback.take(frames), len(data) // (2 * frames))
            if was_sounding and not self._playback.sounding:
                in_loop(loop, self._show)

        try:
            opening = functools.partial(opened, "output", wanted, asked, heartbeat.end)
            self._opened = await aside(opening, seconds=_OPEN_SECONDS, undo=Opened.close)
        except TimeoutError as error:
            raise SoundProblem("The speaker does not answer. Answers are written.") from error
        self._playback = Playback(self._opened.rate)
        self._resampling = Resampling(RATE, self._opened.rate)
        self._watching = asyncio.create_task(self._watch(heartbeat))

    async def stop(self) -> None:
        """Give the device back; does nothing when there is none."""
        self.silence()
        watching, self._watching = self._watching, None
        if watching is not None and watching is not asyncio.current_task():
            watching.cancel()
        was_open, self._opened = self._opened, None
        if was_open is not None:
            with contextlib.suppress(TimeoutError):
                await aside(was_open.close, seconds=_CLOSE_SECONDS)
        self._show()

    def play(self, pcm: bytes, item: str | None) -> None:
        """Add 16-bit mono PCM at 24 kHz of an item; lost where no device is open."""
        if not self.is_open:
            return
        if item != self._item:
            self.finish()
            self._item = item
        self._put(self._resampling.feed(pcm))

    def finish(self) -> None:
        """The item is complete: play also what the change of rate has kept back."""
        self._put(self._resampling.end())

    def silence(self) -> list[Heard]:
        """Fall silent at once. Returns what was cut off, and how much of each was played."""
        self._resampling.end()
        return self._playback.stop()

    def _put(self, pcm: bytes) -> None:
        self._playback.put(pcm, self._item)
        self._show()

    def _show(self) -> None:
        now = self.is_open and self._playback.sounding
        if self.playing != now:
            self.playing = now
            self._on_playing()

    async def _watch(self, heartbeat: Heartbeat) -> None:
        await heartbeat.lost()
        await self.stop()
        self._on_lost(LOST)


def on_channels(pcm: bytes, channels: int) -> bytes:
    """Return 16-bit samples interleaved for this many channels, the same on each."""
    if channels == 1:
        return pcm
    import numpy

    return bytes(numpy.repeat(numpy.frombuffer(pcm, dtype="<i2"), channels).tobytes())


__all__ = ["LOST", "Speaker", "on_channels"]
