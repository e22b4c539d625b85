"""RTF by its grammar: code pages, styles, notes, tables, what people do not see, and files that end too soon."""

import pytest

from local_library.extraction.limited import LimitedExtractor
from local_library.records import ExtractedText, SegmentKind


def read(extractor: LimitedExtractor, markup: bytes) -> ExtractedText:
    return extractor.extract("a.rtf", rb"{\rtf1\ansi " + markup + b"}", "hash")[0]


def texts(extracted: ExtractedText) -> list[str]:
    return [one.text for one in extracted.segments]


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        (rb"\ansicpg1251 \'cf\'f0\'e8\'e2\'e5\'f2", "Привет"),
        (rb"{\fonttbl{\f0\fcharset0 A;}{\f1\fcharset128 M;}}\f1 \'93\'fa\'96\'7b\f0  caf\'e9", "日本 café"),
        (rb"{\fonttbl{\f0\fcharset238 A;}}\f0 \'e8esk\'fd", "český"),
        (rb"\uc1\u20320?\u22909?", "你好"),
        (rb"\uc2\u233\'c3\'a9 x", "é x"),
        (rb"\u-10179?\u-8704?", "😀"),
        (rb"a\~b\_c\endash d\emdash e\ldblquote f\rdblquote ", "a b-c–d—e“f”"),
        (rb"a{\*\unknown gone}b\{c\}\\", "ab{c}\\"),
    ],
)
def test_characters_of_every_code_page_are_read(extractor: LimitedExtractor, markup: bytes, expected: str) -> None:
    """The document's code page, the font's character set, and Unicode with its replacement characters."""
    assert texts(read(extractor, markup)) == [expected]


def test_headings_come_from_styles_and_outline_levels(extractor: LimitedExtractor) -> None:
    """A style named heading, one based on it, and a paragraph's own outline level."""
    styles = rb"{\stylesheet{\s1 heading 1;}{\s2\sbasedon1 Ours;}{\s3 Body;}}"
    found = read(
        extractor,
        styles + rb"\pard\s1 One\par\pard\s2 Two\par\pard\s3 Text.\par\pard\outlinelevel2 Three\par",
    )
    assert [(one.text, one.level) for one in found.segments] == [("One", 1), ("Two", 1), ("Text.", 0), ("Three", 3)]


def test_a_table_has_a_line_for_each_row_and_a_note_follows(extractor: LimitedExtractor) -> None:
    """Cells and rows make a table; a footnote stands after the text that it belongs to."""
    rows = rb"\trowd\intbl City\cell Limit\cell\row\trowd\intbl Oslo\cell 180{\footnote In euros.}\cell\row"
    found = read(extractor, rows + rb"\pard After.\par")
    assert texts(found) == ["City | Limit\nOslo | 180", "In euros.", "After."]
    assert found.segments[0].kind is SegmentKind.TABLE


def test_what_people_do_not_see_is_left_out_and_said(extractor: LimitedExtractor) -> None:
    """Hidden text, comments, pictures and page headers are reported; list bullets mark list items."""
    found = read(
        extractor,
        rb"{\header Top}{\pict\bin4 {{{{}Seen{\v unseen}{\*\annotation ok}\par\pard{\listtext 1.}\ls1 Item\par",
    )
    assert [(one.kind, one.text) for one in found.segments] == [
        (SegmentKind.PARAGRAPH, "Seen"),
        (SegmentKind.LIST_ITEM, "Item"),
    ]
    assert found.warnings == (
        "Page headers and footers were left out.",
        "Pictures were left out.",
        "Hidden text was left out.",
        "Comments were left out.",
    )


def test_nested_groups_and_a_missing_end_lose_nothing_before_them(extractor: LimitedExtractor) -> None:
    """A hundred thousand groups do not crash the reader, and a file that was cut says so."""
    found = extractor.extract("a.rtf", rb"{\rtf1 First.\par " + b"{" * 100_000 + b"deep", "hash")[0]
    assert texts(found)[0] == "First."
    assert "Its end is missing; it was read as far as it goes." in found.warnings
    assert "Parts nested too deeply were left out." in found.warnings
