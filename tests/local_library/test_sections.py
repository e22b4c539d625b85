"""What the outline promises: each heading verbatim and in order, with a locator that reads its section."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from local_library import DomainLibrary
from local_library.chunking import HeadingChunker
from local_library.outline import headings_of
from local_library.records import ExtractedText, Segment, SegmentKind

KINDS = {
    "word": (".docx", [("Trains", "Trains are preferred"), ("First class", "Only above four hours.")]),
    "slides": (".pptx", [("Roadmap", "Ship the parser in May."), ("Risks", "Ask Priya.")]),
    "sheet": (".xlsx", [("Prices", "bolt-60 | 180")]),
    "book": (".epub", [("Birds", "The dipper"), ("Trees", "Birch bark")]),
    "open_text": (".odt", [("Kitchen", "The kettle is shared.")]),
    "pages": (".pdf", [("Introduction", "about boilers"), ("Cleaning", "Use vinegar")]),
    "page": (".html", [("Rest areas", "No smoking."), ("Doors", "Keep them shut.")]),
    "rich": (".rtf", [("Coffee", "In the kitchen."), ("Tea", "Upstairs.")]),
    "text": (".txt", [("Guide", "Hello there."), ("2.1 Setting up", "Plug it in.")]),
    "code": (".py", [("def tidy", "return x"), ("class Kettle", "hot = True")]),
}


@pytest.fixture
def files(request: pytest.FixtureRequest, pdf: Callable[..., bytes]) -> Callable[[str], bytes]:
    """A file of each kind by its name above."""
    plain = {
        "page": b"<h1>Rest areas</h1><p>No smoking.</p><h2>Doors</h2><p>Keep them shut.</p>",
        "rich": rb"{\rtf1{\stylesheet{\s1 heading 1;}}\s1 Coffee\par\pard In the kitchen.\par"
        rb"\s1 Tea\par\pard Upstairs.}",
        "text": b"Guide\n=====\n\nHello there.\n\n2.1 Setting up\n\nPlug it in.\n",
        "code": b"import os\n\ndef tidy(x):\n    return x\n\nclass Kettle:\n    hot = True\n",
        "pages": pdf(
            ["Introduction\nThis is about boilers.", "Cleaning\nUse vinegar once a month."],
            [("Introduction", 0, 0), ("Cleaning", 1, 1)],
        ),
    }
    return lambda kind: plain[kind] if kind in plain else request.getfixturevalue(kind)


@pytest.mark.parametrize("kind", KINDS)
def test_each_heading_of_each_kind_leads_to_its_section(
    library: DomainLibrary, files: Callable[[str], bytes], kind: str
) -> None:
    """The outline's headings are the file's own, in order, and each locator reads what stands below it, bounded."""
    suffix, expected = KINDS[kind]
    path = f"/documents/a{suffix}"
    library.import_bytes(path, files(kind))
    document = library.show(path)
    listed = [(one.text, one.locator) for one in document.headings]
    if document.title == expected[0][0]:
        listed.insert(0, (document.title, path))
    assert [text for text, _ in listed] == [text for text, _ in expected]
    for (_, locator), (_, below) in zip(listed, expected, strict=True):
        assert below in library.read(locator).text
        assert len(library.read(locator, limit_characters=10).text) <= 10


def test_a_heading_with_nothing_below_it_is_found_and_read(library: DomainLibrary, tmp_path: Path) -> None:
    """An empty section is text as well: its heading can be searched, and its locator leads to it."""
    library.import_bytes(
        "/documents/a.md", b"# Boilers\n\nDescaled in March.\n\n## Quagga valves\n\n## Pressure\n\n1.5 bar.\n"
    )
    assert [one.text for one in library.search("quagga valves")] == ["Quagga valves"]
    for heading in library.show("/documents/a.md").headings:
        assert heading.text in library.read(heading.locator).text


def test_a_sheet_is_read_by_its_name(library: DomainLibrary, sheet: bytes) -> None:
    """All of its rows, whatever group they are in."""
    library.import_bytes("/documents/a.xlsx", sheet)
    text = library.read("/documents/a.xlsx#sheet=Prices").text
    assert "bolt-1 |" in text
    assert "bolt-60 |" in text


def test_a_document_of_headings_alone_is_kept(library: DomainLibrary) -> None:
    """Slides often hold nothing but titles."""
    outcome = library.import_bytes("/documents/a.md", b"# One\n\n## Two\n\n## Three\n")
    assert outcome.passages == 2
    assert "Three" in library.read("/documents/a.md").text


WORDS = st.text("ab#>& 界.", min_size=1, max_size=8).filter(str.strip)
PARTS = st.lists(
    st.tuples(st.sampled_from([*SegmentKind]), WORDS, st.integers(1, 4), st.sampled_from(["", "page=1", "page=2"])),
    min_size=1,
    max_size=20,
)


def extracted(parts: list[tuple[SegmentKind, str, int, str]]) -> ExtractedText:
    segments = (
        Segment(number, kind, text, level if kind is SegmentKind.HEADING else 0, place)
        for number, (kind, text, level, place) in enumerate(parts)
    )
    return ExtractedText("hash", "test-1", "", tuple(segments), ())


@given(parts=PARTS)
def test_headings_come_verbatim_and_in_order_and_no_text_is_lost(
    parts: list[tuple[SegmentKind, str, int, str]],
) -> None:
    """The outline is the headings as written; every segment is in a passage, as text or as the path to it."""
    given_text = extracted(parts)
    headings = [text for kind, text, _, _ in parts if kind is SegmentKind.HEADING]
    assert [one.text for one in headings_of(given_text, "a.md", "a title")] == headings
    chunks = HeadingChunker(target=30, limit=60).chunks(given_text)
    everything = "\n".join("\n".join((*chunk.heading_path, chunk.text)) for chunk in chunks)
    assert all(text.strip() in everything for _, text, _, _ in parts)
    assert [chunk.ordinal for chunk in chunks] == list(range(len(chunks)))


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=st.lists(st.tuples(WORDS, st.integers(1, 3)), min_size=1, max_size=6))
def test_each_locator_of_any_outline_reads_its_section(library: DomainLibrary, names: list[tuple[str, int]]) -> None:
    """Whatever a heading is called, and however often."""
    text = "".join(
        f"{'#' * level} x{' '.join(name.split())}\n\nBelow number {number}.\n\n"
        for number, (name, level) in enumerate(names)
    )
    library.import_bytes("/documents/a#b.md", text.encode())
    document = library.show("/documents/a#b.md")
    listed = [(one.locator, one.text) for one in document.headings]
    skipped = len(names) - len(listed)
    for number, (locator, heading) in enumerate(listed, start=skipped):
        read = library.read(locator)
        assert f"Below number {number}." in read.text
        assert heading in read.text


@given(rows=st.lists(st.lists(st.text("ab c", max_size=30), min_size=1, max_size=5), min_size=2, max_size=30))
def test_every_group_of_rows_has_its_header_and_no_cell_is_lost(rows: list[list[str]]) -> None:
    """A long table is cut between rows, a long row between cells or words; the header stands above each part."""
    lines = [" | ".join(" ".join(cell.split()) for cell in row) for row in rows]
    table = ExtractedText("hash", "test-1", "", (Segment(0, SegmentKind.TABLE, "\n".join(lines)),), ())
    chunks = HeadingChunker(target=40, limit=60).chunks(table)
    assert all(len(chunk.text) <= 60 for chunk in chunks)
    if len(chunks) > 1:
        assert all(chunk.text.startswith(lines[0][:30]) for chunk in chunks)
    words = {word for line in lines for word in line.replace("|", " ").split() if len(word) < 29}
    assert words <= {word for chunk in chunks for word in chunk.text.replace("|", " ").split()} | set(lines[0].split())
