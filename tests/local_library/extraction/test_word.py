"""Word documents beyond the plain ones: styles, notes, tracked changes, text boxes, tables of every shape."""

from collections.abc import Callable

import pytest

from local_library.extraction.limited import LimitedExtractor
from local_library.records import ExtractedText, SegmentKind

MAIN = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
STRICT = "http://purl.oclc.org/ooxml/wordprocessingml/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"

Written = Callable[..., ExtractedText]


@pytest.fixture
def written(extractor: LimitedExtractor, zipped: Callable[[dict[str, str | bytes]], bytes]) -> Written:
    """Makes and reads a .docx of the given body, styles and notes, in WordprocessingML without prefixes."""

    def read(body: str, *, styles: str = "", footnotes: str = "", namespace: str = MAIN) -> ExtractedText:
        parts: dict[str, str | bytes] = {
            "word/document.xml": f"<document xmlns='{namespace}'><body>{body}</body></document>",
            "word/styles.xml": f"<styles xmlns='{namespace}'>{styles}</styles>",
            "word/footnotes.xml": f"<footnotes xmlns='{namespace}'>{footnotes}</footnotes>",
            "word/_rels/document.xml.rels": "<Relationships>"
            f"<Relationship Id='r1' Type='{RELATIONS}/styles' Target='styles.xml'/></Relationships>",
        }
        return extractor.extract("a.docx", zipped(parts), "hash")[0]

    return read


def paragraph(text: str, settings: str = "") -> str:
    return f"<p><pPr>{settings}</pPr><r><t>{text}</t></r></p>"


def texts(extracted: ExtractedText) -> list[str]:
    return [one.text for one in extracted.segments]


def headings(extracted: ExtractedText) -> list[tuple[str, int]]:
    return [(one.text, one.level) for one in extracted.segments if one.kind is SegmentKind.HEADING]


def style(style_id: str, name: str, below: str = "", settings: str = "") -> str:
    based = f"<basedOn val='{below}'/>" if below else ""
    return f"<style styleId='{style_id}'><name val='{name}'/>{based}<pPr>{settings}</pPr></style>"


def test_a_style_of_ones_own_is_a_heading_when_it_is_based_on_one(written: Written) -> None:
    """Levels come from the named style, a style below it, an outline level of style or paragraph; level 9 is text."""
    styles = style("H2", "heading 2") + style("Ours", "Our section", "H2") + style("Deep", "Deep", "Ours")
    styles += style("Out", "Chapter", settings="<outlineLvl val='0'/>") + style("Loop", "Loop", "Loop")
    body = paragraph("One", "<pStyle val='Out'/>") + paragraph("Two", "<pStyle val='Deep'/>")
    body += paragraph("Three", "<outlineLvl val='2'/>") + paragraph("No", "<pStyle val='H2'/><outlineLvl val='9'/>")
    body += paragraph("Nor this", "<pStyle val='Loop'/>")
    found = written(body, styles=styles)
    assert headings(found) == [("One", 1), ("Two", 2), ("Three", 3)]
    assert texts(found)[-2:] == ["No", "Nor this"]


def test_a_footnote_follows_its_paragraph(written: Written) -> None:
    """Notes are text of the document; the separator between page and notes is none."""
    notes = "<footnote type='separator' id='-1'><p><r><t>---</t></r></p></footnote>"
    notes += "<footnote id='2'><p><r><t>As of May.</t></r></p></footnote>"
    found = written(
        "<p><r><t>Prices rose.</t></r><r><footnoteReference id='2'/></r></p>" + paragraph("End."), footnotes=notes
    )
    assert texts(found) == ["Prices rose.", "As of May.", "End."]


def test_what_was_inserted_is_read_and_what_was_deleted_is_not(written: Written) -> None:
    """Tracked changes are read as if accepted; hidden text is left out and reported."""
    body = "<p><r><t>Pay </t></r><ins><r><t>ten</t></r></ins><del><r><delText>five</delText></r></del>"
    body += "<r><rPr><vanish/></rPr><t>secret</t></r><r><rPr><vanish val='0'/></rPr><t> euros.</t></r></p>"
    found = written(body)
    assert texts(found) == ["Pay ten euros."]
    assert found.warnings == ("Hidden text was left out.",)


def test_text_boxes_and_content_controls_are_read_once(written: Written) -> None:
    """A text box is stored twice, for new and old programs; the text is written once, after its paragraph."""
    box = f"<txbxContent>{paragraph('In the box.')}</txbxContent>"
    mark = "xmlns:mc='http://schemas.openxmlformats.org/markup-compatibility/2006'"
    drawing = f"<mc:AlternateContent {mark}><mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback>"
    body = f"<p><r><t>Beside.</t>{drawing}</mc:AlternateContent></r></p>"
    body += f"<sdt><sdtContent>{paragraph('Chosen.')}</sdtContent></sdt>"
    assert texts(written(body)) == ["Beside.", "In the box.", "Chosen."]


def row(*cells: str, settings: str = "") -> str:
    return f"<tr><trPr>{settings}</trPr>{''.join(cells)}</tr>"


def cell(text: str, settings: str = "") -> str:
    return f"<tc><tcPr>{settings}</tcPr>{paragraph(text)}</tc>"


def test_merged_cells_keep_rows_readable(written: Written) -> None:
    """A cell over rows is repeated, one over columns keeps the columns after it, header rows become one."""
    head = "<tblHeader/>"
    across = "<gridSpan val='2'/>"
    body = row(cell("Part"), cell("2024", across), settings=head)
    body += row(cell(""), cell("Q1"), cell("Q2"), settings=head)
    body += row(cell("bolt", "<vMerge val='restart'/>"), cell("1"), cell("2"))
    body += row(cell("", "<vMerge/>"), cell("3"), cell("4"))
    assert texts(written(f"<tbl>{body}</tbl>")) == ["Part | 2024 Q1 | Q2\nbolt | 1 | 2\nbolt | 3 | 4"]


def test_a_table_that_lays_out_a_page_is_read_as_text(written: Written) -> None:
    """Headings within cells stay headings, and a long cell is not squeezed into a row."""
    styles = style("H1", "heading 1")
    inside = (
        f"<tc>{paragraph('Left', chr(60) + 'pStyle val=' + chr(39) + 'H1' + chr(39) + '/>')}{paragraph('Text.')}</tc>"
    )
    found = written(f"<tbl>{row(inside, cell('Right.'))}</tbl>", styles=styles)
    assert headings(found) == [("Left", 1)]
    assert texts(found) == ["Left", "Text.", "Right."]


def test_a_document_of_the_strict_variant_is_read(written: Written) -> None:
    """Other namespaces for the same elements change nothing."""
    assert texts(written(paragraph("Strictly."), namespace=STRICT)) == ["Strictly."]


def test_lists_come_from_numbering_and_contents_are_left_out(written: Written) -> None:
    """A numbered paragraph is a list item; the entries of a table of contents repeat headings and are reported."""
    body = paragraph("Kettle", "<numPr><numId val='3'/></numPr>") + paragraph("Intro 1", "<pStyle val='T'/>")
    found = written(body, styles=style("T", "toc 1"))
    assert [(one.kind, one.text) for one in found.segments] == [(SegmentKind.LIST_ITEM, "Kettle")]
    assert found.warnings == ("The table of contents was left out.",)
