"""Search by meaning speaks only where words find nothing, says so, stays honest, and never breaks a search."""

import logging
import threading
from pathlib import Path

import pytest

from knowledge_provider import PERSONAL_OWNER, RetrievalContext, RetrievalRequest
from local_library import DomainLibrary, LocalDomainKnowledgeProvider
from local_library.retriever import LibraryRetriever
from local_library.semantic.loading import EmbedderLoading
from local_library.semantic.second_opinion import SecondOpinion, own_floor
from tests.local_library.semantic.concepts import ConceptEmbedder
from tests.local_library.semantic.conftest import Opened

FOREIGN_WORDS = "Wann wird der Kessel entkalkt?"


@pytest.fixture
def embedder() -> ConceptEmbedder:
    """Knows boilers, kettles and vacations in English and German."""
    return ConceptEmbedder()


@pytest.fixture
def filled(opened: Opened, documents: Path, embedder: ConceptEmbedder) -> DomainLibrary:
    """A library of three documents, each passage with its vector."""
    library = opened(embedder)
    library.import_folder(documents)
    library.semantic.embed_missing()
    return library


def test_a_question_in_other_words_is_answered_by_its_meaning(filled: DomainLibrary) -> None:
    """No word of the question stands in any document; the passage says how it was found."""
    found = filled.search(FOREIGN_WORDS)
    assert "descaled in March" in found[0].text
    assert found[0].found_by == "semantic"
    assert found[0].similarity == pytest.approx(1.0, abs=0.01)
    assert found[0].coverage == 0.0
    assert found[0].embedder_id == "concepts-1"


def test_what_words_find_is_not_asked_again(filled: DomainLibrary, embedder: ConceptEmbedder) -> None:
    """A question whose words are covered costs no embedding, and the results are those of words."""
    found = filled.search("when is the boiler descaled")
    assert found[0].found_by == "lexical"
    assert found[0].similarity is None
    assert embedder.questions == []


def test_results_by_words_are_the_same_with_and_without_an_embedder(filled: DomainLibrary, opened: Opened) -> None:
    """The second opinion takes nothing from the first."""
    plain = opened(None)
    for question in ("boiler descaled", "who repairs the kettle", "days of vacation"):
        assert filled.search(question) == plain.search(question) != ()


def test_nothing_similar_gives_no_results(filled: DomainLibrary, embedder: ConceptEmbedder) -> None:
    """A thing that no document speaks of stays below the floor: the documents do not say."""
    assert filled.search("Wo steht der Drucker?") == ()
    assert embedder.questions == ["Wo steht der Drucker?"]


@pytest.mark.parametrize(("floor", "answers"), [(1.01, 0), (0.9, 1), (0.6, 2), (-1.0, 4)])
def test_the_floor_of_the_host_holds(
    opened: Opened, documents: Path, embedder: ConceptEmbedder, floor: float, answers: int
) -> None:
    """A half-fitting passage is let in or kept out as the host says."""
    library = opened(embedder, similarity_floor=floor)
    library.import_folder(documents)
    library.semantic.embed_missing()
    found = library.search("Kessel")  # 1.0 to the boiler's pressure, 0.71 to its descaling, 0.01 to the others
    assert len(found) == answers


@pytest.mark.parametrize(("passages", "floor"), [(1, 0.45), (10, 0.5), (1_000, 0.6), (1_000_000, 0.6)])
def test_the_embedders_own_floor_is_lower_in_a_small_library(passages: int, floor: float) -> None:
    """The best of ten passages is less near by chance than the best of a thousand; beyond, the floor stays."""
    assert own_floor(ConceptEmbedder(), passages) == pytest.approx(floor)


