"""Management: import, list, show, read, remove, reimport, export, reconcile, limits, other owners."""

import json
from pathlib import Path

import pytest

from local_library import (
    DocumentNotFound,
    DocumentRejected,
    DomainLibrary,
    Drift,
    FolderNotUsable,
    ImportOutcome,
    ImportStatus,
    LibraryFull,
    LibraryLimits,
)
from local_library.records import DocumentInfo

NOTE = "# Boiler\n\nThe boiler is descaled in March.\n\n## Pressure\n\nKeep it at 1.5 bar.\n"


def note(folder: Path, name: str = "boiler.md", text: str = NOTE) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_the_same_name_from_two_folders_stays_two_documents(library: DomainLibrary, tmp_path: Path) -> None:
    """A document is its path, not its name."""
    library.import_file(note(tmp_path / "a"))
    library.import_file(note(tmp_path / "b", text=NOTE.replace("March", "October")))
    assert len(library.list()) == 2
    assert {one.text for one in library.search("when is the boiler descaled")} == {
        "The boiler is descaled in March.",
        "The boiler is descaled in October.",
    }


def test_an_import_never_touches_the_file(library: DomainLibrary, tmp_path: Path) -> None:
    """Importing, importing again and removing leave bytes and times of the user's file alone."""
    path = note(tmp_path)
    before = (path.read_bytes(), path.stat().st_mtime_ns)
    library.import_file(path)
    library.reimport(str(path))
    library.remove(str(path))
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert sorted(one.name for one in tmp_path.iterdir()) == ["boiler.md", "store"]


def test_a_full_library_refuses_and_drops_nothing(tmp_path: Path) -> None:
    """The bound is named, and the older documents are still there."""
    with DomainLibrary(tmp_path / "store", limits=LibraryLimits(documents=1)) as full:
        full.import_file(note(tmp_path, "one.md"))
        with pytest.raises(LibraryFull, match="limit of 1 documents"):
            full.import_file(note(tmp_path, "two.md"))
        assert [Path(one.path).name for one in full.list()] == ["one.md"]
        note(tmp_path, "one.md", NOTE.replace("March", "May"))
        assert full.import_file(tmp_path / "one.md").status is ImportStatus.UPDATED


def test_a_folder_is_imported_but_for_what_is_ignored(library: DomainLibrary, tmp_path: Path) -> None:
    """Hidden files, build folders, ignore patterns and the ignore file are left out; a bad file ends nothing."""
    root = tmp_path / "documents"
    for name in ("a.md", "deep/b.md", ".hidden/c.md", "node_modules/d.md", "drafts/e.md", "f.log", "skip.md"):
        note(root, name)
    (root / "empty.md").write_text("")
    (root / "picture.png").write_bytes(b"\x89PNG")
    (root / ".earpieceignore").write_text("# mine\nskip.md\n")
    seen: list[ImportOutcome] = []
    outcomes = library.import_folder(root, ignore=("*.log", "drafts/*"), progress=seen.append)
    assert [(Path(one.path).name, one.status.value) for one in outcomes] == [
        ("a.md", "added"),
        ("empty.md", "rejected"),
        ("b.md", "added"),
    ]
    assert tuple(seen) == outcomes
    assert [one.reason for one in library.quarantined()] == ["empty.md: is empty. Import a file with text in it."]
    (root / "empty.md").write_text(NOTE)
    library.import_folder(root)
    assert library.quarantined() == ()


def test_a_locator_reads_its_section(library: DomainLibrary, tmp_path: Path) -> None:
    """What a search returns as locator reads back as that section; a bound cuts and says so."""
    path = note(tmp_path, "odd#name.md")
    library.import_file(path)
    found = library.search("what pressure")[0]
    assert found.locator == f"{path}#Pressure"
    assert "Keep it at 1.5 bar." in library.read(found.locator).text
    assert "descaled" not in library.read(found.locator).text
    whole = library.read(str(path), limit_characters=20)
    assert (len(whole.text), whole.truncated) == (20, True)
    with pytest.raises(DocumentNotFound):
        library.read(f"{path}#No such heading")


def test_every_heading_of_an_outline_can_be_read(library: DomainLibrary, tmp_path: Path) -> None:
    """The locators of the outline resolve, also under equal headings."""
    text = "# A\n\nOne.\n\n## Setup\n\nFirst.\n\n# B\n\nTwo.\n\n## Setup\n\nSecond.\n"
    path = note(tmp_path, text=text)
    library.import_file(path)
    headings = library.show(str(path)).headings
    assert [one.text for one in headings] == ["Setup", "B", "Setup"]
    assert [library.read(one.locator).text.splitlines()[-1] for one in headings] == ["First.", "Second.", "Second."]


