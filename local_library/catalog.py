"""Reads records. Every query carries the owner; nothing here writes."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence

from .ledger import document_id_for
from .records import Chunk, DocumentInfo, Heading, Passage, QuarantinedFile

_DOCUMENTS = """
SELECT d.document_id, d.owner_id, d.path, e.title, e.summary, v.media_type, v.size, v.number, v.source_content_hash,
    e.extractor_id, e.chunker_id, e.passages, v.imported_at, e.headings, e.warnings, e.uri, e.pages,
    coalesce(s.text, '') AS derived
FROM documents d
JOIN versions v ON v.owner_id = d.owner_id AND v.version_id = d.current_version_id
JOIN extractions e ON e.owner_id = d.owner_id AND e.version_id = d.current_version_id
LEFT JOIN derived_summaries s ON s.owner_id = d.owner_id AND s.version_id = d.current_version_id
WHERE d.owner_id = ?
"""
_NAMES = """
SELECT d.document_id, e.title, d.path FROM documents d
JOIN extractions e ON e.owner_id = d.owner_id AND e.version_id = d.current_version_id
WHERE d.owner_id = ?
"""
_BY_TITLE = "e.title COLLATE NOCASE, e.title, d.path"
_PASSAGES = """
SELECT p.*, d.path, e.title, e.uri, e.language, e.extractor_id, e.chunker_id, e.source_content_hash, v.media_type
FROM passages p
JOIN documents d
    ON d.owner_id = p.owner_id AND d.document_id = p.document_id AND d.current_version_id = p.version_id
JOIN extractions e ON e.owner_id = p.owner_id AND e.version_id = p.version_id
JOIN versions v ON v.owner_id = p.owner_id AND v.version_id = p.version_id
WHERE p.owner_id = ?
"""
_PASSAGES_BY_ID = _PASSAGES.replace("WHERE p.", "WHERE +p.")
"""The plus keeps SQLite from reading all passages of the owner to find a few ids among them."""


class Catalog:
    """The records of one store, as one owner may see them."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def documents(self, owner_id: str) -> list[DocumentInfo]:
        rows = self._connection.execute(f"{_DOCUMENTS} ORDER BY {_BY_TITLE}", (owner_id,))
        return [_document(row) for row in rows]

    def names(self, owner_id: str) -> list[tuple[str, str, str]]:
        """Id, title and path of every document, in the order of `documents`."""
        rows = self._connection.execute(f"{_NAMES} ORDER BY {_BY_TITLE}", (owner_id,))
        return [(row[0], row[1], row[2]) for row in rows]

    def document(self, owner_id: str, document_id: str) -> DocumentInfo | None:
        row = self._connection.execute(f"{_DOCUMENTS} AND d.document_id = ?", (owner_id, document_id)).fetchone()
        return _document(row) if row else None

    def document_at(self, owner_id: str, path: str) -> DocumentInfo | None:
        row = self._connection.execute(f"{_DOCUMENTS} AND d.path = ?", (owner_id, path)).fetchone()
        return _document(row) if row else None

    def some_documents(self, owner_id: str, document_ids: Iterable[str]) -> dict[str, DocumentInfo]:
        wanted = list(document_ids)
        marks = ",".join("?" * len(wanted))
        rows = self._connection.execute(f"{_DOCUMENTS} AND d.document_id IN ({marks})", (owner_id, *wanted))
        return {row["document_id"]: _document(row) for row in rows}

    def passage(self, owner_id: str, passage_id: int) -> Passage | None:
        """A current passage; None for one that a newer version replaced."""
        row = self._connection.execute(f"{_PASSAGES_BY_ID} AND p.passage_id = ?", (owner_id, passage_id)).fetchone()
        return _passage(row) if row else None

    def passages(self, owner_id: str, passage_ids: Sequence[int]) -> dict[int, Passage]:
        """The current passages among ``passage_ids``; what a newer version replaced is not among them."""
        marks = ",".join("?" * len(passage_ids))
        rows = self._connection.execute(f"{_PASSAGES_BY_ID} AND p.passage_id IN ({marks})", (owner_id, *passage_ids))
        return {row["passage_id"]: _passage(row) for row in rows}

    def passages_of(self, owner_id: str, document_id: str) -> Iterator[Passage]:
        """All passages of a document's current version in reading order."""
        rows = self._connection.execute(
            f"{_PASSAGES} AND d.document_id = ? ORDER BY p.ordinal", (owner_id, document_id)
        )
        return map(_passage, rows)

    def passage_ids(self, owner_id: str) -> list[int]:
        """The ids of all current passages in the order of their import."""
        rows = self._connection.execute(
            "SELECT passage_id FROM passages WHERE owner_id = ? ORDER BY passage_id", (owner_id,)
        )
        return [row[0] for row in rows]

    def document_ids(self, owner_id: str) -> list[str]:
        rows = self._connection.execute(
            "SELECT document_id FROM documents WHERE owner_id = ? ORDER BY created_at, document_id", (owner_id,)
        )
        return [row[0] for row in rows]

    def owners(self) -> list[str]:
        return [row[0] for row in self._connection.execute("SELECT owner_id FROM totals WHERE documents > 0")]

    def counts(self, owner_id: str) -> tuple[int, int]:
        """How many documents and passages this owner's current versions hold."""
        row = self._connection.execute(
            "SELECT documents, passages FROM totals WHERE owner_id = ?", (owner_id,)
        ).fetchone()
        return (row[0], row[1]) if row else (0, 0)

    def languages(self, owner_id: str) -> list[str]:
        """The languages of this owner's documents, most used first."""
        rows = self._connection.execute(
            "SELECT language FROM languages WHERE owner_id = ? ORDER BY documents DESC, language",
            (owner_id,),
        )
        return [row[0] for row in rows]

    def hashes(self, owner_id: str, document_id: str) -> set[str]:
        """The content hashes of all versions of a document."""
        rows = self._connection.execute(
            "SELECT source_content_hash FROM versions WHERE owner_id = ? AND document_id = ?", (owner_id, document_id)
        )
        return {row[0] for row in rows}

    def uses_hash(self, owner_id: str, source_content_hash: str) -> bool:
        return bool(
            self._connection.execute(
                "SELECT 1 FROM versions WHERE owner_id = ? AND source_content_hash = ?", (owner_id, source_content_hash)
            ).fetchone()
        )

    def all_hashes(self, owner_id: str) -> set[str]:
        """The content hashes of every version an owner has."""
        rows = self._connection.execute("SELECT source_content_hash FROM versions WHERE owner_id = ?", (owner_id,))
        return {row[0] for row in rows}

    def quarantined(self, owner_id: str) -> list[QuarantinedFile]:
        """The files that could not be imported, and why."""
        rows = self._connection.execute(
            "SELECT path, reason_code, reason, at FROM quarantine WHERE owner_id = ? ORDER BY path", (owner_id,)
        )
        return [QuarantinedFile(path, code, why, at, document_id_for(owner_id, path)) for path, code, why, at in rows]

    def purges(self) -> list[str]:
        """The owners whose index still holds words of erased documents."""
        return [row[0] for row in self._connection.execute("SELECT owner_id FROM index_purges")]

    def index_work(self) -> list[tuple[int, str, str]]:
        """What the index has yet to take over: (work id, owner, document)."""
        rows = self._connection.execute("SELECT work_id, owner_id, document_id FROM index_work ORDER BY work_id")
        return [(row[0], row[1], row[2]) for row in rows]


