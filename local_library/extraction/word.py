"""Word documents: headings by their style, paragraphs, list items and tables in reading order."""

import io
import re

import docx
from docx.document import Document
from docx.table import Table
from docx.text.paragraph import Paragraph

from ..records import SegmentKind
from .archive import checked_zip
from .segments import SegmentWriter

EXTRACTOR_ID = "docx-1"
_HEADING_STYLE = re.compile(r"^(?:heading|überschrift|titre|título|标题|標題|rubrik|kop)\s*(\d)$", re.IGNORECASE)


def extract_word(content: bytes, writer: SegmentWriter) -> None:
    """Write the segments of a .docx file; pictures are named as left out."""
    archive = checked_zip(content)
    document = docx.Document(io.BytesIO(content))
    writer.title = (document.core_properties.title or "").strip()
    _write_body(document, writer)
    if any(name.startswith("word/media/") for name in archive.namelist()):
        writer.warn("Pictures were left out.")
    if "word/footnotes.xml" in archive.namelist():
        writer.warn("Footnotes were left out.")


def _write_body(document: Document, writer: SegmentWriter) -> None:
    for block in document.iter_inner_content():
        if isinstance(block, Table):
            writer.add(SegmentKind.TABLE, _rows(block))
        elif isinstance(block, Paragraph):
            _write_paragraph(block, writer)


def _write_paragraph(paragraph: Paragraph, writer: SegmentWriter) -> None:
    style = (paragraph.style.name or "") if paragraph.style is not None else ""
    heading = _HEADING_STYLE.match(style)
    if heading:
        writer.heading(paragraph.text, int(heading.group(1)))
    elif style in ("Title", "Titel", "Titre"):
        writer.title = writer.title or paragraph.text.strip()
        writer.heading(paragraph.text, 1)
    elif level := _outline_level(paragraph):
        writer.heading(paragraph.text, level)
    else:
        kind = SegmentKind.LIST_ITEM if "list" in style.lower() else SegmentKind.PARAGRAPH
        writer.add(kind, paragraph.text)


def _outline_level(paragraph: Paragraph) -> int:
    levels = paragraph._p.xpath("./w:pPr/w:outlineLvl/@w:val")
    return int(levels[0]) + 1 if levels and str(levels[0]).isdigit() and int(levels[0]) < 9 else 0


def _rows(table: Table) -> str:
    rows = []
    for row in table.rows:
        cells: list[str] = []
        seen: set[int] = set()
        for cell in row.cells:
            if id(cell._tc) not in seen:
                seen.add(id(cell._tc))
                cells.append(" ".join(cell.text.split()))
        if any(cells):
            rows.append(" | ".join(cells))
    return "\n".join(rows)


__all__ = ["EXTRACTOR_ID", "extract_word"]
