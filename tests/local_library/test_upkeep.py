"""What keeps a store sound: erasure down to the last byte, and the end of what was cut off."""

import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from knowledge_provider import PERSONAL_OWNER
from local_library import DocumentNotFound, DomainLibrary, Removal
from local_library.originals import owner_tag
from local_library.upkeep import ERASED_AT_ONCE_PASSAGES
from tests.local_library.crash_worker import InProcess

BOILER = b"# Boiler\n\nThe boiler is descaled in March.\n"
TRACES = (b"quastenflosser", b"nebelkraehe", b"zwirbelkraut", b"wolkenschieber")


def sections(count: int, word: str = "ordinary") -> bytes:
    """A document of ``count`` passages."""
    return "\n\n".join(f"## Part {number}\n\nAn {word} line." for number in range(count)).encode()


def secret(count: int) -> bytes:
    words = " ".join(trace.decode() for trace in TRACES[:2])
    return "\n\n".join(f"## {words} {number}\n\nThe wolkenschieber{number} meets." for number in range(count)).encode()


def traces_in(store: Path) -> set[bytes]:
    """Which of the words stand in any file of the store, its log and its index among them."""
    everything = [path.read_bytes().lower() for path in store.rglob("*") if path.is_file()]
    return {trace for trace in TRACES if any(trace in content for content in everything)}


@pytest.fixture
def library(tmp_path: Path) -> Iterator[DomainLibrary]:
    """A library that reads in this process, with one ordinary document."""
    with DomainLibrary(tmp_path / "store", extractor=InProcess()) as opened:
        opened.import_bytes("/ordinary.md", BOILER)
        yield opened


