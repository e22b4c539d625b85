"""The one place that writes records: a unit of work, all of it or nothing.

Nothing else in the library changes a record (a test searches the source). Documents point to their current version;
versions are only ever added; the index is told what to do by `index_work`, written in the same transaction.
"""

import hashlib
import json
import sqlite3
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from .records import Chunk, ExtractedText, Heading


def document_id_for(owner_id: str, path: str) -> str:
    """The id of the document at ``path``: derived, so a file imported again is the same document."""
    return hashlib.sha256(f"{owner_id}\0{path}".encode("utf-8", "surrogatepass")).hexdigest()[:20]


class UnitOfWork:
    """Writes of one transaction on behalf of one owner; a caller cannot name another."""

    def __init__(self, connection: sqlite3.Connection, owner_id: str) -> None:
        self._connection = connection
        self._owner = owner_id

    def append_version(
        self, path: str, source_content_hash: str, size: int, media_type: str, *, now: float | None = None
    ) -> tuple[str, str]:
        """Add a version and make it current. Returns the document's and the version's id."""
        document_id = document_id_for(self._owner, path)
        version_id = uuid.uuid4().hex
        at = time.time() if now is None else now
        self._connection.execute(
            "INSERT INTO documents VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (owner_id, document_id) DO UPDATE SET current_version_id = excluded.current_version_id",
            (self._owner, document_id, path, version_id, at),
        )
        self._connection.execute(
            "INSERT INTO versions SELECT ?, ?, ?, coalesce(max(number), 0) + 1, ?, ?, ?, ? FROM versions "
            "WHERE owner_id = ? AND document_id = ?",
            (self._owner, version_id, document_id, source_content_hash, size, media_type, at, self._owner, document_id),
        )
        return document_id, version_id

    def replace_extraction(
        self,
        document_id: str,
        version_id: str,
        extracted: ExtractedText,
        chunks: Sequence[Chunk],
        *,
        chunker_id: str,
        title: str,
        summary: str,
        headings: Sequence[Heading],
        language: str,
    ) -> None:
        """Store what was derived from a version; what was derived from the document's versions before goes."""
        self._forget_derived(document_id)
        self._connection.execute(
            "INSERT INTO extractions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                self._owner,
                version_id,
                extracted.source_content_hash,
                extracted.extractor_id,
                chunker_id,
                title,
                summary,
                json.dumps([_written(heading) for heading in headings], ensure_ascii=False),
                json.dumps(extracted.warnings, ensure_ascii=False),
                language,
                len(chunks),
                extracted.uri,
                extracted.pages,
            ),
        )
        self._connection.executemany(
            "INSERT INTO passages (owner_id, document_id, version_id, chunk_id, ordinal, heading_path, place, "
            "first_segment, last_segment, text) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (self._passage_row(document_id, version_id, chunk) for chunk in chunks),
        )
        self._plan_index(document_id)

    def keep_derived_summary(self, version_id: str, summarizer_id: str, source_content_hash: str, text: str) -> None:
        """Store a model's summary beside what was extracted, never in its place."""
        self._connection.execute(
            "INSERT OR REPLACE INTO derived_summaries VALUES (?, ?, ?, ?, ?)",
            (self._owner, version_id, summarizer_id, source_content_hash, text),
        )

    def quarantine(self, path: str, reason_code: str, reason: str) -> None:
        self._connection.execute(
            "INSERT OR REPLACE INTO quarantine VALUES (?, ?, ?, ?, ?)",
            (self._owner, path, reason_code, reason, time.time()),
        )

    def release(self, path: str) -> None:
        self._connection.execute("DELETE FROM quarantine WHERE owner_id = ? AND path = ?", (self._owner, path))

    def erase_document(self, document_id: str) -> None:
        """Erase a document with all its versions. Erasure is whole; a single version cannot be deleted."""
        self._forget_derived(document_id)
        key = (self._owner, document_id)
        self._connection.execute(
            "DELETE FROM quarantine WHERE owner_id = ? AND path = "
            "(SELECT path FROM documents WHERE owner_id = ? AND document_id = ?)",
            (self._owner, *key),
        )
        self._connection.execute("DELETE FROM versions WHERE owner_id = ? AND document_id = ?", key)
        self._connection.execute("DELETE FROM documents WHERE owner_id = ? AND document_id = ?", key)
        self._plan_index(document_id)

    def erase_owner(self) -> None:
        """Erase everything of this owner."""
        for table in (
            "passages",
            "extractions",
            "derived_summaries",
            "versions",
            "documents",
            "quarantine",
            "index_work",
            "index_purges",
            "totals",
            "languages",
        ):
            self._connection.execute(f"DELETE FROM {table} WHERE owner_id = ?", (self._owner,))  # noqa: S608

    def plan_purge(self) -> None:
        self._connection.execute("INSERT OR IGNORE INTO index_purges VALUES (?)", (self._owner,))

    def purge_done(self) -> None:
        self._connection.execute("DELETE FROM index_purges WHERE owner_id = ?", (self._owner,))
        self._connection.execute("DELETE FROM index_work WHERE owner_id = ?", (self._owner,))

    def index_done(self, work_id: int) -> None:
        self._connection.execute("DELETE FROM index_work WHERE owner_id = ? AND work_id <= ?", (self._owner, work_id))

    def _plan_index(self, document_id: str) -> None:
        self._connection.execute(
            "INSERT INTO index_work (owner_id, document_id) VALUES (?, ?)", (self._owner, document_id)
        )

    def _forget_derived(self, document_id: str) -> None:
        of_document = (
            "owner_id = ? AND version_id IN (SELECT version_id FROM versions WHERE owner_id = ? AND document_id = ?)"
        )
        for table in ("passages", "extractions", "derived_summaries"):
            self._connection.execute(
                f"DELETE FROM {table} WHERE {of_document}",  # noqa: S608 - the names above are constants
                (self._owner, self._owner, document_id),
            )

    def _passage_row(self, document_id: str, version_id: str, chunk: Chunk) -> tuple[object, ...]:
        return (
            self._owner,
            document_id,
            version_id,
            chunk.chunk_id,
            chunk.ordinal,
            json.dumps(chunk.heading_path, ensure_ascii=False),
            chunk.place,
            chunk.first_segment,
            chunk.last_segment,
            chunk.text,
        )


def _written(heading: Heading) -> dict[str, object]:
    return {"text": heading.text, "level": heading.level, "locator": heading.locator}


@contextmanager
def unit_of_work(connection: sqlite3.Connection, owner_id: str) -> Iterator[UnitOfWork]:
    """One transaction for ``owner_id``: committed when the block ends, undone when it raises."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield UnitOfWork(connection, owner_id)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


__all__ = ["UnitOfWork", "document_id_for", "unit_of_work"]
