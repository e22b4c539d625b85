"""The floor of an embedder, found by questions that a library does not answer."""

from pathlib import Path

import pytest

from local_library import DomainLibrary, EmbedderNotUsable
from local_library.semantic import everyday_questions
from tests.local_library.semantic.concepts import ConceptEmbedder
from tests.local_library.semantic.conftest import Opened

FOREIGN = ("Wo ist der Drucker?", "Is there a garage?", "Kessel", "What is the time?")


@pytest.fixture
def filled(opened: Opened, documents: Path) -> DomainLibrary:
    """A library of boilers, kettles and vacations, whose embedder has no floor of its own that would do."""
    library = opened(ConceptEmbedder(), similarity_floor=-1.0)
    library.import_folder(documents)
    library.semantic.embed_missing()
    return library


@pytest.mark.parametrize(("false_accepts", "let_in"), [(0.0, 0), (0.3, 1), (0.5, 2)])
def test_the_floor_lets_in_no_more_than_it_may(
    filled: DomainLibrary, opened: Opened, false_accepts: float, let_in: int
) -> None:
    """Of four questions without an answer so many find something as were allowed."""
    floor = filled.semantic.calibrated_floor(questions=FOREIGN, false_accepts=false_accepts)
    strict = opened(ConceptEmbedder(), similarity_floor=floor)
    strict.semantic.embed_missing()
    assert sum(bool(strict.search(question)) for question in FOREIGN) == let_in
    if false_accepts:
        assert floor < 1.0


def test_everyday_questions_are_asked_where_none_are_given(filled: DomainLibrary) -> None:
    """They are many, in many scripts, and the floor lies above what most of them reach."""
    assert len(everyday_questions()) == len(set(everyday_questions())) >= 50
    assert 0.0 < filled.semantic.calibrated_floor() <= 1.0


def test_a_library_without_vectors_has_nothing_to_calibrate_by(opened: Opened) -> None:
    """It says what to do first."""
    with pytest.raises(ValueError, match="embed_missing"):
        opened(ConceptEmbedder()).semantic.calibrated_floor()
    with pytest.raises(EmbedderNotUsable):
        opened(None).semantic.calibrated_floor()
