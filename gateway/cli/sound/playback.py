"""What is to be played, and how much of it was. The sound card's thread takes, the event loop puts."""

import threading
from collections import deque

from ..talk import Heard

ECHO_SECONDS = 0.3  # until the sound card's own buffer and the room are silent
_SAMPLE_BYTES = 2


class Playback:
    """A queue of 16-bit mono PCM at ``rate``, the sound card's own. Every method may be called from any thread."""

    def __init__(self, rate: int) -> None:
        self._rate = rate
        self._lock = threading.Lock()
        self._waiting: deque[tuple[bytes, str | None]] = deque()
        self._offset = 0
        self._item: str | None = None
        self._item_frames = 0
        self._echo_frames = 0

    @property
    def sounding(self) -> bool:
        """Whether anything waits to be played, or can still be heard in the room."""
        with self._lock:
            return bool(self._waiting) or self._echo_frames > 0

    def put(self, pcm: bytes, item: str | None) -> None:
        """Add sound of an item of the conversation, or of none."""
        if pcm:
            with self._lock:
                self._waiting.append((pcm, item))

    def take(self, frames: int) -> bytes:
        """Return exactly this many frames for the sound card: what waits, then silence."""
        wanted = frames * _SAMPLE_BYTES
        parts: list[bytes] = []
        with self._lock:
            while wanted and self._waiting:
                parts.append(self._part(wanted))
                wanted -= len(parts[-1])
            if parts:
                self._echo_frames = int(ECHO_SECONDS * self._rate)
            self._echo_frames = max(0, self._echo_frames - wanted // _SAMPLE_BYTES)
        return b"".join([*parts, bytes(wanted)])

    def stop(self) -> list[Heard]:
        """Drop what waits. Returns each item that is cut off by it, with how much of it was played."""
        with self._lock:
            items = dict.fromkeys(item for _, item in self._waiting if item is not None)
            self._waiting.clear()
            self._offset = 0
            return [Heard(item, self._milliseconds(item)) for item in items]

    def _part(self, wanted: int) -> bytes:
        pcm, item = self._waiting[0]
        if item != self._item:
            self._item, self._item_frames = item, 0
        part = pcm[self._offset : self._offset + wanted]
        self._offset += len(part)
        self._item_frames += len(part) // _SAMPLE_BYTES
        if self._offset == len(pcm):
            self._waiting.popleft()
            self._offset = 0
        return part

    def _milliseconds(self, item: str) -> int:
        return self._item_frames * 1000 // self._rate if item == self._item else 0


__all__ = ["ECHO_SECONDS", "Playback"]
