"""What was found becomes a response that says all of it."""

from gateway.citations import TurnCitations
from gateway.cited_response import cited_response
from gateway.normalization import NormalizedResults
from gateway.projection import NOTICE
from knowledge_provider import KnowledgeResult, RetrievalRequest, Source

ASKED = RetrievalRequest(query="release policy")
PASSAGE = KnowledgeResult(id="1", content="Two reviewers.", source=Source(uri="https://docs.example.com/releases"))


def test_results_are_cited_and_framed_as_data() -> None:
    """What was cut, left out or not searched is said as well."""
    found = NormalizedResults((PASSAGE,), frozenset({"1"}), more=3, partial=("wiki",))
    response = cited_response(ASKED, found, TurnCitations())
    assert (response.status, response.query, response.notice) == ("ok", "release policy", NOTICE)
    assert (response.truncated, response.more, response.partial) == (True, 3, ("wiki",))
    assert response.results[0].citation == response.citations[0].id == "source_1"


def test_nothing_found_is_a_status_of_its_own() -> None:
    """An empty answer is never an empty list without a word."""
    response = cited_response(ASKED, NormalizedResults((), frozenset(), more=0, partial=("wiki",)), TurnCitations())
    assert (response.status, response.results, response.notice) == ("no_results", (), "")
    assert response.partial == ("wiki",)


def test_numbers_count_on_within_the_turn() -> None:
    """Two searches of one turn never give two pages the same number."""
    turn = TurnCitations()
    other = PASSAGE.model_copy(update={"source": Source(uri="https://docs.example.com/other")})
    for passage, number in ((PASSAGE, "source_1"), (other, "source_2"), (PASSAGE, "source_1")):
        response = cited_response(ASKED, NormalizedResults((passage,), frozenset(), more=0), turn)
        assert response.results[0].citation == number
