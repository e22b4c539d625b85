"""How code learns that nobody waits for it any more."""

import threading
from collections.abc import Callable


class StopSignal(threading.Event):
    """An event for code that looks, and a call for code that must be told; set once, from the gateway's loop."""

    def __init__(self) -> None:
        super().__init__()
        self._tell: list[Callable[[], object]] = []

    def then(self, tell: Callable[[], object]) -> None:
        """Call ``tell`` the moment the signal is set."""
        self._tell.append(tell)

    def set(self) -> None:
        if not self.is_set():
            super().set()
            for tell in self._tell:
                tell()


__all__ = ["StopSignal"]
