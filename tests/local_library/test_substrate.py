"""The discipline underneath: one writer, append-only versions, lineage, an index that is only a cache, erasure."""

import re
import shutil
import sqlite3
from pathlib import Path

import pytest

from knowledge_provider import PERSONAL_OWNER, RetrievalContext, RetrievalRequest
from local_library import DomainLibrary, LocalDomainKnowledgeProvider
from local_library.chunking import HeadingChunker
from local_library.extraction.limited import LimitedExtractor
from local_library.originals import content_hash, owner_tag

PACKAGE = Path(__file__).parents[2] / "local_library"
QUESTIONS = ("when is the boiler descaled", "which pressure", "who repairs the kettle", "boiller desscaled")


def fill(library: DomainLibrary, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "boiler.md").write_text("# Boiler\n\nThe boiler is descaled in March.\n\n## Pressure\n\nAt 1.5 bar.\n")
    (folder / "kettle.md").write_text("# Kettle\n\nPriya repairs the kettle and the boiler.\n")
    library.import_folder(folder)


def test_records_are_written_in_one_place_only() -> None:
    """No module but the ledger (and the schema) holds a statement that changes a record."""
    writes = re.compile(
        r"\b(INSERT\s+(OR\s+\w+\s+)?INTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM|REPLACE\s+INTO)\b", re.IGNORECASE
    )
    writers = {path.name for path in PACKAGE.rglob("*.py") if writes.search(path.read_text(encoding="utf-8"))}
    assert writers == {"ledger.py", "schema.py"}


def test_a_version_cannot_be_changed(library: DomainLibrary, tmp_path: Path) -> None:
    """Not even with SQL: new content is a new version beside the old one."""
    fill(library, tmp_path / "d")
    (tmp_path / "d" / "kettle.md").write_text("# Kettle\n\nOla repairs the kettle.\n")
    library.import_folder(tmp_path / "d")
    records = sqlite3.connect(tmp_path / "store" / "records.sqlite")
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        records.execute("UPDATE versions SET source_content_hash = 'x'")
    numbers = records.execute("SELECT number FROM versions ORDER BY number").fetchall()
    records.close()
    assert numbers == [(1,), (1,), (2,)]


async def test_the_lineage_reaches_every_stage_unchanged(library: DomainLibrary, tmp_path: Path) -> None:
    """The hash of the bytes and the ids of extractor and chunker are the same in text, chunks, index and results."""
    path = tmp_path / "boiler.md"
    path.write_text("# Boiler\n\nThe boiler is descaled in March.\n")
    fingerprint = content_hash(path.read_bytes())
    reader = LimitedExtractor()
    extracted, _ = reader.extract(str(path), path.read_bytes(), fingerprint)
    reader.close()
    chunker = HeadingChunker()
    expected = (fingerprint, extracted.extractor_id, chunker.chunker_id)
    assert extracted.source_content_hash == fingerprint
    chunk = chunker.chunks(extracted)[0]
    assert (chunk.source_content_hash, chunk.extractor_id, chunk.chunker_id) == expected

    library.import_file(path)
    shown = library.show(str(path))
    assert (shown.source_content_hash, shown.extractor_id, shown.chunker_id) == expected
    entry = library._workspace.index.lineage(PERSONAL_OWNER, shown.document_id)[0]
    assert (entry["source_content_hash"], entry["extractor_id"], entry["chunker_id"]) == expected
    assert entry["key"] == f"{owner_tag(PERSONAL_OWNER)}||{chunk.chunk_id}"
    provider = LocalDomainKnowledgeProvider(library, view="passages")
    result = (
        await provider.retrieve(RetrievalRequest(query="boiler descaled"), RetrievalContext(owner_id=PERSONAL_OWNER))
    )[0]
    await provider.close()
    assert result.id == chunk.chunk_id
    found = tuple(result.metadata[key] for key in ("source_content_hash", "extractor_id", "chunker_id"))
    assert found == expected


def test_the_index_can_be_deleted_at_any_moment(library: DomainLibrary, tmp_path: Path) -> None:
    """Deleted or rebuilt, also under an open library, it gives the same answers with the same scores."""
    fill(library, tmp_path / "d")
    before = [library.search(question) for question in QUESTIONS]
    assert all(before)
    shutil.rmtree(tmp_path / "store" / "index")
    assert [library.search(question) for question in QUESTIONS] == before
    library.rebuild_index()
    assert [library.search(question) for question in QUESTIONS] == before
    assert library.verify() == ()


def test_a_damaged_index_is_mended(library: DomainLibrary, tmp_path: Path) -> None:
    """A truncated segment is replaced by a new index, not by an error."""
    fill(library, tmp_path / "d")
    before = library.search(QUESTIONS[0])
    library.close()
    for segment in (tmp_path / "store" / "index").rglob("*.idx"):
        segment.write_bytes(segment.read_bytes()[:40])
    with DomainLibrary(tmp_path / "store") as again:
        assert again.search(QUESTIONS[0]) == before


def test_answers_do_not_depend_on_what_was_there_before(library: DomainLibrary, tmp_path: Path) -> None:
    """After a removal the answers are those of a library that never held the document."""
    fill(library, tmp_path / "d")
    (tmp_path / "other.md").write_text("# Boiler boiler\n\nThe boiler is descaled in March, or the kettle is.\n")
    before = [library.search(question) for question in QUESTIONS]
    library.import_file(tmp_path / "other.md")
    library.remove(str(tmp_path / "other.md"))
    assert [library.search(question) for question in QUESTIONS] == before


@pytest.mark.parametrize("by_owner", [False, True])
def test_an_erased_document_leaves_no_byte_behind(library: DomainLibrary, tmp_path: Path, by_owner: bool) -> None:
    """Every file that the library owns is searched for the words of the document, its path and its hash."""
    fill(library, tmp_path / "d")
    secret = tmp_path / "zwirbelkrautakte.md"
    secret.write_text("# Quastenflosserplan\n\n" + "Wolkenschieber treffen Nebelkraehenfutter heimlich. " * 40)
    library.import_file(secret, owner_id="ann")
    secret.write_text(secret.read_text().replace("heimlich", "oeffentlich"))
    library.import_file(secret, owner_id="ann")
    traces = [b"olkenschieb", b"ebelkraehen", b"uastenfloss", b"heimlich", b"effentlich", b"zwirbelkraut"]
    traces.append(library.show(str(secret), owner_id="ann").source_content_hash.encode())
    assert all(found_in(tmp_path / "store", trace) for trace in traces[:4])
    if by_owner:
        library.erase_owner("ann")
    else:
        assert library.remove(str(secret), owner_id="ann").erased
    assert [trace for trace in traces if found_in(tmp_path / "store", trace)] == []
    assert library.search(QUESTIONS[0])


def found_in(store: Path, trace: bytes) -> bool:
    return any(trace.lower() in path.read_bytes().lower() for path in store.rglob("*") if path.is_file())
