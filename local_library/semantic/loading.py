"""Loads an embedder once, in a thread of its own, so that nobody waits for longer than they want to."""

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..ports import Embedder

_LOGGER = logging.getLogger(__name__)


class EmbedderLoading:
    """The loading of an embedder that has a ``load`` method; one without is there at once. Thread-safe."""

    def __init__(self, embedder: "Embedder") -> None:
        self._embedder_id = embedder.embedder_id
        self._load: Callable[[], None] | None = getattr(embedder, "load", None)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._done = threading.Event()
        if self._load is None:
            self._done.set()

    def wait(self, seconds: float | None = None) -> bool:
        """Begin to load, and wait so long; false when it is not done then. A failure is for the first text to tell."""
        with self._lock:
            if self._thread is None and not self._done.is_set():
                self._thread = threading.Thread(target=self._run, name="earpiece-embedder-loading", daemon=True)
                self._thread.start()
        return self._done.wait(seconds)

    def _run(self) -> None:
        try:
            if self._load is not None:
                self._load()
        except Exception as error:
            _LOGGER.warning("The embedder %s could not be loaded.", self._embedder_id, exc_info=error)
        finally:
            self._done.set()


__all__ = ["EmbedderLoading"]
