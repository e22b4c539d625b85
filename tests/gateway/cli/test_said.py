"""What a turn looks like in words: one footnote for a document, links only from citations, times beside statuses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.cli.said import Footnote, ending, footnotes, lookup_line, passages
from gateway.cli.turns import Lookup, SaidTurn

HANDBOOK = "/home/ann/handbook/release.md"


def source(title: str, locator: str, citation: str | None = None) -> dict[str, str | None]:
    return {"title": title, "locator": locator, "citation": citation}


def test_the_passages_of_one_document_share_a_footnote() -> None:
    """Sections are listed once each, and one that repeats the title is left out."""
    places = ("Approvals", "Release", "Approvals", "Hotfixes")
    turn = SaidTurn("?", sources=[source("Release", f"{HANDBOOK}#{place}") for place in places])
    assert footnotes(turn) == [Footnote("Release", "Approvals, Hotfixes")]


def test_two_documents_of_the_same_title_stay_apart() -> None:
    """Files of different names are different documents, whatever they call themselves."""
    turn = SaidTurn("?", sources=[source("Notes", "/a/one.md#A"), source("Notes", "/a/two.md#B")])
    assert [note.place for note in footnotes(turn)] == ["A", "B"]


def test_only_a_citation_makes_a_link() -> None:
    """A source whose citation came has its address; one whose citation did not come has none."""
    sources = [source("Release", "Approvals", "source_1"), source("Travel", "page 4", "source_2")]
    citations = [{"id": "source_1", "uri": "https://docs.example.com/r", "title": "Release", "snippet": ""}]
    notes = footnotes(SaidTurn("?", sources=sources, citations=citations))
    assert notes == [Footnote("Release", "Approvals", "https://docs.example.com/r"), Footnote("Travel", "page 4")]


@given(st.lists(st.tuples(st.text(), st.text(), st.none() | st.text())))
def test_every_source_is_named_in_some_footnote(raw: list[tuple[str, str, str | None]]) -> None:
    """Whatever a provider calls its sources, none is lost and none is shown without a name."""
    turn = SaidTurn("?", sources=[source(*one) for one in raw])
    notes = footnotes(turn)
    assert all(note.title for note in notes)
    assert {title for title, _, _ in raw if title} <= {note.title for note in notes}


@pytest.mark.parametrize(
    ("status", "line"),
    [
        ("ok", "found 1 passage · 3.4 ms"),
        ("no_results", "nothing about it in the documents · 3.4 ms"),
        ("unavailable", "the documents could not be reached · 3.4 ms"),
        ("something_new", "something_new · 3.4 ms"),
    ],
)
def test_a_finished_look_up_says_how_it_ended_and_how_long_it_took(status: str, line: str) -> None:
    """Also a status that this terminal does not know yet."""
    turn = SaidTurn("?", sources=[source("Release", "Approvals")])
    assert lookup_line(Lookup("?", 0.0, status, 3.41), turn) == line


def test_a_running_look_up_says_what_is_looked_up() -> None:
    """The query is shown while it runs."""
    assert lookup_line(Lookup("two reviewers", 0.0), SaidTurn("?")) == "looking up “two reviewers” …"


def test_what_was_not_answered_ends_with_a_sentence() -> None:
    """Stopped, cut off and failed turns say so; an answered one needs no words."""
    assert ending(SaidTurn("?", phase="interrupted")) == "Stopped."
    assert "Ask again" in ending(SaidTurn("?", phase="lost"))
    assert ending(SaidTurn("?", phase="failed", problem="The model could not answer.")) == "The model could not answer."
    assert ending(SaidTurn("?", phase="done")) == ""
    assert (passages(1), passages(2)) == ("1 passage", "2 passages")


def test_a_slow_look_up_says_how_long_it_has_waited() -> None:
    """In milliseconds or in seconds; one that is not slow yet says only what it looks for."""
    running = [Lookup("reviewers", 0.0, waited_milliseconds=waited) for waited in (0.0, 20.0, 1500.0)]
    lines = [lookup_line(lookup, SaidTurn("?")) for lookup in running]
    assert lines == [
        "looking up “reviewers” …",
        "still looking up “reviewers”, for more than 20 ms …",
        "still looking up “reviewers”, for more than 1.5 s …",
    ]
