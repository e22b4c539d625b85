"""What `verify` finds: each kind of damage by its own code, of the right document, and nothing where all is well."""

import sqlite3
from pathlib import Path

import pytest

from local_library import DomainLibrary
from local_library.extraction.limited import LimitedExtractor

NOTES = {
    "boiler.md": "# Boiler\n\nDescaled in March.\n\n## Pressure\n\nAt 1.5 bar.\n",
    "kettle.md": "# Kettle\n\nShared.\n",
}


@pytest.fixture
def filled(library: DomainLibrary, tmp_path: Path) -> DomainLibrary:
    """A library of two documents."""
    for name, text in NOTES.items():
        library.import_bytes(f"/{name}", text.encode())
    assert library.verify() == ()
    return library


def changed(library: DomainLibrary, statement: str) -> None:
    """Change the records behind the library's back."""
    records = sqlite3.connect(library.store / "records.sqlite")
    for (trigger,) in records.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        records.execute(f"DROP TRIGGER {trigger}")
    with records:
        assert records.execute(statement).rowcount > 0
    records.close()


def found(library: DomainLibrary) -> list[tuple[str, str]]:
    titles = {one.document_id: one.title for one in library.list()}
    return sorted((one.kind, titles[one.document_id]) for one in library.verify())


def original_of(library: DomainLibrary, path: str) -> Path:
    fingerprint = library.show(path).source_content_hash
    return next(one for one in (library.store / "originals").rglob("*") if one.name == fingerprint)


def test_a_missing_original_is_named(filled: DomainLibrary) -> None:
    """The document whose bytes are gone, and no other."""
    original_of(filled, "/boiler.md").unlink()
    assert found(filled) == [("original_missing", "Boiler")]


def test_a_changed_original_is_named(filled: DomainLibrary) -> None:
    """One byte is enough."""
    kept = original_of(filled, "/kettle.md")
    kept.chmod(0o600)
    kept.write_bytes(kept.read_bytes()[:-1] + b"?")
    assert found(filled) == [("original_changed", "Kettle")]


def test_a_passage_that_is_gone_is_missed(filled: DomainLibrary) -> None:
    """The count of the document and the index both tell."""
    changed(filled, "DELETE FROM passages WHERE text LIKE 'At 1.5%'")
    assert found(filled) == [("index_differs", "Boiler"), ("passages_missing", "Boiler")]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE passages SET chunk_id = 'other' WHERE text = 'Shared.'",
        "UPDATE extractions SET extractor_id = 'other' WHERE title = 'Kettle'",
        "UPDATE extractions SET chunker_id = 'other' WHERE title = 'Kettle'",
    ],
)
def test_a_lineage_that_differs_from_the_index_is_found(filled: DomainLibrary, statement: str) -> None:
    """Each of the ids is compared, not the number of entries alone."""
    changed(filled, statement)
    assert found(filled) == [("index_differs", "Kettle")]


def test_passages_of_other_bytes_are_found(filled: DomainLibrary) -> None:
    """Text that was extracted from other bytes than the document's cannot be trusted to be its text."""
    changed(filled, "UPDATE extractions SET source_content_hash = 'other' WHERE title = 'Kettle'")
    assert ("lineage_broken", "Kettle") in found(filled)


def test_an_entry_that_only_the_index_has_is_found(filled: DomainLibrary) -> None:
    """The index may hold neither less nor more than the records."""
    document = filled.show("/kettle.md")
    with filled._workspace.index.writing(document.owner_id) as writing:
        writing.replace(document.document_id, ())
    assert found(filled) == [("index_differs", "Kettle")]
    filled.rebuild_index()
    assert filled.verify() == ()


def test_records_that_sqlite_finds_damaged_are_said(filled: DomainLibrary) -> None:
    """SQLite's own check is part of the verification: here, an index of the records lacks an entry."""
    records = sqlite3.connect(filled.store / "records.sqlite")
    with records:
        records.execute("PRAGMA writable_schema = ON")
        reverse = "UPDATE sqlite_master SET sql = replace(sql, 'ordinal)', 'ordinal DESC)')"
        records.execute(f"{reverse} WHERE name = 'passages_by_version'")
    records.close()
    filled.close()
    with DomainLibrary(filled.store, extractor=LimitedExtractor()) as again:
        assert "records_damaged" in {one.kind for one in again.verify()}
