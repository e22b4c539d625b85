"""Vectors follow an import: it is found by words at once and by meaning soon; closing stops them, opening goes on."""

import logging
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy
import numpy.typing
import pytest

from knowledge_provider import PERSONAL_OWNER
from local_library import DomainLibrary, EmbedderNotUsable
from local_library.semantic import DeterministicEmbedder
from local_library.semantic.catching_up import VectorCatchUp
from local_library.semantic.loading import EmbedderLoading
from local_library.workspace import Workspace
from tests.local_library.semantic.concepts import ConceptEmbedder
from tests.local_library.semantic.conftest import Opened

BY_WORDS, BY_MEANING = "when is the boiler descaled", "Wann wird der Kessel entkalkt?"
MANY = [(f"/{one}.md", f"# Title {one}\n\nThe boiler number {one} is descaled.".encode()) for one in range(300)]


def test_a_document_is_found_by_words_before_it_has_a_vector(opened: Opened, documents: Path) -> None:
    """An import does not wait for the embedder; by meaning the document is found once the vectors are there."""
    embedder = ConceptEmbedder()
    embedder.may_go_on.clear()
    library = opened(embedder)
    library.import_file(documents / "boiler.md")
    assert embedder.begun.wait(5)
    assert library.search(BY_WORDS)
    assert library.search(BY_MEANING) == ()
    embedder.may_go_on.set()
    library.semantic.embed_missing()
    assert library.search(BY_MEANING)


def test_a_new_document_is_embedded_alone(opened: Opened, documents: Path, tmp_path: Path) -> None:
    """What has its vectors is not embedded again."""
    embedder = ConceptEmbedder()
    library = opened(embedder)
    library.import_folder(documents)
    assert library.semantic.embed_missing() + library.semantic.count() >= 4
    embedder.texts.clear()
    (tmp_path / "new.md").write_text("# New\n\nThe printer is new.\n")
    library.import_file(tmp_path / "new.md")
    library.semantic.embed_missing()
    assert embedder.texts == ["New\nNew\nThe printer is new."]
    assert library.semantic.count() == 5


def test_a_new_version_replaces_the_vectors_of_the_old_one(opened: Opened, documents: Path) -> None:
    """The old meaning is gone with the old text."""
    library = opened(ConceptEmbedder())
    library.import_folder(documents)
    library.semantic.embed_missing()
    (documents / "boiler.md").write_text("# Room\n\nThe printer stands here.\n")
    library.import_folder(documents)
    library.semantic.embed_missing()
    assert library.search(BY_MEANING) == ()
    assert library.search("Wo ist der Drucker?")
    assert library.semantic.count() == 3
    assert library.verify() == ()


def test_closing_stops_the_embedding_and_the_next_opening_goes_on(opened: Opened) -> None:
    """A library closes after the batch at work; nothing is embedded twice."""
    first = ConceptEmbedder()
    first.may_go_on.clear()
    library = opened(first)
    library.import_many(MANY)
    assert first.begun.wait(5)
    closing = threading.Thread(target=library.close)
    closing.start()
    assert library.semantic._catch_up is not None
    assert library.semantic._catch_up._stopped.wait(5)
    first.may_go_on.set()
    closing.join(5)
    assert not closing.is_alive()
    assert len(first.texts) < len(MANY)
    plain = opened(None)
    kept = plain.semantic.count()
    plain.close()
    second = ConceptEmbedder()
    again = opened(second)
    again.semantic.embed_missing()
    assert again.semantic.count() == len(MANY)
    assert len(second.texts) == len(MANY) - kept
    assert again.verify() == ()


