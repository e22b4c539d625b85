"""An erased document or owner leaves no vector behind: every file of the library is searched for it."""

from pathlib import Path

import pytest

from local_library import DomainLibrary
from local_library.originals import owner_tag
from local_library.semantic import DeterministicEmbedder
from local_library.semantic.vector_files import as_rows
from tests.local_library.semantic.conftest import Opened

SECRET = "# Plan\n\nWolkenschieber treffen Nebelkraehen heimlich.\n"
VECTOR = as_rows(
    DeterministicEmbedder(allow_in_production=True).embed([f"Plan\nPlan\n{SECRET.split(chr(10))[2]}"])
).tobytes()


def found_in(store: Path, trace: bytes) -> bool:
    return any(trace in path.read_bytes() for path in store.rglob("*") if path.is_file())


@pytest.fixture
def filled(opened: Opened, documents: Path, tmp_path: Path) -> DomainLibrary:
    """A library with a secret of Ann's beside other documents of hers and of Bob's."""
    library = opened(DeterministicEmbedder())
    (tmp_path / "secret.md").write_text(SECRET)
    library.import_file(tmp_path / "secret.md", owner_id="ann")
    for owner in ("ann", "bob"):
        library.import_folder(documents, owner_id=owner)
        library.semantic.embed_missing(owner_id=owner)
    assert found_in(tmp_path / "store", VECTOR)
    return library


def test_a_removed_document_leaves_no_vector(filled: DomainLibrary, tmp_path: Path) -> None:
    """Neither its numbers nor its hash or id stand in any file; the other vectors do."""
    document = filled.show(str(tmp_path / "secret.md"), owner_id="ann")
    traces = (VECTOR, document.source_content_hash.encode(), document.document_id.encode())
    assert filled.remove(document.document_id, owner_id="ann").erased
    assert not any(found_in(tmp_path / "store", trace) for trace in traces)
    assert filled.semantic.count(owner_id="ann") == 4
    assert filled.verify(owner_id="ann") == ()


def test_an_erased_owner_leaves_no_folder(filled: DomainLibrary, tmp_path: Path) -> None:
    """The vectors go with the owner, and with nobody else."""
    filled.erase_owner("ann")
    assert not found_in(tmp_path / "store", VECTOR)
    assert not (tmp_path / "store" / "vectors" / owner_tag("ann")).exists()
    assert filled.semantic.count(owner_id="bob") == 4


def test_a_library_without_an_embedder_erases_vectors_all_the_same(
    filled: DomainLibrary, opened: Opened, tmp_path: Path
) -> None:
    """Who removes a document need not have what embedded it."""
    filled.close()
    plain = opened(None)
    plain.remove(str(tmp_path / "secret.md"), owner_id="ann")
    assert not found_in(tmp_path / "store", VECTOR)
    assert plain.semantic.count(owner_id="ann") == 4


def test_damaged_vectors_do_not_stand_in_the_way_of_erasure(filled: DomainLibrary, tmp_path: Path) -> None:
    """What cannot be overwritten goes as a whole; it is only a cache."""
    folder = tmp_path / "store" / "vectors" / owner_tag("ann")
    (folder / "state.json").write_text("{")
    filled.remove(str(tmp_path / "secret.md"), owner_id="ann")
    assert not found_in(tmp_path / "store", VECTOR)


def test_the_old_vectors_of_a_changed_document_go_with_the_next_catching_up(
    filled: DomainLibrary, tmp_path: Path
) -> None:
    """A new version's vectors take the old ones' place on the disk, too."""
    (tmp_path / "secret.md").write_text("# Plan\n\nNothing of it is left.\n")
    filled.import_file(tmp_path / "secret.md", owner_id="ann")
    filled.semantic.embed_missing(owner_id="ann")
    assert not found_in(tmp_path / "store" / "vectors", VECTOR)
    assert filled.semantic.count(owner_id="ann") == 5
