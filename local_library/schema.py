"""The tables of the library's records. Versions are append-only: a trigger refuses to change one."""

import sqlite3
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

SCHEMA_VERSION = 4

_LANGUAGES = """
CREATE TABLE languages (
    owner_id TEXT NOT NULL, language TEXT NOT NULL, documents INTEGER NOT NULL, PRIMARY KEY (owner_id, language)
) WITHOUT ROWID;
CREATE TRIGGER count_language AFTER INSERT ON extractions BEGIN
    INSERT INTO languages VALUES (new.owner_id, new.language, 1)
    ON CONFLICT (owner_id, language) DO UPDATE SET documents = documents + 1;
END;
CREATE TRIGGER discount_language AFTER DELETE ON extractions BEGIN
    UPDATE languages SET documents = documents - 1 WHERE owner_id = old.owner_id AND language = old.language;
    DELETE FROM languages WHERE owner_id = old.owner_id AND language = old.language AND documents < 1;
END;
"""
_RECORDS = """
CREATE TABLE documents (
    owner_id TEXT NOT NULL, document_id TEXT NOT NULL, path TEXT NOT NULL,
    current_version_id TEXT NOT NULL, created_at REAL NOT NULL,
    PRIMARY KEY (owner_id, document_id), UNIQUE (owner_id, path)
) WITHOUT ROWID;

CREATE TABLE versions (
    owner_id TEXT NOT NULL, version_id TEXT NOT NULL, document_id TEXT NOT NULL, number INTEGER NOT NULL,
    source_content_hash TEXT NOT NULL, size INTEGER NOT NULL, media_type TEXT NOT NULL, imported_at REAL NOT NULL,
    PRIMARY KEY (owner_id, version_id), UNIQUE (owner_id, document_id, number),
    FOREIGN KEY (owner_id, document_id) REFERENCES documents (owner_id, document_id) DEFERRABLE INITIALLY DEFERRED
) WITHOUT ROWID;
CREATE INDEX versions_by_hash ON versions (owner_id, source_content_hash);
CREATE TRIGGER versions_are_append_only BEFORE UPDATE ON versions
BEGIN SELECT RAISE(ABORT, 'versions are append-only'); END;

CREATE TABLE extractions (
    owner_id TEXT NOT NULL, version_id TEXT NOT NULL, source_content_hash TEXT NOT NULL, extractor_id TEXT NOT NULL,
    chunker_id TEXT NOT NULL, title TEXT NOT NULL, summary TEXT NOT NULL, headings TEXT NOT NULL,
    warnings TEXT NOT NULL, language TEXT NOT NULL, passages INTEGER NOT NULL, uri TEXT NOT NULL,
    pages INTEGER NOT NULL,
    PRIMARY KEY (owner_id, version_id),
    FOREIGN KEY (owner_id, version_id) REFERENCES versions (owner_id, version_id)
) WITHOUT ROWID;

CREATE TABLE passages (
    passage_id INTEGER PRIMARY KEY AUTOINCREMENT, owner_id TEXT NOT NULL, document_id TEXT NOT NULL,
    version_id TEXT NOT NULL, chunk_id TEXT NOT NULL, ordinal INTEGER NOT NULL, heading_path TEXT NOT NULL,
    place TEXT NOT NULL, first_segment INTEGER NOT NULL, last_segment INTEGER NOT NULL, text TEXT NOT NULL,
    FOREIGN KEY (owner_id, version_id) REFERENCES versions (owner_id, version_id)
);
CREATE INDEX passages_by_version ON passages (owner_id, version_id, ordinal);

CREATE TABLE derived_summaries (
    owner_id TEXT NOT NULL, version_id TEXT NOT NULL, summarizer_id TEXT NOT NULL, source_content_hash TEXT NOT NULL,
    text TEXT NOT NULL, PRIMARY KEY (owner_id, version_id),
    FOREIGN KEY (owner_id, version_id) REFERENCES versions (owner_id, version_id)
) WITHOUT ROWID;

CREATE TABLE quarantine (
    owner_id TEXT NOT NULL, path TEXT NOT NULL, reason_code TEXT NOT NULL, reason TEXT NOT NULL, at REAL NOT NULL,
    PRIMARY KEY (owner_id, path)
) WITHOUT ROWID;

CREATE TABLE totals (
    owner_id TEXT PRIMARY KEY, documents INTEGER NOT NULL DEFAULT 0, passages INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE TRIGGER count_document AFTER INSERT ON documents BEGIN
    INSERT INTO totals (owner_id, documents) VALUES (new.owner_id, 1)
    ON CONFLICT (owner_id) DO UPDATE SET documents = documents + 1;
END;
CREATE TRIGGER discount_document AFTER DELETE ON documents BEGIN
    UPDATE totals SET documents = documents - 1 WHERE owner_id = old.owner_id;
END;
CREATE TRIGGER count_passages AFTER INSERT ON extractions BEGIN
    UPDATE totals SET passages = passages + new.passages WHERE owner_id = new.owner_id;
END;
CREATE TRIGGER discount_passages AFTER DELETE ON extractions BEGIN
    UPDATE totals SET passages = passages - old.passages WHERE owner_id = old.owner_id;
END;

CREATE TABLE index_purges (owner_id TEXT PRIMARY KEY) WITHOUT ROWID;

CREATE TABLE index_work (
    work_id INTEGER PRIMARY KEY AUTOINCREMENT, owner_id TEXT NOT NULL, document_id TEXT NOT NULL
);
"""


