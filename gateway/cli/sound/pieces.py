"""A bounded queue between the microphone's thread and the event loop. When it is full the oldest piece is lost."""

import threading
from collections import deque


class Pieces:
    """``dropped`` counts what was lost: late sound is worth less than a gap."""

    def __init__(self, limit: int) -> None:
        self.dropped = 0
        self._limit = limit
        self._lock = threading.Lock()
        self._waiting: deque[bytes] = deque()

    def put(self, piece: bytes) -> bool:
        """Add a piece. Returns True when the queue was empty, so that its reader has to be woken."""
        with self._lock:
            was_empty = not self._waiting
            if len(self._waiting) == self._limit:
                self._waiting.popleft()
                self.dropped += 1
            self._waiting.append(piece)
            return was_empty

    def take_all(self) -> list[bytes]:
        """Return what waits, oldest first."""
        with self._lock:
            taken = list(self._waiting)
            self._waiting.clear()
            return taken


__all__ = ["Pieces"]
