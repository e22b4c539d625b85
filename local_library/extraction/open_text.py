"""OpenDocument text: headings with their level, paragraphs, notes, list items and tables in reading order."""

from collections.abc import Iterator
from typing import Any

from ..records import SegmentKind
from .archive import checked_zip
from .markup import safe_xml
from .office import attribute, elements, local
from .outcome import Unreadable
from .segments import SegmentWriter
from .tables import LONGEST_CELL, table_text

EXTRACTOR_ID = "odt-2"
_TITLE = "{http://purl.org/dc/elements/1.1/}title"
_DEEPEST = 60
_MOST_REPEATS = 64
_SKIPPED = {
    "annotation": "Comments were left out.",
    "hidden-text": "Hidden text was left out.",
    "hidden-paragraph": "Hidden text was left out.",
    "image": "Pictures were left out.",
    "object": "Formulas and embedded objects were left out.",
    "table-of-content": "The table of contents was left out.",
    "tracked-changes": "",
    "sequence-decls": "",
    "note-citation": "",
    "desc": "",
    "title": "",
}


def extract_open_text(content: bytes, writer: SegmentWriter) -> None:
    """Write the segments of an .odt file; what is left out is named."""
    archive = checked_zip(content)
    try:
        body = safe_xml(archive.read("content.xml"))
    except KeyError as error:
        raise Unreadable("damaged", "lacks its text part", "Save it again from its program") from error
    if "meta.xml" in archive.namelist():
        writer.title = (safe_xml(archive.read("meta.xml")).findtext(f".//{_TITLE}") or "").strip()
    text = next(body.iter("{*}text"), None)
    if text is not None:
        _Reading(writer, _title_styles(body)).blocks(text, 0, in_list=False)


class _Reading:
    """Walks the body; notes and text frames follow the paragraph that they hang on."""

    def __init__(self, writer: SegmentWriter, title_styles: frozenset[str]) -> None:
        self._writer = writer
        self._title_styles = title_styles

    def blocks(self, parent: Any, depth: int, *, in_list: bool) -> None:
        if depth > _DEEPEST:
            self._writer.warn("Parts nested too deeply were left out.")
            return
        for block in elements(parent):
            name = local(block)
            if self._is_left_out(block, name):
                continue
            if name in ("h", "p"):
                self._paragraph(block, depth, in_list=in_list)
            elif name == "table":
                self._table(block, depth)
            else:
                self.blocks(block, depth + 1, in_list=in_list or name == "list")

    def _paragraph(self, paragraph: Any, depth: int, *, in_list: bool) -> None:
        hanging: list[Any] = []
        text = "".join(self._texts(paragraph, hanging, 0))
        if local(paragraph) == "h":
            self._writer.heading(text, _level(paragraph))
        elif attribute(paragraph, "style-name") in self._title_styles:
            self._writer.title = self._writer.title or " ".join(text.split())
            self._writer.heading(text, 1)
        else:
            self._writer.add(SegmentKind.LIST_ITEM if in_list else SegmentKind.PARAGRAPH, text)
        for part in hanging:
            self.blocks(part, depth + 1, in_list=False)

    def _texts(self, node: Any, hanging: list[Any], depth: int) -> Iterator[str]:
        yield node.text or ""
        for part in node:
            name = local(part) if isinstance(part.tag, str) else ""
            if name == "s":
                yield " " * min(int(attribute(part, "c", "1") or 1), _MOST_REPEATS)
            elif name in ("tab", "line-break"):
                yield " " if name == "tab" else "\n"
            elif name in ("note-body", "text-box"):
                hanging.append(part)
            elif name and depth < _DEEPEST and not self._is_left_out(part, name):
                yield from self._texts(part, hanging, depth + 1)
            yield part.tail or ""

    def _is_left_out(self, part: Any, name: str) -> bool:
        if name == "section" and attribute(part, "display") == "none":
            self._writer.warn("Hidden text was left out.")
            return True
        if _SKIPPED.get(name):
            self._writer.warn(_SKIPPED[name])
        return name in _SKIPPED

    def _table(self, table: Any, depth: int) -> None:
        if _is_layout(table):
            for cell in (cell for row, _ in _rows(table) for cell in elements(row)):
                self.blocks(cell, depth + 1, in_list=False)
            return
        hanging: list[Any] = []
        found = [(self._cells(row, hanging), is_header) for row, is_header in _rows(table)]
        headers = sum(is_header for _, is_header in found)
        self._writer.add(SegmentKind.TABLE, table_text([cells for cells, _ in found], max(1, headers)))
        for part in hanging:
            self.blocks(part, depth + 1, in_list=False)

    def _cells(self, row: Any, hanging: list[Any]) -> list[str]:
        cells: list[str] = []
        for cell in elements(row):
            text = " ".join("".join(self._texts(one, hanging, 0)) for one in cell.iter("{*}p"))
            repeated = attribute(cell, "number-columns-repeated", "1")
            cells += [text] * (min(int(repeated), _MOST_REPEATS) if repeated.isdigit() else 1)
        return cells


def _rows(table: Any) -> Iterator[tuple[Any, bool]]:
    """The rows of a table, and whether each belongs to its header."""
    for part in elements(table):
        if local(part) == "table-row":
            yield part, False
        elif local(part) in ("table-header-rows", "table-rows", "table-row-group"):
            yield from ((row, local(part) == "table-header-rows" or is_header) for row, is_header in _rows(part))


def _is_layout(table: Any) -> bool:
    """Whether the table holds running text: headings, tables, or cells as long as a section."""
    if next(table.iter("{*}h"), None) is not None or sum(1 for _ in table.iter("{*}table")) > 1:
        return True
    return any(sum(map(len, cell.itertext())) > LONGEST_CELL for row, _ in _rows(table) for cell in row)


def _title_styles(body: Any) -> frozenset[str]:
    """The styles of the document's title: the named one, and those made from it on the spot."""
    made = (one for one in body.iter("{*}style") if attribute(one, "parent-style-name") == "Title")
    return frozenset({"Title", *(attribute(one, "name") for one in made)})


def _level(heading: Any) -> int:
    level = attribute(heading, "outline-level", "1")
    return min(9, max(1, int(level))) if level.isdigit() else 1


__all__ = ["EXTRACTOR_ID", "extract_open_text"]
