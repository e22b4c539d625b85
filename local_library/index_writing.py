"""Writing tantivy indexes: one stays open after a commit, so that tantivy merges its segments behind the caller's back.

A commit takes milliseconds; the merges it starts take seconds in a large index, and nobody has to wait for them to find
what was committed. `close` does wait: a merge that is cut off would be started again by every later commit.
"""

import contextlib
import errno
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import tantivy

from .originals import owner_tag
from .tokens import Analysis

FIELDS = ("body", "head", "gram", "phon")
_WRITER_HEAP_BYTES = 128_000_000


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """What the index holds of a passage: its tokens, and the lineage of the text they were made of."""

    passage_id: int
    document_id: str
    chunk_id: str
    source_content_hash: str
    extractor_id: str
    chunker_id: str
    text: Analysis
    head: str


class IndexUnusable(OSError):
    """Raised when tantivy cannot write an index; the records still hold everything."""


class IndexWriter:
    """Commits to one index at a time and keeps it open. Not thread-safe: only inside the workspace's `writing`."""

    def __init__(self) -> None:
        self._open: _Open | None = None

    @property
    def is_open(self) -> bool:
        return self._open is not None

    @contextmanager
    def committing(self, path: Path, owner_id: str) -> Iterator["IndexWriting"]:
        """Changes to the index in ``path`` that become visible together when the block ends, or not at all."""
        if self._open is None or not self._open.is_at(path):
            self.close()
            self._open = _opened(path)
        writer = self._open.writer
        try:
            yield IndexWriting(writer, owner_id)
            writer.commit()
        except BaseException as error:
            self.close()
            if isinstance(error, ValueError):
                raise IndexUnusable(errno.EIO, "the index cannot be written") from error
            raise

    def close(self) -> None:
        """Wait for the merges and give the index back. What was not committed is gone."""
        opened, self._open = self._open, None
        if opened is not None:
            with contextlib.suppress(ValueError):
                opened.writer.wait_merging_threads()


class IndexWriting:
    """The changes of one commit."""

    def __init__(self, writer: "tantivy.IndexWriter", owner_id: str) -> None:
        self._writer = writer
        self._owner_tag = owner_tag(owner_id)

    def replace(self, document_id: str, entries: Iterable[IndexEntry]) -> None:
        """Make ``entries`` all that the index holds of a document; doing it twice changes nothing."""
        self._writer.delete_documents_by_term("document", document_id)
        for entry in entries:
            self.add(entry)

    def add(self, entry: IndexEntry) -> None:
        """Add one entry of a document that the index does not hold yet."""
        self._writer.add_document(self._document(entry))

    def _document(self, entry: IndexEntry) -> "tantivy.Document":
        made = tantivy.Document()
        made.add_text("document", entry.document_id)
        made.add_unsigned("passage", entry.passage_id)
        made.add_text("body", entry.text.body)
        made.add_text("head", entry.head)
        made.add_text("gram", entry.text.gram)
        made.add_text("phon", entry.text.phon)
        lineage = {
            "key": f"{self._owner_tag}||{entry.chunk_id}",
            "source_content_hash": entry.source_content_hash,
            "extractor_id": entry.extractor_id,
            "chunker_id": entry.chunker_id,
        }
        made.add_text("lineage", json.dumps(lineage))
        return made


@lru_cache(maxsize=1)
def index_schema() -> "tantivy.Schema":
    """The fields of every index."""
    builder = tantivy.SchemaBuilder()
    for field in FIELDS:
        builder.add_text_field(field, tokenizer_name="whitespace", index_option="freq")
    builder.add_text_field("document", tokenizer_name="raw", index_option="basic")
    builder.add_unsigned_field("passage", fast=True)
    builder.add_text_field("lineage", stored=True, tokenizer_name="raw", index_option="basic")
    return builder.build()


@dataclass(frozen=True, slots=True)
class _Open:
    """A writer, and the folder it writes to; a folder that was deleted and made again is another one."""

    writer: "tantivy.IndexWriter"
    path: Path
    folder: int

    def is_at(self, path: Path) -> bool:
        return path == self.path and (path / "meta.json").exists() and path.stat().st_ino == self.folder


def _opened(path: Path) -> _Open:
    path.mkdir(parents=True, exist_ok=True)
    try:
        writer = tantivy.Index(index_schema(), path=str(path), reuse=True).writer(_WRITER_HEAP_BYTES, 1)
        writer.garbage_collect_files()  # what a killed writer left would be in the way of the next commit
    except ValueError as error:
        raise IndexUnusable(errno.EIO, "the index cannot be opened") from error
    return _Open(writer, path, path.stat().st_ino)


__all__ = ["FIELDS", "IndexEntry", "IndexUnusable", "IndexWriter", "IndexWriting", "index_schema"]