def test_another_owner_can_do_nothing(library: DomainLibrary, tmp_path: Path) -> None:
    """No method reaches a document of another owner, even by its id or locator."""
    outcome = library.import_file(note(tmp_path), owner_id="ann")
    locator = str(tmp_path / "boiler.md")
    for attempt in (library.show, library.read, library.remove, library.reimport):
        for name in (outcome.document_id, locator):
            with pytest.raises(DocumentNotFound):
                attempt(name, owner_id="bob")
    assert library.search("boiler descaled", owner_id="bob", document_ids=[outcome.document_id]) == ()
    assert library.some([outcome.document_id], owner_id="bob") == {}
    library.erase_owner("bob")
    assert library.search("boiler descaled", owner_id="ann")


def test_two_owners_keep_their_own_copy_of_one_file(library: DomainLibrary, tmp_path: Path) -> None:
    """Removing one owner's document leaves the other's, also where the bytes are the same."""
    path = note(tmp_path)
    library.import_file(path, owner_id="ann")
    library.import_file(path, owner_id="bob")
    library.remove(str(path), owner_id="ann")
    assert library.search("boiler descaled", owner_id="bob")
    assert library.verify(owner_id="bob") == ()


def test_drift_is_reported_and_acted_on_only_when_told(library: DomainLibrary, tmp_path: Path) -> None:
    """Changed and missing files are evidence with both hashes; the library is the same until asked to act."""
    kept, changed, gone = (note(tmp_path, name) for name in ("kept.md", "changed.md", "gone.md"))
    for path in (kept, changed, gone):
        library.import_file(path)
    changed.write_text(NOTE.replace("March", "June"))
    gone.unlink()
    found = {Path(one.path).name: one for one in library.reconcile()}
    assert {name: one.drift for name, one in found.items()} == {"changed.md": Drift.CHANGED, "gone.md": Drift.MISSING}
    assert found["changed.md"].stored_hash != found["changed.md"].found_hash != ""
    assert len(library.list()) == 3
    acted = {Path(one.path).name: one.action for one in library.reconcile(delete_stale=True, reimport=True)}
    assert acted == {"changed.md": "updated", "gone.md": "removed"}
    assert library.reconcile() == ()


def test_bytes_nobody_refers_to_are_orphans(library: DomainLibrary, tmp_path: Path) -> None:
    """A kept original without a version is reported."""
    library.import_file(note(tmp_path))
    kept = next(path for path in (tmp_path / "store" / "originals").rglob("*") if path.is_file())
    (kept.parent / ("0" * 64)).write_bytes(b"stray")
    assert [one.drift for one in library.reconcile()] == [Drift.ORPHANED]


def test_an_export_holds_the_originals(library: DomainLibrary, tmp_path: Path) -> None:
    """Bytes and records come out; a folder with something in it is not written into."""
    path = note(tmp_path)
    library.import_file(path)
    assert library.export(tmp_path / "out") == 1
    listed = json.loads((tmp_path / "out" / "library.json").read_text())["documents"][0]
    assert (tmp_path / "out" / listed["file"]).read_bytes() == path.read_bytes()
    assert listed["title"] == "Boiler"
    with pytest.raises(FolderNotUsable, match="not empty"):
        library.export(tmp_path / "out")


def test_a_models_summary_stays_apart(tmp_path: Path) -> None:
    """A host's summariser adds a derived summary; what was extracted is still there."""

    class Model:
        summarizer_id = "model-1"

        def summarize(self, document: DocumentInfo, opening: str) -> str:
            return f"About {document.title}: {len(opening)} characters."

    with DomainLibrary(tmp_path / "store", summarizer=Model()) as library:
        library.import_file(note(tmp_path))
        shown = library.list()[0]
    assert shown.summary == "The boiler is descaled in March."
    assert shown.derived_summary == "About Boiler: 32 characters."


@pytest.mark.parametrize(("name", "reason"), [("no.md", "does not exist"), ("store", "is no file")])
def test_a_path_that_is_no_file_is_one_sentence(library: DomainLibrary, tmp_path: Path, name: str, reason: str) -> None:
    """What is wrong with the path is named."""
    with pytest.raises(DocumentRejected, match=reason):
        library.import_file(tmp_path / name)


def test_a_file_that_became_unreadable_keeps_its_last_version(library: DomainLibrary, tmp_path: Path) -> None:
    """A failed reimport leaves the document as it was."""
    path = note(tmp_path)
    library.import_file(path)
    path.write_bytes(b"")
    with pytest.raises(DocumentRejected, match="is empty"):
        library.reimport(str(path))
    assert library.search("boiler descaled")
    assert library.verify() == ()
