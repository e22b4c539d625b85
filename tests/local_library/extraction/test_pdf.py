"""PDF beyond text: running heads, headings by size, divided words; each as a page really holds it."""

import io
from collections.abc import Callable, Sequence

from hypothesis import given
from hypothesis import strategies as st
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

from local_library.extraction.limited import LimitedExtractor
from local_library.extraction.pdf_layout import Line, heading_sizes, without_repeats
from local_library.records import ExtractedText, SegmentKind


def drawn(pages: Sequence[Sequence[tuple[str, float]]]) -> bytes:
    """A PDF of lines, each with the size of its letters."""
    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=A4)
    for page in pages:
        height = 800.0
        for text, size in page:
            canvas.setFont("Helvetica", size)
            canvas.drawString(72, height, text)
            height -= 2 * size
        canvas.showPage()
    canvas.save()
    return buffer.getvalue()


def read(extractor: LimitedExtractor, content: bytes) -> ExtractedText:
    return extractor.extract("a.pdf", content, "hash")[0]


def test_lines_in_larger_letters_are_headings_where_there_are_no_bookmarks(extractor: LimitedExtractor) -> None:
    """The largest size is the first level; lines of one size in a row are one heading; the place is the page."""
    body = [("The boiler is descaled in March and in October of every year.", 10.0)] * 4
    found = read(
        extractor,
        drawn(
            [
                [("Boiler", 20.0), ("manual", 20.0), *body, ("Cleaning", 14.0), *body],
                [("Pressure", 14.0), *body],
            ]
        ),
    )
    headings = [(one.text, one.level, one.place) for one in found.segments if one.kind is SegmentKind.HEADING]
    assert headings == [("Boiler manual", 1, "page=1"), ("Cleaning", 2, "page=1"), ("Pressure", 2, "page=2")]


def test_bookmarks_go_before_sizes(extractor: LimitedExtractor, pdf: Callable[..., bytes]) -> None:
    """Where the author named the sections, letters are not judged."""
    found = read(extractor, pdf(["Introduction\nText."], [("Introduction", 0, 0)]))
    assert [one.text for one in found.segments if one.kind is SegmentKind.HEADING] == ["Introduction"]


def test_running_heads_are_kept_once_and_page_numbers_not_at_all(extractor: LimitedExtractor) -> None:
    """What repeats on every page would drown its text; the report says so."""
    pages = [
        [(f"Boiler manual {number}", 10.0), (f"Text number {number} about valves.", 10.0), (f"- {number} -", 10.0)]
        for number in range(1, 7)
    ]
    found = read(extractor, drawn(pages))
    text = "\n".join(one.text for one in found.segments)
    assert text.count("Boiler manual") == 1
    assert all(f"Text number {number} about valves." in text for number in range(1, 7))
    assert "- 4 -" not in text
    assert found.warnings == ("Lines that repeat at the edges of pages were kept once.",)


def test_a_word_that_a_lines_end_divides_is_found(extractor: LimitedExtractor) -> None:
    """A hyphen at a line's end joins, in other alphabets too; one within a line stays."""
    found = read(
        extractor, drawn([[("The maintenance-free boi-", 10.0), ("ler and its dé-", 10.0), ("\u00e9tail.", 10.0)]])
    )
    assert found.segments[0].text == "The maintenance-free boiler and its déétail."


def test_no_sign_of_the_page_gets_into_the_text(extractor: LimitedExtractor) -> None:
    """Control characters and the mark for a divided word are none of it."""
    found = read(extractor, drawn([[("Va\x02lves \x07 here\u00ad", 10.0)]]))
    assert not any(ord(one) < 32 or one == "\ufffe" for segment in found.segments for one in segment.text)


@given(st.lists(st.lists(st.text("ab1 ", max_size=6), max_size=7), max_size=8))
def test_taking_repeats_out_invents_nothing_and_loses_no_word(pages: list[list[str]]) -> None:
    """Order stays, and every word that is no page number is still somewhere."""
    given_pages = [[Line(text) for text in page] for page in pages]
    kept, _ = without_repeats(given_pages)
    assert len(kept) == len(pages)
    for before, after in zip(given_pages, kept, strict=True):
        rest = iter(before)
        assert all(line in rest for line in after)
    words = {word for page in pages for text in page for word in text.split() if not word.isdigit()}
    assert words <= {word for page in kept for line in page for word in line.text.split()}


def test_a_page_that_is_all_large_letters_has_no_headings() -> None:
    """Slides and posters have no body whose size could tell headings apart."""
    poster = [Line("Large words for all", 30.0), Line("and small print", 9.0), Line("and small print", 9.0)]
    assert heading_sizes([poster]) == {}
    assert heading_sizes([[*poster, *poster[1:] * 4]]) == {30.0: 1}
    assert heading_sizes([[Line("words without a known size")]]) == {}


def test_what_was_filled_into_a_form_is_read(extractor: LimitedExtractor) -> None:
    """A filled field is text of its page, though the page itself does not hold it."""
    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=A4)
    canvas.drawString(72, 800, "Name of the applicant")
    canvas.acroForm.textfield(name="applicant", value="Priya Quagga", x=72, y=700, width=200, height=20)
    canvas.acroForm.checkbox(name="agreed", checked=True, x=72, y=600)
    canvas.save()
    assert [one.text for one in read(extractor, buffer.getvalue()).segments] == ["Name of the applicant Priya Quagga"]


def test_pages_of_one_number_each_are_kept(extractor: LimitedExtractor) -> None:
    """A number is no page number where nothing else is on the page."""
    found = read(extractor, drawn([[(f"{number}", 10.0)] for number in range(1, 5)]))
    assert [one.text for one in found.segments] == ["1", "2", "3", "4"]
