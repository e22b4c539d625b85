"""Drift: each way in which a source differs is one record of evidence, and nothing is done unless asked for."""

import hashlib
from pathlib import Path

import pytest

from local_library import DomainLibrary, Drift
from local_library.reconcile import FileProbe, SourceState

NOTE = "# Boiler\n\nThe boiler is descaled in March.\n"


@pytest.fixture
def notes(library: DomainLibrary, tmp_path: Path) -> dict[str, Path]:
    """Four imported files, by the way in which they then differ from what was imported."""
    paths = {name: tmp_path / f"{name}.md" for name in ("same", "changed", "missing", "unreadable")}
    for path in paths.values():
        path.write_text(NOTE)
        library.import_file(path)
    paths["changed"].write_text(NOTE.replace("March", "June"))
    paths["missing"].unlink()
    paths["unreadable"].unlink()
    paths["unreadable"].mkdir()  # a file of that name that cannot be opened, for root as well
    return paths


def test_each_way_to_differ_is_a_record(library: DomainLibrary, notes: dict[str, Path]) -> None:
    """With the stored and the found hash, the document, the time, and no action."""
    found = {Path(one.path).stem: one for one in library.reconcile()}
    assert {name: one.drift for name, one in found.items()} == {
        "changed": Drift.CHANGED,
        "missing": Drift.MISSING,
        "unreadable": Drift.UNREADABLE,
    }
    stored, now = (hashlib.sha256(text.encode()).hexdigest() for text in (NOTE, NOTE.replace("March", "June")))
    assert {name: (one.stored_hash, one.found_hash) for name, one in found.items()} == {
        "changed": (stored, now),
        "missing": (stored, ""),
        "unreadable": (stored, ""),
    }
    assert {one.action for one in found.values()} == {"none"}
    assert all(one.document_id == library.show(str(notes[name])).document_id for name, one in found.items())
    assert all(one.observed_at > 1_700_000_000 for one in found.values())
    assert len(library.list()) == 4


@pytest.mark.parametrize(
    ("delete_stale", "reimport", "actions"),
    [
        (True, False, {"changed": "none", "missing": "removed", "unreadable": "none"}),
        (False, True, {"changed": "updated", "missing": "none", "unreadable": "none"}),
    ],
)
def test_each_flag_allows_one_action(
    library: DomainLibrary, notes: dict[str, Path], delete_stale: bool, reimport: bool, actions: dict[str, str]
) -> None:
    """What cannot be read may come back, so it is neither removed nor imported."""
    found = library.reconcile(delete_stale=delete_stale, reimport=reimport)
    assert {Path(one.path).stem: one.action for one in found} == actions
    assert len(library.list()) == (3 if delete_stale else 4)
    texts = {one.text for one in library.search("when is the boiler descaled", limit=8, per_document=8)}
    assert ("The boiler is descaled in June." in texts) == reimport


def test_a_change_that_cannot_be_imported_keeps_the_document(library: DomainLibrary, notes: dict[str, Path]) -> None:
    """The reason is the action's result, and the last good version stays."""
    notes["changed"].write_bytes(b"")
    found = {Path(one.path).stem: one.action for one in library.reconcile(reimport=True)}
    assert found["changed"] == "rejected: empty"
    assert library.read(str(notes["changed"])).text.endswith("March.")


def test_a_host_may_look_elsewhere(library: DomainLibrary, notes: dict[str, Path]) -> None:
    """A probe of one's own sees what it likes: here, everything is as it was but for one."""

    class Listing:
        def look(self, path: str) -> SourceState:
            known = hashlib.sha256(NOTE.encode()).hexdigest()
            return SourceState(drift=Drift.MISSING) if Path(path).stem == "same" else SourceState(known)

    assert [(Path(one.path).stem, one.drift) for one in library.reconcile(probe=Listing())] == [("same", Drift.MISSING)]


def test_the_file_probe_hashes_in_steps(tmp_path: Path) -> None:
    """A file larger than one step has the hash of all its bytes."""
    path = tmp_path / "large"
    path.write_bytes(b"a" * 1_048_576 + b"b")
    assert FileProbe().look(str(path)).content_hash == hashlib.sha256(path.read_bytes()).hexdigest()


def test_orphans_are_of_their_owner_and_stay(library: DomainLibrary, tmp_path: Path) -> None:
    """Bytes that no version refers to are told to the owner they are kept for, and no flag removes them."""
    for owner in ("ann", "bob"):
        library.import_bytes("/note.md", NOTE.encode(), owner_id=owner)
    kept = {path.parent.parent.name: path for path in (library.store / "originals").rglob("*") if path.is_file()}
    stray = next(iter(kept.values())).with_name("0" * 64)
    stray.write_bytes(b"stray")

    class AllThere:
        def look(self, path: str) -> SourceState:
            return SourceState(hashlib.sha256(NOTE.encode()).hexdigest())

    found = {
        owner: [(one.drift, one.stored_hash) for one in library.reconcile(owner_id=owner, probe=AllThere())]
        for owner in ("ann", "bob")
    }
    assert sorted(found.values()) == [[], [(Drift.ORPHANED, "0" * 64)]]
    for owner in ("ann", "bob"):
        library.reconcile(owner_id=owner, probe=AllThere(), delete_stale=True, reimport=True)
    assert stray.exists()