def _document(row: sqlite3.Row) -> DocumentInfo:
    return DocumentInfo(
        document_id=row["document_id"],
        owner_id=row["owner_id"],
        path=row["path"],
        title=row["title"],
        summary=row["summary"],
        media_type=row["media_type"],
        size=row["size"],
        version=row["number"],
        source_content_hash=row["source_content_hash"],
        extractor_id=row["extractor_id"],
        chunker_id=row["chunker_id"],
        passages=row["passages"],
        imported_at=row["imported_at"],
        headings=tuple(Heading(**heading) for heading in json.loads(row["headings"])),
        warnings=tuple(json.loads(row["warnings"])),
        derived_summary=row["derived"],
        uri=row["uri"],
        pages=row["pages"],
    )


def _passage(row: sqlite3.Row) -> Passage:
    chunk = Chunk(
        chunk_id=row["chunk_id"],
        ordinal=row["ordinal"],
        text=row["text"],
        heading_path=tuple(json.loads(row["heading_path"])),
        place=row["place"],
        first_segment=row["first_segment"],
        last_segment=row["last_segment"],
        source_content_hash=row["source_content_hash"],
        extractor_id=row["extractor_id"],
        chunker_id=row["chunker_id"],
    )
    return Passage(
        passage_id=row["passage_id"],
        document_id=row["document_id"],
        version_id=row["version_id"],
        title=row["title"],
        path=row["path"],
        media_type=row["media_type"],
        language=row["language"],
        chunk=chunk,
        uri=row["uri"],
    )


__all__ = ["Catalog"]
