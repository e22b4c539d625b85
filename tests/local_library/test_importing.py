"""From bytes to records and index: what is left alone, what is refused, and how the index follows."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from local_library import DocumentRejected, DomainLibrary, ImportStatus, LibraryFull, LibraryLimits
from local_library.chunking import HeadingChunker
from local_library.importing import Importer
from local_library.records import DocumentInfo, ImportOutcome
from local_library.workspace import Workspace
from tests.local_library.crash_worker import InProcess

NOTE = b"# Boiler\n\n" + b"The boiler is descaled in March, and the kettle in May.\n\n" * 10


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    """The folder of an empty library."""
    made = Workspace(tmp_path / "store", writer_wait_seconds=1)
    yield made
    made.close()


def importer(workspace: Workspace, limits: LibraryLimits | None = None, *, target: int = 900) -> Importer:
    return Importer(workspace, InProcess(), HeadingChunker(target), limits or LibraryLimits(), None)


def store(workspace: Workspace, importing: Importer, path: str, content: bytes, owner_id: str = "ann") -> ImportOutcome:
    ready = importing.prepared(path, content)
    with workspace.writing() as catalog:
        outcome = importing.store(catalog, owner_id, ready)
        importing.catch_up(catalog)
    return outcome


def text(sections: int) -> bytes:
    """A document of that many passages."""
    return "\n\n".join(f"## Part {number}\n\nWord{number}." for number in range(sections)).encode()


def test_the_same_bytes_are_unchanged_until_they_are_cut_another_way(workspace: Workspace) -> None:
    """Bytes, path, owner and chunker together say that there is nothing to do."""
    importing = importer(workspace)
    first = store(workspace, importing, "/note.md", NOTE)
    with workspace.reading() as catalog:
        known = importing.unchanged(catalog, "ann", "/note.md", NOTE)
        assert known == ImportOutcome("/note.md", ImportStatus.UNCHANGED, first.document_id, first.passages)
        assert importing.unchanged(catalog, "ann", "/note.md", NOTE + b"!") is None
        assert importing.unchanged(catalog, "ann", "/other.md", NOTE) is None
        assert importing.unchanged(catalog, "bob", "/note.md", NOTE) is None
        finer = importer(workspace, target=200)
        assert finer.unchanged(catalog, "ann", "/note.md", NOTE) is None
    again = store(workspace, finer, "/note.md", NOTE)
    assert (again.status, again.document_id) == (ImportStatus.UPDATED, first.document_id)
    assert again.passages > first.passages
    with workspace.reading() as catalog:
        assert [one.chunk.chunker_id for one in catalog.passages_of("ann", first.document_id)] == (
            [HeadingChunker(200).chunker_id] * again.passages
        )
    assert workspace.index.count("ann") == again.passages


def test_the_last_place_can_be_taken_and_no_more(workspace: Workspace) -> None:
    """Both bounds hold to the last document and the last passage, and for each owner alone."""
    importing = importer(workspace, LibraryLimits(documents=2, passages=10))
    store(workspace, importing, "/one.md", text(4))
    store(workspace, importing, "/two.md", text(6))
    store(workspace, importing, "/one.md", text(3), owner_id="bob")
    with pytest.raises(LibraryFull, match="2 documents"):
        store(workspace, importing, "/three.md", text(1))
    with pytest.raises(LibraryFull, match="10 passages"):
        store(workspace, importing, "/two.md", text(7))
    with workspace.reading() as catalog:
        assert catalog.counts("ann") == (2, 10)


def test_a_full_library_takes_a_new_version_that_fits(workspace: Workspace) -> None:
    """What it replaces makes room for it."""
    importing = importer(workspace, LibraryLimits(passages=10))
    store(workspace, importing, "/one.md", text(10))
    assert store(workspace, importing, "/one.md", text(9) + b"\n\nAnd more.").status is ImportStatus.UPDATED
    with workspace.reading() as catalog:
        assert catalog.counts("ann") == (1, 9)


def test_a_document_without_a_passage_is_refused(workspace: Workspace) -> None:
    """A title alone is no text."""
    with pytest.raises(DocumentRejected) as refused:
        importer(workspace).prepared("/empty.md", b"---\ntitle: Only a title\n---\n")
    assert refused.value.reason_code == "no_text"


def test_the_index_catches_up_once_for_all_that_was_stored(workspace: Workspace) -> None:
    """Whatever the owner, and a document that was stored twice is taken over once."""
    importing = importer(workspace)
    with workspace.writing() as catalog:
        for owner_id, path in (("ann", "/a.md"), ("ann", "/b.md"), ("bob", "/a.md"), ("ann", "/a.md")):
            importing.store(catalog, owner_id, importing.prepared(path, text(2)))
        assert workspace.index.count("ann") == workspace.index.count("bob") == 0
        assert importing.catch_up(catalog) == 3
        assert importing.catch_up(catalog) == 0
        assert catalog.index_work() == []
    assert (workspace.index.count("ann"), workspace.index.count("bob")) == (4, 2)


def test_an_index_that_was_deleted_is_whole_after_the_next_import(workspace: Workspace) -> None:
    """It does not begin anew with the new document alone."""
    importing = importer(workspace)
    store(workspace, importing, "/a.md", text(2))
    shutil.rmtree(workspace.index.path_of("ann"))
    store(workspace, importing, "/b.md", text(3))
    assert workspace.index.count("ann") == 5


def test_a_summary_of_a_model_is_one_short_line(tmp_path: Path) -> None:
    """Whatever the model says, at most 300 characters of it are kept."""

    class Talkative:
        summarizer_id = "talkative-1"

        def summarize(self, document: DocumentInfo, opening: str) -> str:
            return f"{document.title}:\n" + "so\tmuch " * 100

    with DomainLibrary(tmp_path / "store", extractor=InProcess(), summarizer=Talkative()) as library:
        library.import_bytes("/note.md", NOTE)
        derived = library.list()[0].derived_summary
    assert derived.startswith("Boiler: so much so")
    assert len(derived) == 300
