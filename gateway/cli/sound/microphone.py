"""The microphone as pieces of PCM16 at 24 kHz."""

import asyncio
import contextlib
import functools
from collections.abc import Callable
from typing import Any

from .aside import aside, in_loop
from .devices import Opened, opened
from .heartbeat import Heartbeat
from .pieces import Pieces
from .problem import RATE, SoundProblem
from .resampling import Resampling

_OPEN_SECONDS = 10.0
_CLOSE_SECONDS = 3.0
_WAITING_PIECES = 25  # of 40 ms: a loop that is stuck for longer than a second loses what is older
LOST = "The microphone was taken away. Connect it, then /talk again; typing goes on."


class Microphone:
    """``on_piece(pcm)`` gets 16-bit mono PCM at 24 kHz in the loop; ``on_lost(sentence)`` when it goes away."""

    def __init__(self, on_piece: Callable[[bytes], None], on_lost: Callable[[str], None]) -> None:
        self._on_piece = on_piece
        self._on_lost = on_lost
        self._opened: Opened | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._pieces = Pieces(_WAITING_PIECES)

    @property
    def dropped_pieces(self) -> int:
        return self._pieces.dropped

    async def start(self, wanted: str) -> None:
        """Listen to the device of this name or number, "" for the system's own. Raises `SoundProblem`."""
        loop, heartbeat, woken = asyncio.get_running_loop(), Heartbeat(), asyncio.Event()
        pieces = self._pieces = Pieces(_WAITING_PIECES)

        def taken(data: Any, frames: int, time: Any, status: Any) -> None:
            heartbeat.beat()
            if pieces.put(bytes(data)):
                in_loop(loop, woken.set)

        try:
            opening = functools.partial(opened, "input", wanted, taken, heartbeat.end)
            self._opened = await aside(opening, seconds=_OPEN_SECONDS, undo=Opened.close)
        except TimeoutError as error:
            raise SoundProblem("The microphone does not answer. See to the sound system; typing goes on.") from error
        handing = self._hand_on(pieces, woken, self._opened)
        self._tasks = [asyncio.create_task(handing), asyncio.create_task(self._watch(heartbeat))]

    async def stop(self) -> None:
        """Listen no more; does nothing when it does not listen."""
        tasks, self._tasks = self._tasks, []
        here = asyncio.current_task()
        for task in tasks:
            if task is not here:
                task.cancel()
        was_open, self._opened = self._opened, None
        if was_open is not None:
            with contextlib.suppress(TimeoutError):
                await aside(was_open.close, seconds=_CLOSE_SECONDS)

    async def _hand_on(self, pieces: Pieces, woken: asyncio.Event, form: Opened) -> None:
        resampling = Resampling(form.rate, RATE)
        while True:
            await woken.wait()
            woken.clear()
            for piece in pieces.take_all():
                self._on_piece(resampling.feed(mono(piece, form.channels)))

    async def _watch(self, heartbeat: Heartbeat) -> None:
        await heartbeat.lost()
        await self.stop()
        self._on_lost(LOST)


def mono(pcm: bytes, channels: int) -> bytes:
    """Return one channel of 16-bit samples out of interleaved ones."""
    if channels == 1:
        return pcm
    import numpy

    return bytes(numpy.frombuffer(pcm, dtype="<i2").reshape(-1, channels).mean(axis=1).astype("<i2").tobytes())


__all__ = ["LOST", "Microphone", "mono"]