def test_closing_does_not_wait_for_an_embedder_that_hangs(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host's embedder that never answers is left behind."""
    monkeypatch.setattr("local_library.semantic.catching_up._CLOSING_SECONDS", 0.1)
    embedder = ConceptEmbedder()
    embedder.may_go_on.clear()
    library = opened(embedder)
    library.import_many(MANY[:3])
    assert embedder.begun.wait(5)
    library.close()
    embedder.may_go_on.set()


def test_a_document_erased_while_it_is_embedded_gets_no_vector(opened: Opened, documents: Path) -> None:
    """What the embedder has in hand is not kept for a passage that is gone."""
    library = opened(None)
    library.import_file(documents / "boiler.md")
    embedder = ConceptEmbedder()
    embedder.may_go_on.clear()
    catch_up = VectorCatchUp(library._workspace, embedder, EmbedderLoading(embedder))
    running = threading.Thread(target=catch_up.run, args=(PERSONAL_OWNER,))
    running.start()
    assert embedder.begun.wait(5)
    library.remove(str(documents / "boiler.md"))
    embedder.may_go_on.set()
    running.join(10)
    assert not running.is_alive()
    assert library.semantic.count() == 0
    assert library.verify() == ()


def test_another_embedder_embeds_everything_again_and_mixes_nothing(opened: Opened, documents: Path) -> None:
    """Until its vectors are there it finds nothing by meaning; afterwards there are its vectors alone."""
    library = opened(ConceptEmbedder("concepts-1"))
    library.import_folder(documents)
    library.semantic.embed_missing()
    library.close()
    other = ConceptEmbedder("concepts-2")
    other.may_go_on.clear()
    again = opened(other)
    assert other.begun.wait(5)
    assert again.semantic.count() == 0
    assert again.search(BY_MEANING) == ()
    other.may_go_on.set()
    again.semantic.embed_missing()
    assert again.search(BY_MEANING)
    lineage = again._workspace.vectors.lineage(PERSONAL_OWNER)
    assert {row["embedder_id"] for row in lineage} == {"concepts-2"}
    assert len(lineage) == 4


def test_another_model_of_the_same_embedder_is_another_space(opened: Opened, documents: Path) -> None:
    """The id alone does not make vectors comparable."""
    library = opened(ConceptEmbedder(model="one"))
    library.import_folder(documents)
    library.semantic.embed_missing()
    library.close()
    again = opened(ConceptEmbedder(model="two"))
    again.semantic.embed_missing()
    assert {row["model"] for row in again._workspace.vectors.lineage(PERSONAL_OWNER)} == {"two"}


def test_a_failing_embedder_is_asked_again_and_no_vector_is_lost(
    opened: Opened, documents: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The import succeeds, the log says what failed without the vendor's words, later everything is embedded."""
    embedder = ConceptEmbedder()
    embedder.failure = RuntimeError("key sk-123 was refused")
    library = opened(embedder)
    library.import_folder(documents)
    with pytest.raises(EmbedderNotUsable, match=r"failed \(RuntimeError\)") as raised:
        library.semantic.embed_missing()
    assert "sk-123" not in str(raised.value)
    assert not any("sk-123" in record.getMessage() for record in caplog.records)
    assert library.search(BY_WORDS)
    embedder.failure = None
    library.semantic.embed_missing()
    assert library.search(BY_MEANING)


@pytest.mark.parametrize("shape", ["rows", "columns", "numbers"])
def test_vectors_that_are_none_are_refused_with_a_sentence(opened: Opened, documents: Path, shape: str) -> None:
    """One row too few, a column too many, or not a number: said, and nothing is kept."""

    class Wrong(ConceptEmbedder):
        def embed(self, texts: Sequence[str], *, query: bool = False) -> numpy.typing.NDArray[numpy.float32]:
            made = super().embed(texts, query=query)
            if shape == "rows":
                return made[1:]
            return made[:, 1:] if shape == "columns" else made * float("nan")

    library = opened(Wrong())
    library.import_folder(documents)
    expected = "not finite" if shape == "numbers" else "shape"
    with pytest.raises(EmbedderNotUsable, match=expected):
        library.semantic.embed_missing()
    assert library.semantic.count() == 0


@pytest.mark.parametrize("part", ["embedder_id", "model", "dimensions"])
def test_an_embedder_without_a_name_or_dimensions_is_refused_when_the_library_opens(tmp_path: Path, part: str) -> None:
    """A wrong embedder fails where it is given, not in a search."""
    embedder = ConceptEmbedder()
    setattr(embedder, part, 0 if part == "dimensions" else "")
    with pytest.raises(EmbedderNotUsable, match=r"needs an embedder_id and a model|dimensions"):
        DomainLibrary(tmp_path / "store", embedder=embedder)


def test_without_an_embedder_there_is_nothing_to_embed_with(opened: Opened, documents: Path) -> None:
    """The library says what to do, and counts no vectors."""
    library = opened(None)
    library.import_folder(documents)
    with pytest.raises(EmbedderNotUsable, match=r"DomainLibrary\(store, embedder=\.\.\.\)"):
        library.semantic.embed_missing()
    assert library.semantic.count() == 0


def test_every_owner_is_caught_up_when_a_library_is_opened(opened: Opened, documents: Path) -> None:
    """Documents imported without an embedder get their vectors from the first library that has one."""
    plain = opened(None)
    for owner in ("ann", "bob"):
        plain.import_folder(documents, owner_id=owner)
    plain.close()
    embedder = ConceptEmbedder()
    library = opened(embedder)
    for owner in ("ann", "bob"):
        library.semantic.embed_missing(owner_id=owner)
        assert library.semantic.count(owner_id=owner) == 4
        assert library.search(BY_MEANING, owner_id=owner)


def test_progress_counts_up_to_all(opened: Opened) -> None:
    """Whoever watches sees how many of how many, to the last."""
    library = opened(None)
    library.import_many(MANY)
    steps: list[tuple[int, int]] = []
    embedder = ConceptEmbedder()
    catch_up = VectorCatchUp(library._workspace, embedder, EmbedderLoading(embedder))
    made = catch_up.run(PERSONAL_OWNER, lambda *step: steps.append(step))
    assert made == 300
    assert [all_ for _, all_ in steps] == [300] * len(steps)
    assert [done for done, _ in steps] == [128, 256, 300]


def test_vectors_are_byte_identical_however_they_came(tmp_path: Path, documents: Path) -> None:
    """Imported at once, one by one, or rebuilt: the same rows for the same passages."""
    made = []
    for way in ("folder", "single"):
        with DomainLibrary(tmp_path / way, embedder=DeterministicEmbedder()) as library:
            if way == "folder":
                library.import_folder(documents)
            else:
                for path in sorted(documents.iterdir()):
                    library.import_file(path)
                    library.semantic.embed_missing()
            library.semantic.embed_missing()
            made.append(rows_by_chunk(library._workspace))
            library.rebuild_index()
            made.append(rows_by_chunk(library._workspace))
    assert made[0] == made[1] == made[2] == made[3]
    assert len(made[0]) == 4


def rows_by_chunk(workspace: Workspace) -> dict[str, bytes]:
    """The bytes of each vector by its passage's derived id."""
    files = workspace.vectors._files(PERSONAL_OWNER)
    state = files.state()
    assert state is not None
    rows, lineage = files.mapped(state)
    return {two["chunk"].decode(): one.tobytes() for one, two in zip(rows, lineage, strict=True) if two["passage"]}


def test_a_store_that_cannot_be_written_is_told_once(
    opened: Opened, documents: Path, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """Searches by words go on; the log says why there are no vectors."""
    library = opened(None)
    library.import_folder(documents)
    library.close()
    (tmp_path / "store" / "vectors").write_text("a file where the folder should be")
    library = opened(ConceptEmbedder())
    with caplog.at_level(logging.WARNING), pytest.raises(EmbedderNotUsable):
        library.semantic.embed_missing()
    assert library.search(BY_WORDS)