def test_a_passage_gains_by_words_that_it_shares_with_the_question(opened: Opened, tmp_path: Path) -> None:
    """Of two passages of the same meaning the one with the question's name comes first."""
    folder = tmp_path / "d"
    folder.mkdir()
    (folder / "a.md").write_text("# One\n\nThe boiler in the hall is new and quiet and blue.\n")
    (folder / "b.md").write_text("# Two\n\nThe boiler of Wuppertal is old and loud and red.\n")
    library = opened(ConceptEmbedder())
    library.import_folder(folder)
    library.semantic.embed_missing()
    found = library.search("Welchen Zustand hat der Kessel denn eigentlich in Wuppertal heutzutage ungefähr")
    assert [Path(one.passage.path).name for one in found] == ["b.md", "a.md"]
    assert found[0].coverage > found[1].coverage == 0.0
    assert found[0].score > found[1].score


def test_scores_fall_from_the_first_result_to_the_last(opened: Opened, documents: Path) -> None:
    """Where both halves answer, one list has one order: higher is better."""
    library = DomainLibrary(documents.parent / "both", floor=0.0, embedder=ConceptEmbedder(), similarity_floor=0.1)
    with library:
        library.import_folder(documents)
        library.semantic.embed_missing()
        question = "Kessel Wasserkocher Urlaub Preis Ort Zeit Name Farbe Form Bar"
        found = library.search(question, limit=8)
    assert {one.found_by for one in found} == {"lexical", "semantic"}
    assert found[0].found_by == "semantic"  # a similarity counts as the same share of the question's words would
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    assert len({one.passage.passage_id for one in found}) == len(found)


def test_a_search_by_meaning_stays_within_the_named_documents(filled: DomainLibrary) -> None:
    """The filter holds for vectors, too."""
    leave = next(one for one in filled.list() if one.path.endswith("leave.md"))
    assert filled.search(FOREIGN_WORDS, document_ids=[leave.document_id]) == ()
    assert filled.search("Urlaub", document_ids=[leave.document_id])[0].passage.document_id == leave.document_id


def test_a_search_by_meaning_stays_with_its_owner(filled: DomainLibrary) -> None:
    """Another owner's passages are out of reach."""
    assert filled.search(FOREIGN_WORDS, owner_id="bob") == ()


def test_one_document_gives_no_more_passages_than_it_may(filled: DomainLibrary) -> None:
    """The bound per document is that of the search by words."""
    everything = filled.search("Kessel", per_document=3, limit=8)
    assert len(everything) == 2
    assert len(filled.search("Kessel", per_document=1, limit=8)) == 1


def test_passages_that_say_the_same_are_one(opened: Opened, tmp_path: Path) -> None:
    """The same text under two names is one answer."""
    folder = tmp_path / "d"
    folder.mkdir()
    for name in ("a.md", "b.md"):
        (folder / name).write_text(f"# {name}\n\nThe boiler is descaled in March.\n")
    library = opened(ConceptEmbedder())
    library.import_folder(folder)
    library.semantic.embed_missing()
    assert len(library.search(FOREIGN_WORDS)) == 1


def test_a_long_question_is_left_to_words(filled: DomainLibrary, embedder: ConceptEmbedder) -> None:
    """A whole dialogue has no one meaning."""
    assert filled.search("Kessel " + "und dann noch etwas ganz anderes " * 6) == ()
    assert embedder.questions == []


@pytest.mark.parametrize("question", ["", "?!", " "])
def test_a_question_without_words_asks_nobody(filled: DomainLibrary, embedder: ConceptEmbedder, question: str) -> None:
    """There is nothing to embed."""
    assert filled.search(question) == ()
    assert embedder.questions == []


def test_a_failing_embedder_never_fails_a_search(
    filled: DomainLibrary, embedder: ConceptEmbedder, caplog: pytest.LogCaptureFixture
) -> None:
    """The search answers by words, the log has one line with the cause, and the embedder rests."""
    embedder.failure = RuntimeError("secret-key-123 refused")
    assert filled.search(FOREIGN_WORDS) == ()
    assert filled.search("who repairs the kettle")
    assert filled.search(FOREIGN_WORDS) == ()
    warnings = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 1
    assert warnings[0].exc_info is not None
    assert "secret-key-123" not in warnings[0].getMessage()
    assert embedder.questions == [FOREIGN_WORDS]


