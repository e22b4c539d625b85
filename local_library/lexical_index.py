"""The lexical index: one tantivy index per owner. It is a cache; deleting it loses nothing but time.

An owner's index is a folder of its own: the owner is part of every key, no query can reach another owner's entries,
scores do not depend on other people's words, and an owner is erased by removing a folder. Its name also says how texts
were cut into tokens: after a change of that, there is no index, which is mended as ever.
"""

import shutil
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .index_reading import IndexHit, IndexView, WeightedTerm
from .index_writing import IndexWriter, IndexWriting
from .originals import owner_tag
from .tokens import ANALYZER_ID


class LexicalIndex:
    """Adds, removes and finds passages by their tokens. Reading is thread-safe; one thread writes at a time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._views: dict[str, IndexView] = {}
        self._lock = threading.Lock()
        self._writer = IndexWriter()

    def path_of(self, owner_id: str) -> Path:
        return self._folder / f"{owner_tag(owner_id)}-{ANALYZER_ID}"

    @contextmanager
    def writing(self, owner_id: str) -> Iterator["IndexWriting"]:
        """Changes that become visible together when the block ends, and not at all when it raises.

        The index stays open for the next changes, and for the merges that these started, until `settle`.
        """
        with self._writer.committing(self.path_of(owner_id), owner_id) as writing:
            yield writing

    @property
    def is_settled(self) -> bool:
        """Whether nothing is written any more, not even by a merge."""
        return not self._writer.is_open

    def settle(self) -> None:
        """Wait until all merges are done and let go of the index that was written last."""
        self._writer.close()

    @contextmanager
    def rebuilding(self, owner_id: str) -> Iterator["IndexWriting"]:
        """A new index beside the old one; it takes the old one's place when the block ends without error."""
        self.settle()  # nobody may write into the folder that is about to go
        path = self.path_of(owner_id)
        fresh, old = path.with_suffix(".new"), path.with_suffix(".old")
        for leftover in (fresh, old):
            shutil.rmtree(leftover, ignore_errors=True)
        fresh.mkdir(parents=True)
        try:
            with self._writer.committing(fresh, owner_id) as writing:
                yield writing
            self.settle()
        except BaseException:
            shutil.rmtree(fresh, ignore_errors=True)
            raise
        if path.exists():
            path.rename(old)
        fresh.rename(path)
        shutil.rmtree(old, ignore_errors=True)

    def exists(self, owner_id: str) -> bool:
        return (self.path_of(owner_id) / "meta.json").exists()

    def view(self, owner_id: str) -> IndexView | None:
        """The owner's index as it is now, or None where there is none. Opened once for each state."""
        marker = self.path_of(owner_id) / "meta.json"
        try:
            status = marker.stat()
        except OSError:
            return None
        state = (status.st_ino, status.st_mtime_ns, status.st_size)
        known = self._views.get(owner_id)
        if known is not None and known.state == state:
            return known
        with self._lock:
            known = self._views.get(owner_id)
            if known is None or known.state != state:
                known = self._views[owner_id] = IndexView(marker.parent, state)
            return known

    def count(self, owner_id: str) -> int:
        """How many passages the owner's index holds."""
        view = self.view(owner_id)
        return view.count if view else 0

    def lineage(self, owner_id: str, document_id: str) -> list[dict[str, str]]:
        """The stored lineage of a document's entries, for verification."""
        view = self.view(owner_id)
        return view.lineage(document_id) if view else []

    def drop_strays(self, owner_ids: Iterable[str]) -> None:
        """Remove the indexes of all but these owners, and what a rebuild that was cut off left behind."""
        self.settle()
        kept = {self.path_of(owner_id).name for owner_id in owner_ids}
        for folder in self._folder.glob("*"):
            if folder.name not in kept:
                shutil.rmtree(folder, ignore_errors=True)

    def erase(self, owner_id: str) -> None:
        """Remove the owner's whole index from the disk, one of other tokens, too."""
        self.settle()
        with self._lock:
            self._views.pop(owner_id, None)
        for folder in self._folder.glob(f"{owner_tag(owner_id)}*"):
            shutil.rmtree(folder, ignore_errors=True)


__all__ = ["IndexHit", "IndexView", "LexicalIndex", "WeightedTerm"]