_STEPS = {
    1: ("ALTER TABLE extractions ADD COLUMN uri TEXT NOT NULL DEFAULT '';",),
    2: ("ALTER TABLE extractions ADD COLUMN pages INTEGER NOT NULL DEFAULT 0;",),
    3: (_LANGUAGES, "INSERT INTO languages SELECT owner_id, language, count(*) FROM extractions GROUP BY 1, 2;"),
}
"""What brings the records of a version to the next one."""


def connected(path: Path) -> sqlite3.Connection:
    """A connection to the records in ``path``; freed pages are overwritten, so that erased text is gone."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=10)
    connection.row_factory = sqlite3.Row
    for pragma in ("busy_timeout = 10000", "foreign_keys = ON", "secure_delete = ON", "cache_size = -32000"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def connected_for_reading(path: Path) -> sqlite3.Connection:
    """A connection to records that nobody can write, as they stand; raise `sqlite3.DatabaseError` as `prepare` does.

    SQLite needs to write a file even to read a log, so a log that was left behind makes the records unreadable.
    """
    log = path.with_name(f"{path.name}-wal")
    if log.exists() and log.stat().st_size:
        raise sqlite3.OperationalError("it was not closed; open it once where it can be written")
    uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    found = _version_of(connection)
    if found in _STEPS:
        raise sqlite3.OperationalError("an earlier version made it; open it once where it can be written")
    if found != SCHEMA_VERSION:
        raise _is_foreign(found)
    return connection


def prepare(connection: sqlite3.Connection) -> None:
    """Create the tables in a new file; raise `sqlite3.DatabaseError` where another program or version made it."""
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")  # what was said to be imported outlives a power cut
    if _version_of(connection) != SCHEMA_VERSION:
        connection.execute("BEGIN IMMEDIATE")
        try:
            _bring_up(connection)
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise


def _bring_up(connection: sqlite3.Connection) -> None:
    found = _version_of(connection)  # another process may have been faster
    if found == SCHEMA_VERSION:
        return
    if found != 0 and found not in _STEPS:
        raise _is_foreign(found)
    steps = [_STEPS[version] for version in range(found, SCHEMA_VERSION)] if found else [(_RECORDS, _LANGUAGES)]
    for script in chain.from_iterable(steps):
        for statement in _statements(script):
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _is_foreign(found: int) -> sqlite3.DatabaseError:
    return sqlite3.DatabaseError(f"it has schema {found}, this program reads {SCHEMA_VERSION}")


def _version_of(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _statements(script: str) -> Iterator[str]:
    """The statements of ``script`` one by one: `executescript` would end the transaction."""
    statement = ""
    for part in script.split(";"):
        statement += f"{part};"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


__all__ = ["SCHEMA_VERSION", "connected", "connected_for_reading", "prepare"]
