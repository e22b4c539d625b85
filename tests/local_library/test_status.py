"""What a list says of a document: ready, ready with warnings, or no longer what its file is."""

import os
from dataclasses import replace
from pathlib import Path

from local_library import DocumentStatus, DomainLibrary, Status

DAY = 86_400.0


def imported(library: DomainLibrary, path: Path, text: str = "# Boiler\n\nDescale it in March.\n") -> str:
    path.write_text(text, encoding="utf-8")
    return library.import_file(path).document_id


def status(library: DomainLibrary, document: str) -> DocumentStatus:
    return library.status(library.show(document))


def test_a_document_is_ready_as_long_as_its_file_is_the_same(library: DomainLibrary, tmp_path: Path) -> None:
    """Touching a file changes nothing; another content of the same length does, and reading it again mends it."""
    path = tmp_path / "boiler.md"
    document = imported(library, path)
    assert status(library, document) == DocumentStatus(Status.READY)
    os.utime(path)
    assert status(library, document).status is Status.READY
    path.write_text(path.read_text().replace("March", "April"))
    changed = status(library, document)
    assert changed.status is Status.CHANGED
    assert "older text" in changed.sentence
    library.reimport(document)
    assert status(library, document).status is Status.READY


def test_a_file_of_another_size_is_changed_whatever_its_time_says(library: DomainLibrary, tmp_path: Path) -> None:
    """A copy of an older, longer file is not overlooked."""
    path = tmp_path / "boiler.md"
    document = imported(library, path)
    path.write_text("# Boiler\n\nDescale it in March and again in May.\n")
    os.utime(path, (1.0, 1.0))
    assert status(library, document).status is Status.CHANGED


def test_a_file_that_is_gone_is_missing(library: DomainLibrary, tmp_path: Path) -> None:
    """The document still answers, and the list says from what."""
    path = tmp_path / "boiler.md"
    document = imported(library, path)
    path.unlink()
    assert status(library, document).status is Status.MISSING
    assert library.search("descale in March")


def test_warnings_make_a_document_ready_with_warnings(library: DomainLibrary, tmp_path: Path) -> None:
    """A Word file that is a web page is read as one, and says so."""
    path = tmp_path / "scan.docx"
    path.write_text("<html><body><h1>Boiler</h1><p>Descale it in March.</p></body></html>")
    document = library.import_file(path)
    assert document.warnings
    assert status(library, document.document_id).status is Status.READY_WITH_WARNINGS


def test_bytes_under_a_name_have_no_file_to_compare(library: DomainLibrary) -> None:
    """What was imported without a path is ready."""
    outcome = library.import_bytes("boiler.md", b"# Boiler\n\nDescale it.\n")
    assert status(library, outcome.document_id).status is Status.READY


def test_an_untouched_file_is_not_read(library: DomainLibrary, tmp_path: Path) -> None:
    """A list of a thousand documents opens none of their files: a wrong hash would show as a change."""
    path = tmp_path / "boiler.md"
    document = imported(library, path)
    found = replace(library.show(document), source_content_hash="0" * 64)
    assert library.status(replace(found, imported_at=found.imported_at + DAY)).status is Status.READY
    assert library.status(found).status is Status.CHANGED
