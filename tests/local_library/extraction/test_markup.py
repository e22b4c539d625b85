"""HTML, EPUB, OpenDocument and slides beyond the plain ones."""

from collections.abc import Callable

import pytest

from local_library import DocumentRejected
from local_library.extraction.limited import LimitedExtractor
from local_library.records import ExtractedText, SegmentKind

Zipped = Callable[[dict[str, str | bytes]], bytes]


def read(extractor: LimitedExtractor, name: str, content: bytes) -> ExtractedText:
    return extractor.extract(name, content, "hash")[0]


def texts(extracted: ExtractedText) -> list[str]:
    return [one.text for one in extracted.segments]


def test_cells_across_rows_and_columns_keep_a_page_readable(extractor: LimitedExtractor) -> None:
    """A caption is text, two header rows become one, a cell over rows is repeated."""
    page = "<table><caption>Limits</caption><thead><tr><th rowspan=2>City<th colspan=2>2024<tr><th>Q1<th>Q2</thead>"
    page += "<tr><td rowspan=3>Oslo<td>1<td>2<tr><td>3<td>4<tr><td>7<td>8<tr><td>Rome<td>5<td>6</table>"
    assert texts(read(extractor, "a.html", page.encode())) == [
        "Limits",
        "City | 2024 Q1 | Q2\nOslo | 1 | 2\nOslo | 3 | 4\nOslo | 7 | 8\nRome | 5 | 6",
    ]


def test_a_page_within_a_form_is_read(extractor: LimitedExtractor) -> None:
    """Many programs wrap the whole page in a form; its buttons and choices are no text."""
    page = b"<form><h1>Kettle</h1><p>Descale it.</p><button>Go</button><select><option>x</select></form>"
    assert texts(read(extractor, "a.html", page)) == ["Kettle", "Descale it."]


def test_hidden_parts_of_a_page_are_left_out_and_said(extractor: LimitedExtractor) -> None:
    """What a reader of the page cannot see is not told either."""
    page = b"<p>Seen</p><p hidden>one</p><div style='color:red; DISPLAY : none'>two</div><p>Also seen</p>"
    found = read(extractor, "a.html", page)
    assert texts(found) == ["Seen", "Also seen"]
    assert found.warnings == ("Hidden text was left out.",)


def test_a_page_is_read_in_the_encoding_it_declares(extractor: LimitedExtractor) -> None:
    """Where the bytes are no UTF-8, the declaration is believed; where they are, the bytes."""
    page = "<html><head><meta charset='{}'><title>Отпуск</title></head><body><p>Ёж</p></body></html>"
    assert texts(read(extractor, "a.html", page.format("windows-1251").encode("cp1251"))) == ["Ёж"]
    assert texts(read(extractor, "a.html", page.format("windows-1251").encode("utf-8"))) == ["Ёж"]


def test_a_long_row_of_a_page_is_not_squeezed_into_a_table(extractor: LimitedExtractor) -> None:
    """A table that lays out the page gives its paragraphs."""
    page = f"<table><tr><td><p>Left.</p><p>{'long ' * 300}</p></td><td>Right.</td></tr></table>"
    assert [one.kind for one in read(extractor, "a.html", page.encode()).segments] == [SegmentKind.PARAGRAPH] * 3


def book(zipped: Zipped, items: str, chapters: dict[str, str]) -> bytes:
    container = "urn:oasis:names:tc:opendocument:xmlns:container"
    spine = "".join(f"<itemref idref='c{number}'/>" for number in range(len(chapters)))
    own = "".join(f"<item id='c{number}' href='{name}'/>" for number, name in enumerate(chapters))
    return zipped(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": f"<container xmlns='{container}'><rootfiles><rootfile full-path='b/p.opf'/>"
            "</rootfiles></container>",
            "b/p.opf": f"<package xmlns='http://www.idpf.org/2007/opf'><manifest>{own}{items}</manifest>"
            f"<spine>{spine}</spine></package>",
            **{f"b/{name}": f"<html><body>{text}</body></html>" for name, text in chapters.items()},
            "b/nav.xhtml": "<html xmlns='http://www.w3.org/1999/xhtml'><nav><a href='one%20a.xhtml#x'>Birds</a>"
            "<a href='two.xhtml'>Not this</a></nav></html>",
            "b/toc.ncx": "<ncx xmlns='http://www.daisy.org/z3986/2005/ncx/'><navPoint><navLabel><text>Birds</text>"
            "</navLabel><content src='one%20a.xhtml'/></navPoint></ncx>",
        }
    )


@pytest.mark.parametrize(
    "contents",
    [
        "<item id='n' href='nav.xhtml' properties='nav'/>",
        "<item href='toc.ncx' media-type='application/x-dtbncx+xml'/>",
    ],
)
def test_a_chapter_without_a_heading_has_the_name_that_the_contents_give_it(
    extractor: LimitedExtractor, zipped: Zipped, contents: str
) -> None:
    """Old and new tables of contents alike; a chapter with headings of its own keeps those."""
    found = read(
        extractor, "a.epub", book(zipped, contents, {"one a.xhtml": "Dippers.", "two.xhtml": "<h2>Trees</h2>"})
    )
    headings = [(one.text, one.place) for one in found.segments if one.kind is SegmentKind.HEADING]
    assert headings == [("Birds", "chapter=one a.xhtml"), ("Trees", "chapter=two.xhtml")]


def test_a_book_without_contents_is_read(extractor: LimitedExtractor, zipped: Zipped) -> None:
    """A missing chapter is reported, the others are read."""
    found = read(extractor, "a.epub", book(zipped, "<item id='c1' href='gone.xhtml'/>", {"one.xhtml": "Dippers."}))
    assert texts(found) == ["Dippers."]


