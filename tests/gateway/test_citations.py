"""Which URIs are shown, and the numbers they keep within a turn."""

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.citations import MAX_SNIPPET_CHARACTERS, TurnCitations, public_uri
from knowledge_provider import CitedResult, KnowledgeResult, Source
from tests.gateway.uris import DROPPED, SHOWN


def result(
    uri: str | None, *, id: str = "r", title: str | None = "Handbook", content: str = "Text."
) -> KnowledgeResult:
    return KnowledgeResult(id=id, content=content, source=Source(title=title, uri=uri))


@pytest.mark.parametrize(("uri", "shown"), SHOWN.items(), ids=map(ascii, SHOWN))
def test_a_public_uri_is_shown_in_its_plain_form(uri: str, shown: str) -> None:
    """Public pages become links, with the host in ASCII and without the fragment."""
    assert public_uri(uri) == shown


@pytest.mark.parametrize("uri", DROPPED, ids=[ascii(uri)[:80] for uri in DROPPED])
def test_a_private_or_credential_bearing_uri_yields_no_citation(uri: str) -> None:
    """Private hosts in any spelling, user info, credentials and other schemes are never shown."""
    cited, citations = TurnCitations().cite([result(uri)])
    assert public_uri(uri) is None
    assert citations == ()
    assert (cited[0].citation, cited[0].source.uri) == (None, None)


def test_the_table_is_as_long_as_promised() -> None:
    """At least 150 URIs, each once."""
    assert len(set(SHOWN) | set(DROPPED)) == len(SHOWN) + len(DROPPED) >= 150


@pytest.mark.parametrize("uri", SHOWN.values(), ids=map(ascii, SHOWN))
def test_a_shown_uri_is_shown_unchanged_the_next_time(uri: str) -> None:
    """The public form is its own public form, so numbers stay stable."""
    assert public_uri(uri) == uri


def test_no_host_is_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Judging a URI sends nothing into the network."""

    def refuse(*arguments: object, **options: object) -> None:
        raise AssertionError("a name was looked up")

    for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex", "socket"):
        monkeypatch.setattr(socket, name, refuse)
    public_uri.cache_clear()
    for uri in (*SHOWN, *DROPPED):
        public_uri(uri)


@given(
    st.text(st.characters(exclude_categories=()), max_size=60),
    st.sampled_from(["", "http://", "https://", "https://example.com/", "https://example.com/?", "http://["]),
)
def test_any_text_is_judged_without_an_error(text: str, start: str) -> None:
    """Whatever a provider calls a URI: it is shown in a stable ASCII form over http or https, or not at all."""
    shown = public_uri(start + text)
    if shown is not None:
        assert shown.isascii()
        assert shown.startswith(("http://", "https://"))
        assert public_uri(shown) == shown


@given(st.integers(0, 2**32 - 1), st.sampled_from(["{}", "0x{:x}", "0{:o}", "[::ffff:{:x}]", "{}."]))
def test_an_address_as_one_number_is_never_shown(address: int, spelling: str) -> None:
    """Integer, hexadecimal and octal hosts are refused whatever they would mean."""
    assert public_uri(f"http://{spelling.format(address)}/") is None


def test_the_same_uri_keeps_its_number_over_the_calls_of_a_turn() -> None:
    """`source_1` stays `source_1`, also when it is spelled otherwise; new pages count on."""
    turn = TurnCitations()
    first, _ = turn.cite([result("https://a.example/"), result("https://b.example/", id="s")])
    second, citations = turn.cite([result("https://c.example/"), result("HTTPS://B.example:443/#top", id="s")])
    assert [item.citation for item in first] == ["source_1", "source_2"]
    assert [item.citation for item in second] == ["source_3", "source_2"]
    assert [citation.id for citation in citations] == ["source_3", "source_2"]


def test_numbers_start_anew_in_the_next_turn() -> None:
    """Each turn has its own `source_1`."""
    for uri in ("https://a.example/", "https://b.example/"):
        cited, _ = TurnCitations().cite([result(uri)])
        assert cited[0].citation == "source_1"


def test_two_passages_of_one_page_share_one_citation() -> None:
    """The client shows one link per page, not one per passage."""
    cited, citations = TurnCitations().cite([result("https://a.example/x"), result("https://a.example/x#2", id="s")])
    assert [item.citation for item in cited] == ["source_1", "source_1"]
    assert len(citations) == 1


def test_results_without_a_public_uri_take_no_number() -> None:
    """A private passage is still a result; it only has no link."""
    cited, citations = TurnCitations().cite(
        [result("http://wiki.local/x"), result(None, id="s"), result("https://a.example/", id="t")]
    )
    assert [item.citation for item in cited] == [None, None, "source_1"]
    assert [citation.uri for citation in citations] == ["https://a.example/"]


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("Release handbook", "Release handbook"),
        (None, "docs.example.com/r/手册.html"),
        ("  ", "docs.example.com/r/手册.html"),
    ],
)
def test_a_citation_without_a_title_is_named_by_its_place(title: str | None, shown: str) -> None:
    """A link always has words to show."""
    _, citations = TurnCitations().cite([result("https://docs.example.com/r/%E6%89%8B%E5%86%8C.html?v=2", title=title)])
    assert citations[0].title == shown


def test_a_snippet_is_a_short_opening_on_one_line() -> None:
    """A client shows a line below a link, never four thousand characters."""
    _, citations = TurnCitations().cite([result("https://a.example/", content="Line one.\n\n  Line two. " * 100)])
    assert citations[0].snippet.startswith("Line one. Line two. Line one.")
    assert citations[0].snippet.endswith(".")
    assert MAX_SNIPPET_CHARACTERS // 2 < len(citations[0].snippet) <= MAX_SNIPPET_CHARACTERS


def test_everything_else_of_a_result_stays() -> None:
    """Citing adds a number and the mark of a cut, and changes no other field."""
    given_result = KnowledgeResult(
        id="r",
        content="Text.",
        score=0.5,
        source=Source(id="s", title="T", uri="https://a.example/", locator="p. 1"),
        metadata={"k": 1},
    )
    cited, _ = TurnCitations().cite([given_result], {"r"})
    assert cited == (CitedResult(**given_result.model_dump(), citation="source_1", truncated=True),)
