"""Documents of every kind, made on the spot, and libraries to put them into."""

import io
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import docx
import pptx
import pytest
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

from local_library import DomainLibrary, ReadingLimits
from local_library.extraction.limited import LimitedExtractor

Zipped = Callable[[dict[str, str | bytes]], bytes]


class SharedExtractor(LimitedExtractor):
    """The shipped extractor, whose processes outlive one library so that tests need not start them each time."""

    def close(self) -> None:
        """Keep the processes for the next library."""

    def end(self) -> None:
        """End the processes."""
        super().close()


@pytest.fixture(scope="session")
def shared_extractor() -> Iterator[SharedExtractor]:
    """One set of reading processes for all tests."""
    reader = SharedExtractor()
    yield reader
    reader.end()


@pytest.fixture
def library(tmp_path: Path, shared_extractor: SharedExtractor) -> Iterator[DomainLibrary]:
    """An empty library in a folder of its own."""
    with DomainLibrary(tmp_path / "store", extractor=shared_extractor) as opened:
        yield opened


@pytest.fixture(scope="module")
def extractor() -> Iterator[LimitedExtractor]:
    """The shipped extractor with small limits, so that bombs end soon."""
    limits = ReadingLimits(memory_bytes=400_000_000, cpu_seconds=8, wall_seconds=12, processes=1)
    reader = LimitedExtractor(limits)
    yield reader
    reader.close()


@pytest.fixture(scope="session")
def zipped() -> Zipped:
    """Makes a zip archive of named parts."""

    def make(parts: dict[str, str | bytes]) -> bytes:
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in parts.items():
                archive.writestr(name, content)
        return buffer.getvalue()

    return make


@pytest.fixture(scope="session")
def pdf() -> Callable[..., bytes]:
    """Makes a PDF: one text for each page, bookmarks as (title, page from 0, level from 0)."""

    def make(
        pages: list[str], bookmarks: list[tuple[str, int, int]] | None = None, *, title: str = "", password: str = ""
    ) -> bytes:
        buffer = io.BytesIO()
        canvas = Canvas(buffer, pagesize=A4, encrypt=password or None)
        canvas.setTitle(title)
        for number, text in enumerate(pages):
            for name, page, level in bookmarks or ():
                if page == number:
                    canvas.bookmarkPage(name)
                    canvas.addOutlineEntry(name, name, level)
            lines = canvas.beginText(72, 770)
            for line in text.split("\n"):
                lines.textLine(line)
            canvas.drawText(lines)
            canvas.showPage()
        canvas.save()
        return buffer.getvalue()

    return make


@pytest.fixture(scope="session")
def word() -> bytes:
    """A Word document with a title, two levels of headings, a list and a table."""
    document = docx.Document()
    document.core_properties.title = "Travel rules"
    document.add_heading("Trains", level=1)
    document.add_paragraph("Trains are preferred to planes on every trip below eight hours.")
    document.add_heading("First class", level=2)
    document.add_paragraph("Only above four hours.", style="List Bullet")
    table = document.add_table(rows=2, cols=2)
    for cell, text in zip((*table.rows[0].cells, *table.rows[1].cells), ("City", "Limit", "Oslo", "180"), strict=True):
        cell.text = text
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


@pytest.fixture(scope="session")
def slides() -> bytes:
    """A presentation of two slides, with notes on the second."""
    presentation = pptx.Presentation()
    for title, body, notes in (("Roadmap", "Ship the parser in May.", ""), ("Risks", "Two vendors.", "Ask Priya.")):
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        assert slide.shapes.title is not None
        slide.shapes.title.text = title
        slide.placeholders[1].text_frame.text = body
        if notes:
            assert slide.notes_slide.notes_text_frame is not None
            slide.notes_slide.notes_text_frame.text = notes
    buffer = io.BytesIO()
    presentation.save(buffer)
    return buffer.getvalue()


@pytest.fixture(scope="session")
def sheet(zipped: Zipped) -> bytes:
    """A workbook with one sheet of a header and sixty rows."""
    rows = [("Part", "Price")] + [(f"bolt-{number}", str(number * 3)) for number in range(1, 61)]
    cells = "".join(
        f"<row r='{line}'>"
        + "".join(
            f"<c r='{column}{line}' t='inlineStr'><is><t>{text}</t></is></c>"
            for column, text in zip("AB", row, strict=True)
        )
        + "</row>"
        for line, row in enumerate(rows, start=1)
    )
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    return zipped(
        {
            "[Content_Types].xml": f"<Types xmlns='{package}/content-types'><Default Extension='xml' "
            "ContentType='application/xml'/></Types>",
            "_rels/.rels": f"<Relationships xmlns='{package}/relationships'><Relationship Id='r1' "
            f"Type='{relations}/officeDocument' Target='xl/workbook.xml'/></Relationships>",
            "xl/workbook.xml": f"<workbook xmlns='{main}' xmlns:r='{relations}'><sheets>"
            "<sheet name='Prices' sheetId='1' r:id='r1'/></sheets></workbook>",
            "xl/_rels/workbook.xml.rels": f"<Relationships xmlns='{package}/relationships'><Relationship Id='r1' "
            f"Type='{relations}/worksheet' Target='worksheets/sheet1.xml'/></Relationships>",
            "xl/worksheets/sheet1.xml": f"<worksheet xmlns='{main}'><sheetData>{cells}</sheetData></worksheet>",
        }
    )


@pytest.fixture(scope="session")
def book(zipped: Zipped) -> bytes:
    """An EPUB of two chapters."""
    chapter = "<html><body><h1>{0}</h1><p>{1}</p></body></html>"
    return zipped(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": "<container xmlns='urn:oasis:names:tc:opendocument:xmlns:container'><rootfiles>"
            "<rootfile full-path='OEBPS/book.opf'/></rootfiles></container>",
            "OEBPS/book.opf": "<package xmlns='http://www.idpf.org/2007/opf' "
            "xmlns:dc='http://purl.org/dc/elements/1.1/'><metadata><dc:title>Field guide</dc:title></metadata>"
            "<manifest><item id='b' href='two.xhtml'/><item id='a' href='one.xhtml'/></manifest>"
            "<spine><itemref idref='a'/><itemref idref='b'/></spine></package>",
            "OEBPS/one.xhtml": chapter.format("Birds", "The dipper walks under water."),
            "OEBPS/two.xhtml": chapter.format("Trees", "Birch bark burns when wet."),
        }
    )


@pytest.fixture(scope="session")
def open_text(zipped: Zipped) -> bytes:
    """An OpenDocument text with a heading, a paragraph and a table."""
    names = " ".join(
        f"xmlns:{name}='urn:oasis:names:tc:opendocument:xmlns:{name}:1.0'" for name in ("office", "text", "table")
    )
    return zipped(
        {
            "mimetype": "application/vnd.oasis.opendocument.text",
            "META-INF/manifest.xml": "<manifest/>",
            "content.xml": f"<office:document-content {names}><office:body><office:text>"
            "<text:h text:outline-level='2'>Kitchen</text:h>"
            "<text:p>The <text:span>kettle</text:span> is shared.</text:p>"
            "<table:table><table:table-row><table:table-cell><text:p>Day</text:p></table:table-cell>"
            "<table:table-cell><text:p>Who</text:p></table:table-cell></table:table-row></table:table>"
            "</office:text></office:body></office:document-content>",
        }
    )