NAMES = " ".join(
    f"xmlns:{name}='urn:oasis:names:tc:opendocument:xmlns:{name}:1.0'" for name in ("office", "text", "table", "draw")
)


def open_text(zipped: Zipped, body: str, manifest: str = "") -> bytes:
    return zipped(
        {
            "mimetype": "application/vnd.oasis.opendocument.text",
            "META-INF/manifest.xml": f"<manifest>{manifest}</manifest>",
            "content.xml": f"<office:document-content {NAMES}><office:body><office:text>{body}</office:text>"
            "</office:body></office:document-content>",
        }
    )


def test_notes_frames_and_lists_of_open_documents_are_read(extractor: LimitedExtractor, zipped: Zipped) -> None:
    """A note and a text frame follow their paragraph; a list in a list is a list."""
    body = "<text:p>Prices<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>As of May."
    body += "</text:p></text:note-body></text:note> rose.<draw:frame><draw:text-box><text:p>Framed.</text:p>"
    body += "</draw:text-box></draw:frame></text:p><text:list><text:list-item><text:p>a</text:p><text:list>"
    body += "<text:list-item><text:p>b</text:p></text:list-item></text:list></text:list-item></text:list>"
    found = read(extractor, "a.odt", open_text(zipped, body))
    assert texts(found) == ["Prices rose.", "As of May.", "Framed.", "a", "b"]
    assert [one.kind for one in found.segments[3:]] == [SegmentKind.LIST_ITEM] * 2


def test_tables_of_open_documents_keep_columns(extractor: LimitedExtractor, zipped: Zipped) -> None:
    """Repeated and covered cells keep their place; header rows become one."""
    cell = "<table:table-cell><text:p>{}</text:p></table:table-cell>"
    wide = "<table:table-cell table:number-columns-repeated='2'><text:p>2024</text:p></table:table-cell>"
    rows = f"<table:table-header-rows><table:table-row>{cell.format('City')}{wide}</table:table-row><table:table-row>"
    rows += f"<table:covered-table-cell/>{cell.format('Q1')}{cell.format('Q2')}</table:table-row>"
    rows += f"</table:table-header-rows><table:table-row>{''.join(map(cell.format, ('Oslo', 1, 2)))}</table:table-row>"
    found = read(extractor, "a.odt", open_text(zipped, f"<table:table>{rows}</table:table>"))
    assert texts(found) == ["City | 2024 Q1 | 2024 Q2\nOslo | 1 | 2"]


def test_an_open_document_with_a_password_says_so(extractor: LimitedExtractor, zipped: Zipped) -> None:
    """Its parts are encrypted one by one, so that its text would be noise."""
    content = open_text(zipped, "<text:p>x</text:p>", "<file-entry><encryption-data/></file-entry>")
    with pytest.raises(DocumentRejected) as caught:
        read(extractor, "a.odt", content)
    assert caught.value.reason_code == "encrypted"


def slide(*shapes: str) -> str:
    namespaces = "xmlns:p='http://schemas.openxmlformats.org/presentationml/2006/main' "
    namespaces += "xmlns:a='http://schemas.openxmlformats.org/drawingml/2006/main'"
    return f"<p:sld {namespaces}><p:cSld><p:spTree>{''.join(shapes)}</p:spTree></p:cSld></p:sld>"


def shape(text: str, holds: str = "") -> str:
    place = f"<p:nvSpPr><p:nvPr><p:ph type='{holds}'/></p:nvPr></p:nvSpPr>" if holds else ""
    return f"<p:sp>{place}<p:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"


def test_slides_come_in_the_order_they_are_shown(extractor: LimitedExtractor, zipped: Zipped) -> None:
    """By the list of slides, not by file name; an untitled slide is known by its first line, a broken one reported."""
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    relations = "".join(f"<Relationship Id='r{n}' Type='{kind}/slide' Target='slides/s{n}.xml'/>" for n in (1, 2, 3))
    listed = "".join(f"<p:sldId id='25{n}' r:id='r{n}'/>" for n in (2, 3, 1))
    table = "<p:graphicFrame><a:graphic><a:graphicData><a:tbl><a:tr><a:tc><a:p><a:r><a:t>Day</a:t></a:r></a:p></a:tc>"
    table += (
        "<a:tc><a:p><a:r><a:t>Who</a:t></a:r></a:p></a:tc></a:tr></a:tbl></a:graphicData></a:graphic></p:graphicFrame>"
    )
    parts: dict[str, str | bytes] = {
        "ppt/presentation.xml": f"<p:presentation xmlns:p='urn:p' xmlns:r='{kind}'><p:sldIdLst>{listed}</p:sldIdLst>"
        "</p:presentation>",
        "ppt/_rels/presentation.xml.rels": f"<Relationships>{relations}</Relationships>",
        "ppt/slides/s1.xml": slide(shape("Body."), shape("Risks", "title"), shape("7", "sldNum")),
        "ppt/slides/s2.xml": slide(shape("First line"), f"<p:grpSp>{shape('Grouped.')}</p:grpSp>", table),
        "ppt/slides/s3.xml": b"",
    }
    found = read(extractor, "a.pptx", zipped(parts))
    assert [(one.text, one.place) for one in found.segments] == [
        ("First line", "slide=1"),
        ("Grouped.", "slide=1"),
        ("Day | Who", "slide=1"),
        ("Risks", "slide=3"),
        ("Body.", "slide=3"),
    ]
    assert found.warnings == ("Slide 2 is missing or damaged.",)
