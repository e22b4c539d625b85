"""What a vector was made of travels with it, unchanged, from the bytes of a file to the metadata of a result."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from knowledge_provider import PERSONAL_OWNER, KnowledgeResult, RetrievalContext, RetrievalRequest
from local_library import DomainLibrary, LocalDomainKnowledgeProvider
from local_library.chunking import HeadingChunker
from local_library.extraction.reading import read
from local_library.originals import content_hash, owner_tag
from local_library.records import Chunk
from local_library.semantic.embedding import checked_vectors
from local_library.semantic.entries import space_of
from local_library.semantic.vector_files import as_rows
from tests.local_library.semantic.concepts import ConceptEmbedder
from tests.local_library.semantic.conftest import Opened

TEXT = "# Boiler\n\nThe boiler is descaled in March.\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with one passage."""
    file = tmp_path / "boiler.md"
    file.write_text(TEXT)
    return file


@pytest.fixture
def filled(opened: Opened, path: Path) -> DomainLibrary:
    """A library with this file and its vector."""
    library = opened(ConceptEmbedder())
    library.import_file(path)
    library.semantic.embed_missing()
    return library


def chunk_of(path: Path) -> Chunk:
    extracted, _ = read(str(path), path.read_bytes(), content_hash(path.read_bytes()), seconds=30)
    assert extracted.source_content_hash == content_hash(TEXT.encode())
    return HeadingChunker().chunks(extracted)[0]


def test_the_extracted_text_and_its_chunk_carry_the_hash_of_the_bytes(path: Path) -> None:
    """The first two stages: what is embedded knows which bytes it is of."""
    assert chunk_of(path).source_content_hash == content_hash(TEXT.encode())


def test_the_vector_is_that_of_the_chunk(filled: DomainLibrary) -> None:
    """The third stage: the row is what the embedder gives for title, heading and text."""
    files = filled._workspace.vectors._files(PERSONAL_OWNER)
    state = files.state()
    assert state is not None
    rows, _ = files.mapped(state)
    expected = as_rows(checked_vectors(ConceptEmbedder(), ["Boiler\nBoiler\nThe boiler is descaled in March."]))
    assert rows.tobytes() == expected.tobytes()


def test_the_entry_keeps_embedder_model_dimensions_hash_and_chunk(filled: DomainLibrary, path: Path) -> None:
    """The fourth stage: beside each vector stands everything that it was made of, the owner in its key."""
    chunk = chunk_of(path)
    document = filled.show(str(path))
    (entry,) = filled._workspace.vectors.lineage(PERSONAL_OWNER)
    embedder = ConceptEmbedder()
    assert entry == {
        "key": f"{owner_tag(PERSONAL_OWNER)}||{chunk.chunk_id}",
        "passage_id": entry["passage_id"],
        "document_id": document.document_id,
        "source_content_hash": chunk.source_content_hash,
        "embedder_id": embedder.embedder_id,
        "model": embedder.model,
        "dimensions": str(embedder.dimensions),
    }


async def test_the_result_names_the_same(filled: DomainLibrary, path: Path) -> None:
    """The last stage: the metadata of what is found by meaning has the lineage verbatim."""
    provider = LocalDomainKnowledgeProvider(filled, view="passages")
    context = RetrievalContext(owner_id=PERSONAL_OWNER)
    result: KnowledgeResult = (await provider.retrieve(RetrievalRequest(query="Kessel entkalkt"), context))[0]
    await provider.close()
    chunk = chunk_of(path)
    assert result.id == chunk.chunk_id
    assert result.metadata["source_content_hash"] == chunk.source_content_hash
    assert result.metadata["extractor_id"] == chunk.extractor_id
    assert result.metadata["chunker_id"] == chunk.chunker_id
    assert result.metadata["embedder_id"] == space_of(ConceptEmbedder()).embedder_id


Damage = Callable[[bytes], bytes]


@pytest.mark.parametrize(
    ("part", "damage", "kind"),
    [
        ("rows-*", lambda content: bytes([content[0] ^ 1]) + content[1:], "vectors_damaged"),
        ("rows-*", lambda content: content[:-1], "vectors_damaged"),
        ("lineage-*", lambda content: content[:-1], "vectors_damaged"),
        ("state.json", lambda content: content[:-1], "vectors_damaged"),
        (
            "lineage-*",
            lambda content: content.replace(content_hash(TEXT.encode()).encode(), b"0" * 64),
            "vectors_differ",
        ),
        ("lineage-*", lambda content: content[:8] + b"f" * 20 + content[28:], "vectors_left"),
    ],
)
def test_verification_finds_each_break_and_rebuilding_mends_it(
    filled: DomainLibrary, tmp_path: Path, part: str, damage: Damage, kind: str
) -> None:
    """A changed bit, a cut file, another hash, a document that is gone: each is named; the rebuilt vectors are well."""
    assert filled.verify() == ()
    before = filled.search("Kessel entkalkt")
    (file,) = (tmp_path / "store" / "vectors").rglob(part)
    file.write_bytes(damage(file.read_bytes()))
    assert [problem.kind for problem in filled.verify()] == [kind]
    filled.rebuild_index()
    assert filled.verify() == ()
    assert filled.search("Kessel entkalkt") == before != ()


def test_vectors_can_be_deleted_at_any_moment(filled: DomainLibrary, tmp_path: Path) -> None:
    """They are a cache: without them words answer, and the rebuilt ones answer as before."""

    before = filled.search("Kessel entkalkt")
    shutil.rmtree(tmp_path / "store" / "vectors")
    assert filled.verify() == ()
    assert filled.search("Kessel entkalkt") == ()
    assert filled.search("boiler descaled")
    filled.semantic.embed_missing()
    assert filled.search("Kessel entkalkt") == before != ()
