"""Gives passages their vectors after their import: in batches, beside searches, in a thread that can be stopped."""

import logging
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..errors import LibraryBusy, LibraryStorageFailed
from ..records import Passage
from ..workspace import Workspace
from .embedded_text import embedded_text
from .embedding import checked_vectors
from .entries import VectorEntry, space_of
from .loading import EmbedderLoading
from .vector_store import OwnerVectorStore

if TYPE_CHECKING:
    from ..ports import Embedder

Progress = Callable[[int, int], None]

_LOGGER = logging.getLogger(__name__)
_EMBEDDED_AT_ONCE = 16
_KEPT_AT_ONCE = 128
_TRIES = 6
_BUSY_SECONDS = 1.0
_LOOK_SECONDS = 0.1
_LONGEST_PAUSE_SECONDS = 60.0
_CLOSING_SECONDS = 5.0


class VectorCatchUp:
    """Brings an owner's vectors to the state of the records. One owner at a time; the thread starts when needed."""

    def __init__(self, workspace: Workspace, embedder: "Embedder", loading: EmbedderLoading) -> None:
        self._workspace = workspace
        self._embedder = embedder
        self._loading = loading
        self._waiting: dict[str, None] = {}
        self._changed = threading.Condition()
        self._turn = threading.Lock()
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def wake(self, owner_ids: Sequence[str]) -> None:
        """Catch up for these owners soon, in the background."""
        with self._changed:
            self._waiting.update(dict.fromkeys(owner_ids))
            if self._waiting and self._thread is None and not self._stopped.is_set():
                self._thread = threading.Thread(target=self._work, name="earpiece-embedding", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def run(self, owner_id: str, progress: Progress | None = None) -> int:
        """Catch up now; returns how many vectors were made. Raises what the embedder raises."""
        with self._changed:
            self._waiting.pop(owner_id, None)
        with self._turn:
            return self._catch_up(owner_id, progress)

    def close(self) -> None:
        """Stop after the batch at work. What is missing then is made when the library is opened again."""
        self._stopped.set()
        with self._changed:
            self._changed.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join(_CLOSING_SECONDS)

    def _work(self) -> None:
        while not (self._stopped.is_set() or self._loading.wait(_LOOK_SECONDS)):
            pass
        while (owner_id := self._next()) is not None:
            self._try(owner_id)

    def _next(self) -> str | None:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._stopped.is_set())
            if self._stopped.is_set():
                return None
            owner_id = next(iter(self._waiting))
            del self._waiting[owner_id]
            return owner_id

    def _try(self, owner_id: str) -> None:
        """Catch up for one owner, again after a failure; what still fails waits for the next change."""
        failures = 0
        while not self._stopped.is_set() and failures < _TRIES:
            try:
                with self._turn:
                    self._catch_up(owner_id, None)
                return
            except LibraryBusy:
                self._stopped.wait(_BUSY_SECONDS)
            except LibraryStorageFailed as error:
                _LOGGER.warning("No vectors are kept: %s", error)
                return
            except Exception as error:
                failures += 1
                if self._stopped.is_set():
                    return
                _LOGGER.warning(
                    "Embedding with %s failed (%s); search goes on by words alone, try %d of %d.",
                    self._embedder.embedder_id,
                    type(error).__name__,
                    failures,
                    _TRIES,
                    exc_info=error,
                )
                self._stopped.wait(min(_LONGEST_PAUSE_SECONDS, 2.0**failures))

    def _catch_up(self, owner_id: str, progress: Progress | None) -> int:
        held = self._held(owner_id)
        current = self._current(owner_id)  # after the vectors: another process may be adding some
        self._drop(owner_id, held - set(current))
        missing = [one for one in current if one not in held]
        done = 0
        while done < len(missing) and not self._stopped.is_set():
            self._embed(owner_id, missing[done : done + _KEPT_AT_ONCE])
            done = min(len(missing), done + _KEPT_AT_ONCE)
            if progress is not None:
                progress(done, len(missing))
        self._make_graph(owner_id)
        return done

    def _current(self, owner_id: str) -> list[int]:
        with self._workspace.reading() as catalog:
            return catalog.passage_ids(owner_id)

    def _held(self, owner_id: str) -> set[int]:
        try:
            return self._vectors.held(owner_id, space_of(self._embedder))
        except OSError:
            _LOGGER.warning("The vectors in %s are damaged; they are made anew.", self._workspace.store)
            with self._workspace.writing():
                self._vectors.erase(owner_id)
            return set()

    def _drop(self, owner_id: str, gone: set[int]) -> None:
        if gone:
            with self._workspace.writing():
                self._vectors.forget_passages(owner_id, gone)
                self._vectors.compact(owner_id, only_if_worth=True)

    def _embed(self, owner_id: str, passage_ids: Sequence[int]) -> None:
        import numpy

        with self._workspace.reading() as catalog:
            passages = list(catalog.passages(owner_id, passage_ids).values())
        parts = []
        for start in range(0, len(passages), _EMBEDDED_AT_ONCE):
            if self._stopped.is_set():
                return
            texts = [embedded_text(one) for one in passages[start : start + _EMBEDDED_AT_ONCE]]
            parts.append(checked_vectors(self._embedder, texts))
        if not parts or self._stopped.is_set():  # whoever closes may not have waited for the embedder
            return
        vectors = numpy.concatenate(parts)
        with self._workspace.writing() as catalog:
            # A passage that was erased meanwhile must not come back as a vector.
            still = catalog.passages(owner_id, passage_ids)
            places = [place for place, one in enumerate(passages) if one.passage_id in still]
            entries = [_entry(passages[place]) for place in places]
            self._vectors.add(owner_id, space_of(self._embedder), entries, vectors[places])

    def _make_graph(self, owner_id: str) -> None:
        if not self._vectors.exists(owner_id) or self._stopped.is_set():
            return
        unfinished = self._vectors.graph_made(owner_id, lambda: not self._stopped.is_set())
        if unfinished is not None:
            with self._workspace.writing():
                self._vectors.publish_graph(owner_id, unfinished)

    @property
    def _vectors(self) -> OwnerVectorStore:
        return self._workspace.vectors


def _entry(passage: Passage) -> VectorEntry:
    chunk = passage.chunk
    return VectorEntry(passage.passage_id, passage.document_id, chunk.chunk_id, chunk.source_content_hash)


__all__ = ["Progress", "VectorCatchUp"]
