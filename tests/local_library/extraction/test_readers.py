"""What each kind of file gives: title, headings with their place, text, tables with their header."""

from collections.abc import Callable

import pytest

from local_library.extraction.limited import LimitedExtractor
from local_library.records import ExtractedText, SegmentKind


def read(extractor: LimitedExtractor, path: str, content: bytes) -> ExtractedText:
    return extractor.extract(path, content, "hash-of-the-source")[0]


def headings(extracted: ExtractedText) -> list[tuple[str, int, str]]:
    return [(one.text, one.level, one.place) for one in extracted.segments if one.kind is SegmentKind.HEADING]


def text(extracted: ExtractedText) -> str:
    return "\n".join(one.text for one in extracted.segments)


def test_markdown_keeps_headings_verbatim_with_their_line(extractor: LimitedExtractor) -> None:
    """Headings are copied as written, front matter gives the title, links keep their text."""
    content = (
        b"---\ntitle: Handbook\n---\n# One `x` & two\n\nSee [the wiki](http://w.example/x).\n\n## Two\n\n- a\n- b\n"
    )
    found = read(extractor, "a.md", content)
    assert found.title == "Handbook"
    assert headings(found) == [("One `x` & two", 1, "L4"), ("Two", 2, "L8")]
    assert "See the wiki." in text(found)
    assert found.source_content_hash == "hash-of-the-source"


def test_a_table_of_markdown_keeps_its_header(extractor: LimitedExtractor) -> None:
    """A table is one segment whose first line is its header."""
    found = read(extractor, "a.md", b"| Level | Time |\n|---|---|\n| P1 | 15 |\n| P2 | 60 |\n")
    assert [one.text for one in found.segments] == ["Level | Time\nP1 | 15\nP2 | 60"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "gb18030", "shift_jis", "cp1251"])
def test_text_of_any_encoding_is_read(extractor: LimitedExtractor, encoding: str) -> None:
    """The encoding is detected from the bytes."""
    sentences = {
        "gb18030": "每位员工每年享有十五天带薪年假，病假需要医生证明。请在系统里提前两周申请。",
        "shift_jis": "従業員は毎年十五日の有給休暇を取得できます。病気休暇には診断書が必要です。",
        "cp1251": "Каждому сотруднику полагается отпуск. Больничный лист подписывает врач поликлиники.",
    }
    sentence = sentences.get(encoding, "Jeder bekommt fünfzehn Tage Urlaub, 每年十五天。")
    content = sentence.encode(encoding)
    if encoding == "utf-16-be":
        content = b"\xfe\xff" + content
    assert sentence in text(read(extractor, "a.txt", content))


def test_plain_text_shows_its_headings(extractor: LimitedExtractor) -> None:
    """Underlined, numbered and capital lines are headings."""
    content = "Guide\n=====\n\nHello there.\n\n2.1 Setting up\n\nPlug it in.\n\nSAFETY\n\nWear gloves.\n\n"
    content += "第三章 附录\n\n完。\n"
    assert headings(read(extractor, "a.txt", content.encode())) == [
        ("Guide", 1, "L1"),
        ("2.1 Setting up", 2, "L6"),
        ("SAFETY", 1, "L10"),
        ("第三章 附录", 1, "L14"),
    ]


def test_html_leaves_scripts_and_navigation_out(extractor: LimitedExtractor) -> None:
    """The body's headings, paragraphs and tables come out; what is no text does not."""
    content = (
        b"<html><head><title>Rules</title><script>evil()</script></head><body><nav>Home</nav><h2>Rest <b>areas</b></h2>"
        b"<div>Smoking is <em>not</em> allowed.<br>Anywhere.</div><table><tr><th>Day</th><th>Who</th></tr>"
        b"<tr><td>Mon</td><td>Priya</td></tr></table><pre>x = 1\n  y</pre></body></html>"
    )
    found = read(extractor, "a.html", content)
    assert (found.title, headings(found)) == ("Rules", [("Rest areas", 2, "")])
    assert [one.text for one in found.segments[1:]] == [
        "Smoking is not allowed. Anywhere.",
        "Day | Who\nMon | Priya",
        "x = 1\n  y",
    ]


def test_pdf_bookmarks_are_headings_with_their_page(extractor: LimitedExtractor, pdf: Callable[..., bytes]) -> None:
    """Text comes page by page, bookmarks stand before their text, the place is the page."""
    content = pdf(
        ["Introduction\nThis manual is about boilers.", "Cleaning\nUse vinegar once a month."],
        [("Introduction", 0, 0), ("Cleaning", 1, 1)],
        title="Boiler manual",
    )
    found = read(extractor, "a.pdf", content)
    assert found.title == "Boiler manual"
    assert headings(found) == [("Introduction", 1, "page=1"), ("Cleaning", 2, "page=2")]
    assert [one.text for one in found.segments if one.kind is SegmentKind.PARAGRAPH] == [
        "This manual is about boilers.",
        "Use vinegar once a month.",
    ]


