"""Files that could not be imported: tried again, dismissed, and forgotten once they are well or gone."""

from pathlib import Path

import pytest

from local_library import DocumentNotFound, DocumentRejected, DomainLibrary, ImportStatus

GOOD = "# Boiler\n\nDescale it in March.\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    documents = tmp_path / "documents"
    documents.mkdir()
    (documents / "boiler.md").write_text(GOOD)
    (documents / "empty.md").write_text("")
    return documents


def refused(library: DomainLibrary) -> list[tuple[str, str]]:
    return [(Path(file.path).name, file.reason_code) for file in library.quarantined()]


def test_a_mended_file_is_imported_on_a_retry(library: DomainLibrary, folder: Path) -> None:
    """By its id, which is the id of the document that it becomes."""
    library.import_folder(folder)
    file = library.quarantined()[0]
    (folder / "empty.md").write_text(GOOD)
    outcome = library.retry(file.document_id)
    assert (outcome.status, outcome.document_id) == (ImportStatus.ADDED, file.document_id)
    assert library.quarantined() == ()


def test_a_retry_in_vain_keeps_the_file_with_the_new_reason(library: DomainLibrary, folder: Path) -> None:
    """The person reads what is wrong now, not what was wrong before."""
    library.import_folder(folder)
    (folder / "empty.md").unlink()
    with pytest.raises(DocumentRejected, match="does not exist"):
        library.retry(str(folder / "empty.md"))
    assert refused(library) == [("empty.md", "missing")]


def test_a_dismissed_file_is_forgotten_until_an_import_meets_it_again(library: DomainLibrary, folder: Path) -> None:
    """Dismissing touches no file and promises nothing about the next import."""
    library.import_folder(folder)
    library.dismiss(library.quarantined()[0].document_id)
    assert library.quarantined() == ()
    assert (folder / "empty.md").exists()
    library.import_folder(folder)
    assert refused(library) == [("empty.md", "empty")]


def test_another_owner_can_neither_retry_nor_dismiss(library: DomainLibrary, folder: Path) -> None:
    """For Ben the file of Ann does not exist, by id or by path."""
    library.import_folder(folder, owner_id="ann")
    file = library.quarantined(owner_id="ann")[0]
    for name in (file.document_id, file.path):
        for act in (library.retry, library.dismiss):
            with pytest.raises(DocumentNotFound):
                act(name, owner_id="ben")
    assert library.quarantined(owner_id="ann") == (file,)


def test_a_file_that_is_again_what_it_was_leaves_the_quarantine(library: DomainLibrary, folder: Path) -> None:
    """A document whose new version was refused, and whose old one came back, is in order again."""
    library.import_folder(folder)
    (folder / "boiler.md").write_text("")
    library.import_folder(folder)
    assert ("boiler.md", "empty") in refused(library)
    (folder / "boiler.md").write_text(GOOD)
    library.import_folder(folder)
    assert refused(library) == [("empty.md", "empty")]


def test_a_refused_file_that_is_gone_is_forgotten_when_the_folder_is_read(tmp_path: Path, folder: Path) -> None:
    """What a mirrored folder no longer holds is not complained about."""
    with DomainLibrary.for_folder(folder, store=tmp_path / "mirror") as library:
        assert refused(library) == [("empty.md", "empty")]
        (folder / "empty.md").unlink()
        library.refresh()
        assert library.quarantined() == ()
