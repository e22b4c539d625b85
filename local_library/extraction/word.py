"""Word documents: headings by their style or outline level, paragraphs, notes, lists and tables in reading order."""

from collections.abc import Iterator
from typing import Any

from ..records import SegmentKind
from .office import Package, attribute, child, chosen, descendants, elements, is_on, local
from .segments import SegmentWriter
from .tables import LONGEST_CELL, table_text
from .word_styles import Styles, notes

EXTRACTOR_ID = "docx-2"
_DEEPEST = 60
_GONE = frozenset({"del", "moveFrom", "delText", "instrText", "pPr", "rPr", "rt"})
_WHITE = {"tab": " ", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "ptab": " "}
_WITHIN = frozenset({"sdt", "sdtContent", "ins", "moveTo", "customXml", "smartTag"})


def extract_word(content: bytes, writer: SegmentWriter) -> None:
    """Write the segments of a .docx file; what is left out is named."""
    package = Package(content)
    path, root = package.main("document", "word/document.xml")
    writer.title = package.title()
    body = child(root, "body")
    if body is not None:
        _Reading(package, path, writer).blocks(body, 0)
    _report(package, path, writer)


class _Reading:
    """Walks the body; notes and text boxes follow the paragraph that they hang on."""

    def __init__(self, package: Package, path: str, writer: SegmentWriter) -> None:
        self._writer = writer
        self._styles = Styles(_first(package, path, "styles"))
        self._notes = {
            "footnoteReference": notes(_first(package, path, "footnotes")),
            "endnoteReference": notes(_first(package, path, "endnotes")),
        }

    def blocks(self, parent: Any, depth: int) -> None:
        if depth > _DEEPEST:
            self._writer.warn("Parts nested too deeply were left out.")
            return
        for block in elements(parent):
            name = local(block)
            if name == "p":
                self._paragraph(block, depth)
            elif name == "tbl":
                self._table(block, depth)
            elif name in _WITHIN:
                self.blocks(block, depth + 1)
            elif name == "AlternateContent" and (best := chosen(block)) is not None:
                self.blocks(best, depth + 1)
            elif name == "altChunk":
                self._writer.warn("A document within the document was left out.")

    def _paragraph(self, paragraph: Any, depth: int) -> None:
        hanging: list[Any] = []
        text = "".join(self._texts(paragraph, hanging, 0))
        style = self._styles.of(paragraph)
        if style.is_contents:
            self._writer.warn("The table of contents was left out.")
        elif style.is_title:
            self._writer.title = self._writer.title or " ".join(text.split())
            self._writer.heading(text, 1)
        elif style.level:
            self._writer.heading(text, style.level)
        else:
            self._writer.add(SegmentKind.LIST_ITEM if style.is_list_item else SegmentKind.PARAGRAPH, text)
        for part in hanging:
            self.blocks(part, depth + 1)

    def _texts(self, node: Any, hanging: list[Any], depth: int) -> Iterator[str]:
        if depth > _DEEPEST:
            self._writer.warn("Parts nested too deeply were left out.")
            return
        for part in elements(node):
            name = local(part)
            if name == "t":
                yield part.text or ""
            elif name in _WHITE:
                yield _WHITE[name]
            elif name == "sym":
                yield _symbol(attribute(part, "char"))
            elif name in self._notes:
                hanging += filter(None.__ne__, [self._notes[name].get(attribute(part, "id"))])
            elif name == "txbxContent":
                hanging.append(part)
            elif name == "AlternateContent":
                best = chosen(part)
                yield from () if best is None else self._texts(best, hanging, depth + 1)
            elif name == "r" and is_on(child(part, "rPr", "vanish")):
                self._writer.warn("Hidden text was left out.")
            elif name not in _GONE:
                yield from self._texts(part, hanging, depth + 1)

    def _table(self, table: Any, depth: int) -> None:
        if self._is_layout(table):
            for row in _inside(table, "tr"):
                for cell in _inside(row, "tc"):
                    self.blocks(cell, depth + 1)
            return
        rows: list[list[str]] = []
        boxes: list[Any] = []
        headers = 0
        for row in _inside(table, "tr"):
            hanging: list[Any] = []
            rows.append(self._cells(row, rows[-1] if rows else [], hanging))
            boxes += hanging
            marked = is_on(child(row, "trPr", "tblHeader"))
            headers += marked and headers == len(rows) - 1
        self._writer.add(SegmentKind.TABLE, table_text(rows, max(1, headers)))
        for part in boxes:
            self.blocks(part, depth + 1)

    def _is_layout(self, table: Any) -> bool:
        """Whether the table holds running text: headings, tables, or cells as long as a section."""
        if next((one for one in descendants(table, "tbl") if one is not table), None) is not None:
            return True
        if any(self._styles.of(paragraph).level for paragraph in descendants(table, "p")):
            return True
        return any(sum(len(t.text or "") for t in descendants(c, "t")) > LONGEST_CELL for c in descendants(table, "tc"))

    def _cells(self, row: Any, above: list[str], hanging: list[Any]) -> list[str]:
        """The row's cells in their columns: one that continues the cell above repeats it."""
        cells: list[str] = []
        for cell in _inside(row, "tc"):
            merge = child(cell, "tcPr", "vMerge")
            span = attribute(child(cell, "tcPr", "gridSpan"), "val", "1")
            continued = merge is not None and attribute(merge, "val", "continue") == "continue"
            paragraphs = ("".join(self._texts(one, hanging, 0)) for one in _inside(cell, "p"))
            text = above[len(cells)] if continued and len(cells) < len(above) else " ".join(paragraphs)
            cells += [text] + [""] * (min(int(span), 64) - 1 if span.isdigit() else 0)
        return cells


def _inside(parent: Any, wanted: str, depth: int = 0) -> Iterator[Any]:
    """The rows of a table or the cells of a row, also those wrapped in a control or a tracked insertion."""
    for one in elements(parent):
        if local(one) == wanted:
            yield one
        elif local(one) in _WITHIN and depth < _DEEPEST:
            yield from _inside(one, wanted, depth + 1)


def _first(package: Package, path: str, kind: str) -> Any:
    found = next(iter(package.related(path, kind).values()), f"word/{kind}.xml")
    return package.part(found)


def _symbol(code: str) -> str:
    """A character of a symbol font; those in the private area have no meaning elsewhere."""
    try:
        number = int(code, 16)
    except ValueError:
        return ""
    return chr(number) if 32 <= number < 0xD800 else ""


def _report(package: Package, path: str, writer: SegmentWriter) -> None:
    if any(name.startswith("word/media/") for name in package.names):
        writer.warn("Pictures were left out.")
    if package.related(path, "comments"):
        writer.warn("Comments were left out.")
    margins = (*package.related(path, "header").values(), *package.related(path, "footer").values())
    if any((root := package.part(one)) is not None and any(t.text for t in descendants(root, "t")) for one in margins):
        writer.warn("Page headers and footers were left out.")


__all__ = ["EXTRACTOR_ID", "extract_word"]