def test_a_page_without_text_is_reported(extractor: LimitedExtractor, pdf: Callable[..., bytes]) -> None:
    """What could not be carried over is named, not dropped in silence."""
    found = read(extractor, "a.pdf", pdf(["Some text.", "", "More text."]))
    assert found.warnings == ("1 of 3 pages hold no text, perhaps scans: 2.",)


def test_word_gives_headings_lists_and_tables(extractor: LimitedExtractor, word: bytes) -> None:
    """Heading styles are headings with their level, in reading order with the rest."""
    found = read(extractor, "a.docx", word)
    assert (found.title, headings(found)) == ("Travel rules", [("Trains", 1, ""), ("First class", 2, "")])
    assert found.segments[3].kind is SegmentKind.LIST_ITEM
    assert found.segments[4].text == "City | Limit\nOslo | 180"


def test_slides_give_titles_bodies_and_notes(extractor: LimitedExtractor, slides: bytes) -> None:
    """A slide's title is a heading and its number the place; speaker notes are text."""
    found = read(extractor, "a.pptx", slides)
    assert headings(found) == [("Roadmap", 1, "slide=1"), ("Risks", 1, "slide=2")]
    assert "Ask Priya." in text(found)


def test_a_sheet_repeats_its_header_in_each_group_of_rows(extractor: LimitedExtractor, sheet: bytes) -> None:
    """Every group of rows starts with the header row and names its rows."""
    found = read(extractor, "a.xlsx", sheet)
    tables = [one for one in found.segments if one.kind is SegmentKind.TABLE]
    assert headings(found) == [("Prices", 1, "sheet=Prices")]
    assert [one.place for one in tables] == [f"sheet=Prices&rows={rows}" for rows in ("2-26", "27-51", "52-61")]
    assert all(one.text.startswith("Part | Price\n") for one in tables)
    assert tables[2].text.endswith("bolt-60 | 180")


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_table_of_values_is_read_with_its_separator(extractor: LimitedExtractor, separator: str) -> None:
    """Commas, semicolons and tabs are told apart."""
    content = "\n".join(separator.join(row) for row in (["City", "Limit"], ["Oslo", "180"], ["Rome", "140"]))
    assert read(extractor, "a.csv", content.encode()).segments[0].text == "City | Limit\nOslo | 180\nRome | 140"


def test_a_book_is_read_in_the_order_of_its_spine(extractor: LimitedExtractor, book: bytes) -> None:
    """Chapters come in reading order; the chapter's file is the place."""
    found = read(extractor, "a.epub", book)
    assert found.title == "Field guide"
    assert headings(found) == [("Birds", 1, "chapter=one.xhtml"), ("Trees", 1, "chapter=two.xhtml")]


def test_open_document_text_is_read(extractor: LimitedExtractor, open_text: bytes) -> None:
    """Headings keep their outline level; spans join their paragraph."""
    found = read(extractor, "a.odt", open_text)
    assert headings(found) == [("Kitchen", 2, "")]
    assert [one.text for one in found.segments[1:]] == ["The kettle is shared.", "Day | Who"]


def test_rich_text_is_read(extractor: LimitedExtractor) -> None:
    """RTF gives its paragraphs."""
    found = read(extractor, "a.rtf", rb"{\rtf1\ansi{\b Coffee} is in the\par kitchen, caf\'e9 upstairs.}")
    assert text(found) == "Coffee is in the\nkitchen, café upstairs."


def test_source_code_is_read_under_its_definitions(extractor: LimitedExtractor) -> None:
    """Top-level definitions are the headings of source code, with their line."""
    found = read(extractor, "a.py", b"import os\n\ndef tidy(x):\n    return x\n\nclass Kettle:\n    hot = True\n")
    assert headings(found) == [("def tidy", 1, "L3"), ("class Kettle", 1, "L6")]


@pytest.mark.parametrize(
    ("name", "kind", "pages"),
    [("a.pptx", "slides", 2), ("a.xlsx", "sheet", 1), ("a.epub", "book", 2), ("a.docx", "word", 0)],
)
def test_slides_sheets_and_chapters_are_counted(
    extractor: LimitedExtractor, request: pytest.FixtureRequest, name: str, kind: str, pages: int
) -> None:
    """The count is the file's own; a kind without pages has none."""
    assert read(extractor, name, request.getfixturevalue(kind)).pages == pages


def test_every_page_of_a_pdf_counts_also_one_without_text(
    extractor: LimitedExtractor, pdf: Callable[..., bytes]
) -> None:
    """A scanned page at the end is a page all the same."""
    assert read(extractor, "a.pdf", pdf(["One.", "Two.", ""])).pages == 3
