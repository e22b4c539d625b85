"""The folder that a library owns: its records, originals and index, and the place of the one who writes."""

import os
import queue
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .catalog import Catalog
from .errors import LibraryDamaged, LibraryStorageFailed
from .ledger import UnitOfWork, unit_of_work
from .lexical_index import LexicalIndex
from .linked_indexes import LinkedIndexes
from .originals import Originals
from .schema import connected, connected_for_reading, prepare
from .semantic.vector_store import OwnerVectorStore
from .writer_place import WriterPlace


class Workspace:
    """Opens or creates a store. Readers need no lock; `writing` waits for the one writer's place.

    A store that cannot be written is opened as it stands, for reading alone.
    """

    def __init__(self, store: Path, *, writer_wait_seconds: float) -> None:
        self.store = store
        self.originals = Originals(store / "originals")
        self.is_read_only = _is_read_only(self._records)
        self._writer = self._opened()
        self._links = LinkedIndexes(store / "index") if self.is_read_only else None
        self.index = LexicalIndex(self._links.folder if self._links else store / "index")
        self.vectors = OwnerVectorStore(store / "vectors")
        self._wait = writer_wait_seconds
        self._place = WriterPlace(store, stays=lambda: not self.index.is_settled, finish=self.index.settle)
        self._readers: queue.SimpleQueue[sqlite3.Connection] = queue.SimpleQueue()

    @contextmanager
    def reading(self) -> Iterator[Catalog]:
        """A view of the records for one thread; many may read at once."""
        try:
            connection = self._readers.get_nowait()
        except queue.Empty:
            connection = self._connected()
        try:
            yield Catalog(connection)
        except sqlite3.DatabaseError as error:
            raise self._failure(error) from error
        finally:
            self._readers.put(connection)

    @contextmanager
    def writing(self, *, wait_seconds: float | None = None) -> Iterator[Catalog]:
        """Be the one writer of this store, among threads and processes. Raises `LibraryBusy` after the wait."""
        with self._place.taken(self._wait if wait_seconds is None else wait_seconds):
            try:
                yield Catalog(self._writer)
            except (OSError, sqlite3.DatabaseError) as error:
                raise self._failure(error) from error

    @contextmanager
    def at_rest(self) -> Iterator[Catalog]:
        """A view of the records while nobody writes."""
        with self.reading() if self.is_read_only else self.writing() as catalog:
            yield catalog

    @contextmanager
    def unit_of_work(self, owner_id: str) -> Iterator[UnitOfWork]:
        """One transaction of the writer; only inside `writing`."""
        with unit_of_work(self._writer, owner_id) as work:
            yield work

    def was_cut_off(self) -> bool:
        """Whether a writer ended without finishing, or is at work right now."""
        return self._place.is_marked()

    def settle(self) -> bool:
        """Empty the log of the records, so that what was erased is in neither; waits a while for readers to let go.

        Only inside `writing`. False when a reader elsewhere still uses the log; the next one empties it.
        """
        return bool(self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0)

    def shrink(self) -> None:
        """Give free pages of the records file back to the disk; only inside `writing`."""
        self._writer.execute("VACUUM")

    def integrity(self) -> str:
        """``ok``, or what SQLite finds wrong with the records file."""
        return str(self._writer.execute("PRAGMA integrity_check(1)").fetchone()[0])

    def close(self) -> None:
        """Close all connections; the library cannot be used afterwards."""
        self._place.leave()
        while not self._readers.empty():
            self._readers.get_nowait().close()
        self._writer.close()
        if self._links is not None:
            self._links.remove()

    @property
    def _records(self) -> Path:
        return self.store / "records.sqlite"

    def _opened(self) -> sqlite3.Connection:
        try:
            if not self.is_read_only:
                self.store.mkdir(parents=True, exist_ok=True, mode=0o700)
            return self._connected(prepared=not self.is_read_only)
        except (OSError, sqlite3.DatabaseError) as error:
            raise self._failure(error) from error

    def _connected(self, *, prepared: bool = False) -> sqlite3.Connection:
        if self.is_read_only:
            return connected_for_reading(self._records)
        connection = connected(self._records)
        if prepared:
            prepare(connection)
        return connection

    def _failure(self, error: OSError | sqlite3.DatabaseError) -> Exception:
        if isinstance(error, OSError):
            return LibraryStorageFailed(self.store, error.strerror or type(error).__name__)
        if isinstance(error, sqlite3.OperationalError):
            return LibraryStorageFailed(self.store, str(error))
        return LibraryDamaged(self.store, str(error))


def _is_read_only(records: Path) -> bool:
    return records.exists() and not (os.access(records, os.W_OK) and os.access(records.parent, os.W_OK))


__all__ = ["Workspace"]
