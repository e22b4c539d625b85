"""HTML: headings, paragraphs, lists, tables and code, without navigation, scripts and styles."""

from collections.abc import Iterator

from selectolax.lexbor import LexborHTMLParser, LexborNode

from ..records import SegmentKind
from .decoding import decoded
from .segments import SegmentWriter
from .tables import LONGEST_CELL, table_text

EXTRACTOR_ID = "html-3"
DEEPEST = 400
_MOST_SPANNED = 200
_LEFT_OUT_TAGS = "script style template noscript nav iframe head select button textarea datalist"
_BLOCK_TAGS = """
    address article aside blockquote body center dd details dialog div dl dt fieldset figcaption figure footer header hr
    form html li main ol p section summary table tbody td tfoot th thead tr ul pre h1 h2 h3 h4 h5 h6
"""
_LEFT_OUT = _LEFT_OUT_TAGS.split()
_BLOCKS = frozenset(_BLOCK_TAGS.split())
_HEADINGS = {f"h{level}": level for level in range(1, 7)}


def extract_html(content: bytes, writer: SegmentWriter) -> None:
    """Write the segments of an HTML page: its ``title`` element is the title, its canonical link where it stands."""
    text, _ = decoded(content, is_markup=True)
    write_html(text, writer)


def write_html(text: str, writer: SegmentWriter, *, place: str = "") -> None:
    """Write the segments of HTML ``text``; ``place`` is given to each of them."""
    tree = LexborHTMLParser(text)
    title = tree.css_first("title")
    if title is not None and not writer.title:
        writer.title = " ".join(title.text().split())
    published = tree.css_first("link[rel='canonical']")
    if published is not None and not writer.uri:
        writer.uri = (published.attributes.get("href") or "").strip()
    tree.strip_tags(_LEFT_OUT)
    body = tree.body
    if body is not None:
        _Walk(writer, place).block(body, 0)


class _Walk:
    """Walks block elements; text between them becomes paragraphs."""

    def __init__(self, writer: SegmentWriter, place: str) -> None:
        self._writer = writer
        self._place = place
        self._loose: list[str] = []

    def block(self, node: LexborNode, depth: int) -> None:
        if depth > DEEPEST:
            self._writer.warn("Parts nested too deeply were left out.")
            return
        for child in _children(node):
            name = child.tag
            if _is_hidden(child):
                self._writer.warn("Hidden text was left out.")
                continue
            if name not in _BLOCKS and not _holds_block(child):
                self._loose.append(_inline(child))
                continue
            self._end_paragraph(SegmentKind.LIST_ITEM if node.tag == "li" else SegmentKind.PARAGRAPH)
            self._one(child, name or "", depth)
        self._end_paragraph(SegmentKind.LIST_ITEM if node.tag in ("li", "dd", "dt") else SegmentKind.PARAGRAPH)

    def _one(self, node: LexborNode, name: str, depth: int) -> None:
        if name in _HEADINGS:
            self._writer.heading(node.text(), _HEADINGS[name], place=self._place)
        elif name == "pre":
            self._writer.add(SegmentKind.CODE, node.text(), place=self._place)
        elif name == "table" and not _is_layout(node):
            for caption in node.css("caption"):
                self._writer.add(SegmentKind.PARAGRAPH, caption.text(separator=" "), place=self._place)
            rows = _rows(node)
            self._writer.add(SegmentKind.TABLE, table_text(rows, len(node.css("thead tr"))), place=self._place)
        else:
            self.block(node, depth + 1)

    def _end_paragraph(self, kind: SegmentKind) -> None:
        text = " ".join("".join(self._loose).split())
        self._loose = []
        self._writer.add(kind, text, place=self._place)


def _children(node: LexborNode) -> Iterator[LexborNode]:
    child = node.child
    while child is not None:
        yield child
        child = child.next


def _holds_block(node: LexborNode) -> bool:
    return bool(node.child) and node.css_first("p,div,h1,h2,h3,h4,h5,h6,ul,ol,table,pre,section,article") is not None


def _is_hidden(node: LexborNode) -> bool:
    attributes = {} if node.is_text_node else node.attributes or {}
    return "hidden" in attributes or "display:none" in (attributes.get("style") or "").replace(" ", "").lower()


def _inline(node: LexborNode) -> str:
    if node.tag == "br":
        return "\n"
    if node.tag == "svg":
        return "\n".join(text.text() for text in node.css("text"))
    if node.tag == "img":
        return str((node.attributes or {}).get("alt") or "")
    return str(node.text_content if node.is_text_node else node.text())


def _is_layout(table: LexborNode) -> bool:
    """Whether the table holds running text: tables, headings, lists, code, or cells as long as a section."""
    if table.css_first("table table,h1,h2,h3,h4,ul,pre") is not None:
        return True
    return any(len(cell.text()) > LONGEST_CELL for cell in table.css("td"))


def _rows(table: LexborNode) -> list[list[str]]:
    """The cells in their columns: one that spans rows is repeated in each, one that spans columns stands once."""
    rows: list[list[str]] = []
    open_cells: dict[int, tuple[int, str]] = {}  # column: rows still to fill, text
    for row in table.css("tr"):
        cells: list[str] = []
        for cell in row.css("td,th"):
            _fill(cells, open_cells)
            text = " ".join(cell.text(separator=" ").split())
            if (rows_more := _span(cell, "rowspan") - 1) > 0:
                open_cells[len(cells)] = (rows_more, text)
            cells += [text] + [""] * (_span(cell, "colspan") - 1)
        _fill(cells, open_cells)
        rows.append(cells)
    return rows


def _fill(cells: list[str], open_cells: dict[int, tuple[int, str]]) -> None:
    """Add what cells of rows above still say at the columns reached."""
    while (found := open_cells.pop(len(cells), None)) is not None:
        if found[0] > 1:
            open_cells[len(cells)] = (found[0] - 1, found[1])
        cells.append(found[1])


def _span(cell: LexborNode, name: str) -> int:
    value = (cell.attributes or {}).get(name) or "1"
    return min(int(value), _MOST_SPANNED) if value.isdigit() and value.isascii() and int(value) else 1


__all__ = ["EXTRACTOR_ID", "extract_html", "write_html"]