def test_vectors_that_are_none_never_fail_a_search(filled: DomainLibrary, embedder: ConceptEmbedder) -> None:
    """An embedder that breaks its word is an embedder that fails."""
    embedder.dimensions += 1
    assert filled.search(FOREIGN_WORDS) == ()


class Clock:
    """Time that passes when told."""

    def __init__(self) -> None:
        self.now = 0.0
        self.steps: list[float] = []

    def __call__(self) -> float:
        if self.steps:
            self.now += self.steps.pop(0)
        return self.now


def test_a_slow_embedder_rests_so_that_it_does_not_eat_every_turn(
    filled: DomainLibrary, embedder: ConceptEmbedder, caplog: pytest.LogCaptureFixture
) -> None:
    """After a question that took too long, the next half minute goes by words alone."""
    clock = Clock()
    workspace = filled._workspace
    opinion = SecondOpinion(
        LibraryRetriever(workspace.index), workspace.vectors, embedder, EmbedderLoading(embedder), clock=clock
    )

    def asked() -> int:
        with workspace.reading() as catalog:
            return len(opinion.search(catalog, PERSONAL_OWNER, FOREIGN_WORDS, 5))

    clock.steps = [0.0, 0.0, 1.5]  # the gate, the beginning, the end
    assert asked() == 2
    assert "took 1.5 s" in caplog.text
    assert asked() == 0
    clock.now += 31
    assert asked() == 2
    assert len(embedder.questions) == 2


def test_a_question_does_not_wait_for_an_embedder_that_is_being_loaded(
    opened: Opened, documents: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words answer meanwhile; once it is loaded, meaning does."""
    monkeypatch.setattr("local_library.semantic.second_opinion._LOADING_SECONDS", 0.01)
    may_load = threading.Event()

    class Slow(ConceptEmbedder):
        def load(self) -> None:
            assert may_load.wait(10)

    plain = opened(ConceptEmbedder())
    plain.import_folder(documents)
    plain.semantic.embed_missing()
    plain.close()
    library = opened(Slow())
    assert library.search(FOREIGN_WORDS) == ()
    assert library.search("who repairs the kettle")
    may_load.set()
    library.semantic.load()
    assert library.search(FOREIGN_WORDS)


def test_an_embedder_that_cannot_be_loaded_is_one_that_fails(
    opened: Opened, documents: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The log has the cause, words answer."""

    class Broken(ConceptEmbedder):
        def load(self) -> None:
            raise RuntimeError("no such file")

    library = opened(Broken())
    library.import_folder(documents)
    library.semantic.load()
    assert library.search("who repairs the kettle")
    assert "could not be loaded" in caplog.text


def test_damaged_vectors_never_fail_a_search(filled: DomainLibrary, tmp_path: Path) -> None:
    """Cut-off files are as good as none until they are made anew."""
    for path in (tmp_path / "store" / "vectors").rglob("rows-*"):
        path.write_bytes(b"")
    for path in (tmp_path / "store" / "vectors").rglob("state.json"):
        path.write_text(path.read_text() + " ")
    assert filled.search(FOREIGN_WORDS) == ()
    assert filled.search("who repairs the kettle")


async def test_results_tell_the_model_how_they_were_found(filled: DomainLibrary) -> None:
    """The metadata of a result carries found_by, similarity and the embedder's id, in both views."""
    for view in ("passages", "outline"):
        provider = LocalDomainKnowledgeProvider(filled, view=view)
        context = RetrievalContext(owner_id=PERSONAL_OWNER)
        meant = (await provider.retrieve(RetrievalRequest(query=FOREIGN_WORDS), context))[0]
        worded = (await provider.retrieve(RetrievalRequest(query="boiler descaled"), context))[0]
        await provider.close()
        assert meant.metadata["found_by"] == "semantic"
        assert meant.metadata["similarity"] == pytest.approx(1.0, abs=0.01)
        assert meant.metadata["embedder_id"] == "concepts-1"
        assert worded.metadata["found_by"] == "lexical"
        assert "similarity" not in worded.metadata
