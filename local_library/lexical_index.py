"""The lexical index: one tantivy index per owner. It is a cache; deleting it loses nothing but time.

An owner's index is a folder of its own: the owner is part of every key, no query can reach another owner's entries,
scores do not depend on other people's words, and an owner is erased by removing a folder.
"""

import json
import shutil
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import tantivy

from .index_writing import IndexWriter, IndexWriting, index_schema
from .originals import owner_tag


@dataclass(frozen=True, slots=True)
class WeightedTerm:
    """A token to look for in a field, and how much a match there counts."""

    field: str
    token: str
    boost: float


@dataclass(frozen=True, slots=True)
class IndexHit:
    """A passage that matched; ``score`` is higher for better."""

    passage_id: int
    score: float


class LexicalIndex:
    """Adds, removes and finds passages by their tokens. Reading is thread-safe; one thread writes at a time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._opened: dict[str, _Opened] = {}
        self._lock = threading.Lock()
        self._writer = IndexWriter()

    def path_of(self, owner_id: str) -> Path:
        return self._folder / owner_tag(owner_id)

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

    def state(self, owner_id: str) -> object:
        """Something that is equal as long as the index has not changed."""
        self._searcher(owner_id)
        opened = self._opened.get(owner_id)
        return opened.state if opened else None

    def count(self, owner_id: str) -> int:
        searcher = self._searcher(owner_id)
        return searcher.num_docs if searcher else 0

    def frequencies(self, owner_id: str) -> Callable[[str, str], int]:
        """Says how many of the owner's passages hold a token in a field, in one state of the index."""
        searcher = self._searcher(owner_id)
        return searcher.doc_freq if searcher else lambda _field, _token: 0

    def search(
        self,
        owner_id: str,
        wanted: Iterable[WeightedTerm],
        limit: int,
        *,
        document_ids: Collection[str] | None = None,
        without: Collection[str] = (),
    ) -> list[IndexHit]:
        """The ``limit`` best passages for any of the ``wanted`` terms, best first; equal scores in import order.

        ``document_ids`` narrows to some documents, ``without`` leaves some out; both are part of the query itself.
        """
        searcher = self._searcher(owner_id)
        schema = index_schema()
        clauses = [
            (
                tantivy.Occur.Should,
                tantivy.Query.boost_query(tantivy.Query.term_query(schema, term.field, term.token, "freq"), term.boost),
            )
            for term in wanted
        ]
        if searcher is None or not clauses:
            return []
        query = tantivy.Query.boolean_query(clauses)
        if document_ids is not None:
            among = tantivy.Query.term_set_query(schema, "document", sorted(document_ids))
            only = tantivy.Query.const_score_query(among, 0.0)
            query = tantivy.Query.boolean_query([(tantivy.Occur.Must, query), (tantivy.Occur.Must, only)])
        if without:
            others = tantivy.Query.term_set_query(schema, "document", sorted(without))
            query = tantivy.Query.boolean_query([(tantivy.Occur.Must, query), (tantivy.Occur.MustNot, others)])
        hits = searcher.search(query, limit, count=False).hits
        ids = searcher.fast_field_values("passage", [address for _, address in hits])
        found = [IndexHit(int(passage_id or 0), score) for (score, _), passage_id in zip(hits, ids, strict=True)]
        return sorted(found, key=lambda hit: (-hit.score, hit.passage_id))

    def lineage(self, owner_id: str, document_id: str) -> list[dict[str, str]]:
        """The stored lineage of a document's entries, for verification."""
        searcher = self._searcher(owner_id)
        if searcher is None:
            return []
        query = tantivy.Query.term_query(index_schema(), "document", document_id, "basic")
        hits = searcher.search(query, 100_000, count=False).hits
        return [json.loads(searcher.doc(address)["lineage"][0]) for _, address in hits]

    def drop_strays(self, owner_ids: Iterable[str]) -> None:
        """Remove the indexes of all but these owners, and what a rebuild that was cut off left behind."""
        self.settle()
        kept = {owner_tag(owner_id) for owner_id in owner_ids}
        for folder in self._folder.glob("*"):
            if folder.name not in kept:
                shutil.rmtree(folder, ignore_errors=True)

    def erase(self, owner_id: str) -> None:
        """Remove the owner's whole index from the disk."""
        self.settle()
        with self._lock:
            self._opened.pop(owner_id, None)
        shutil.rmtree(self.path_of(owner_id), ignore_errors=True)

    def _searcher(self, owner_id: str) -> "tantivy.Searcher | None":
        marker = self.path_of(owner_id) / "meta.json"
        try:
            status = marker.stat()
        except OSError:
            return None
        state = (status.st_ino, status.st_mtime_ns, status.st_size)
        opened = self._opened.get(owner_id)
        if opened is not None and opened.state == state:
            return opened.searcher
        with self._lock:
            index = tantivy.Index(index_schema(), path=str(marker.parent), reuse=True)
            index.config_reader("manual")
            index.reload()
            opened = _Opened(index.searcher(), state)
            self._opened[owner_id] = opened
            return opened.searcher


@dataclass(frozen=True, slots=True)
class _Opened:
    searcher: "tantivy.Searcher"
    state: tuple[int, int, int]


__all__ = ["IndexHit", "LexicalIndex", "WeightedTerm"]