def test_a_large_document_leaves_no_byte_behind(library: DomainLibrary, tmp_path: Path) -> None:
    """Some thousand passages, in two versions, with their headings, their path and their kept bytes."""
    library.import_bytes("/zwirbelkraut.md", secret(ERASED_AT_ONCE_PASSAGES // 2))
    library.import_bytes("/zwirbelkraut.md", secret(ERASED_AT_ONCE_PASSAGES // 2 + 1))
    assert traces_in(tmp_path / "store") == set(TRACES)
    assert library.remove("/zwirbelkraut.md").erased
    assert traces_in(tmp_path / "store") == set()
    assert library.search("when is the boiler descaled")
    assert library.verify() == ()


def test_a_large_library_erases_at_once_but_for_the_words_in_its_index(library: DomainLibrary, tmp_path: Path) -> None:
    """They are found no more, the removal says that they are still there, and compacting takes them out."""
    library.import_bytes("/zwirbelkraut.md", secret(3))
    library.import_bytes("/large.md", sections(ERASED_AT_ONCE_PASSAGES + 1))
    library.import_bytes("/zwirbelkraut2.md", secret(3))
    removal = library.remove("/zwirbelkraut.md")
    assert (type(removal), removal.erased) == (Removal, False)
    library.remove("/zwirbelkraut2.md")
    assert library.search("wolkenschieber1") == ()
    records = (tmp_path / "store" / "records.sqlite").read_bytes().lower()
    assert not any(trace in records for trace in TRACES)
    seen: list[tuple[int, int]] = []
    assert library.compact(progress=lambda done, all_: seen.append((done, all_)))
    assert seen == [(1, 2), (2, 2)]
    assert traces_in(tmp_path / "store") == set()
    assert library.compact(progress=lambda done, all_: pytest.fail("there is nothing left to do"))
    assert library.verify() == ()


def test_an_erasure_of_an_owner_that_was_cut_off_is_finished(tmp_path: Path) -> None:
    """Records went first; whatever is left is removed when the library is opened again."""
    store = tmp_path / "store"
    with DomainLibrary(store, extractor=InProcess()) as library:
        library.import_bytes("/ordinary.md", BOILER)
        library.import_bytes("/zwirbelkraut.md", secret(3), owner_id="ann")
        parts = [*(store / "index").glob(f"{owner_tag('ann')}*"), store / "originals" / owner_tag("ann")]
        for part in parts:
            shutil.copytree(part, tmp_path / part.relative_to(store))
        library.erase_owner("ann")
    for part in parts:
        shutil.copytree(tmp_path / part.relative_to(store), part)
    (store / "writer.lock").write_text("!")
    with DomainLibrary(store, extractor=InProcess()) as library:
        index, originals = parts
        assert not index.exists()
        assert not any(one.is_file() for one in originals.rglob("*"))
        assert traces_in(store) == set()
        assert library.search("when is the boiler descaled")


def test_an_erasure_of_a_document_that_was_cut_off_is_finished(tmp_path: Path) -> None:
    """Its records are gone, its words are planned to go: opening the library takes them out."""
    store = tmp_path / "store"
    with DomainLibrary(store, extractor=InProcess()) as library:
        library.import_many([("/ordinary.md", BOILER), ("/zwirbelkraut.md", secret(3))])
        shutil.copytree(store / "index", tmp_path / "index")
        document = library.remove("/zwirbelkraut.md").document.document_id
    shutil.rmtree(store / "index")
    shutil.copytree(tmp_path / "index", store / "index")
    records = sqlite3.connect(store / "records.sqlite")
    with records:
        records.execute("INSERT INTO index_purges SELECT owner_id FROM documents")
        records.execute("INSERT INTO index_work (owner_id, document_id) SELECT owner_id, ? FROM documents", (document,))
    records.close()
    with DomainLibrary(store, extractor=InProcess()) as library:
        view = library._workspace.index.view(PERSONAL_OWNER)
        assert view is not None
        assert view.frequency("body", "wolkenschieber1") == 0
        assert traces_in(store) == set()
        assert library.search("wolkenschieber1") == ()
        assert library.verify() == ()


def test_words_of_an_older_version_leave_the_index_with_compacting(library: DomainLibrary) -> None:
    """They are not found from the update on; the version itself, with its kept bytes, stays."""

    def held() -> int:
        view = library._workspace.index.view(PERSONAL_OWNER)
        assert view is not None
        return view.frequency("body", "wolkenschieber1")

    library.import_many([("/zwirbelkraut.md", secret(2)), ("/other.md", sections(2))])
    library.import_bytes("/zwirbelkraut.md", sections(2))
    assert library.search("wolkenschieber1") == ()
    assert held() == 1
    assert library.compact()
    assert held() == 0
    assert library.show("/zwirbelkraut.md").version == 2


def test_many_documents_are_removed_together_or_not_at_all(library: DomainLibrary, tmp_path: Path) -> None:
    """By id or path, each once; one that does not exist keeps all of them."""
    for number in range(4):
        library.import_bytes(f"/zwirbelkraut{number}.md", secret(2))
    ids = [library.show(f"/zwirbelkraut{number}.md").document_id for number in range(4)]
    with pytest.raises(DocumentNotFound):
        library.remove_many([*ids, "/nowhere.md"])
    assert len(library.list()) == 5
    removed = library.remove_many([ids[0], "/zwirbelkraut1.md", ids[1], *ids[2:]])
    assert [(one.document.document_id, one.erased) for one in removed] == [(one, True) for one in ids]
    assert traces_in(tmp_path / "store") == set()
    assert [one.path for one in library.list()] == ["/ordinary.md"]
    assert library.remove_many([]) == ()
    assert library.verify() == ()


def test_a_second_document_with_the_same_bytes_keeps_them(library: DomainLibrary) -> None:
    """Kept bytes go with the last document that has them."""
    library.import_bytes("/one.md", secret(2))
    library.import_bytes("/two.md", secret(2))
    library.remove("/one.md")
    assert library.verify() == ()
    assert library.search("wolkenschieber1")


def test_the_index_that_lacks_a_document_is_made_anew(tmp_path: Path) -> None:
    """An index that does not hold what the records say is noticed when the library is opened."""
    store = tmp_path / "store"
    with DomainLibrary(store, extractor=InProcess()) as library:
        library.import_bytes("/ordinary.md", BOILER)
        library._workspace.index.settle()
        shutil.copytree(store / "index", tmp_path / "index")
        library.import_bytes("/kettle.md", b"# Kettle\n\nPriya repairs the kettle.\n")
    shutil.rmtree(store / "index")
    shutil.copytree(tmp_path / "index", store / "index")
    with DomainLibrary(store, extractor=InProcess()) as library:
        assert library.search("who repairs the kettle")
        assert library.verify() == ()


def test_an_index_of_older_tokens_is_made_anew_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After an update that cuts words otherwise, the new tokens are found and the old ones are gone."""
    store = tmp_path / "store"
    with monkeypatch.context() as before:
        before.setattr("local_library.lexical_index.ANALYZER_ID", "tokens-0")
        with DomainLibrary(store, extractor=InProcess()) as library:
            library.import_bytes("/ordinary.md", BOILER)
    (older,) = (store / "index").iterdir()
    with DomainLibrary(store, extractor=InProcess()) as library:
        assert library.search("when is the boiler descaled")
        assert library.verify() == ()
        (newer,) = (store / "index").iterdir()
    assert older.name.endswith("-tokens-0")
    assert newer.name != older.name
