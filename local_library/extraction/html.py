"""HTML: headings, paragraphs, lists, tables and code, without navigation, scripts and styles."""

from collections.abc import Iterator

from selectolax.lexbor import LexborHTMLParser, LexborNode

from ..records import SegmentKind
from .decoding import decoded
from .segments import SegmentWriter

EXTRACTOR_ID = "html-2"
DEEPEST = 400
_LEFT_OUT_TAGS = "script style template noscript nav svg iframe object head select button form"
_BLOCK_TAGS = """
    address article aside blockquote body center dd details dialog div dl dt fieldset figcaption figure footer header hr
    html li main ol p section summary table tbody td tfoot th thead tr ul pre h1 h2 h3 h4 h5 h6
"""
_LEFT_OUT = frozenset(_LEFT_OUT_TAGS.split())
_BLOCKS = frozenset(_BLOCK_TAGS.split())
_HEADINGS = {f"h{level}": level for level in range(1, 7)}


def extract_html(content: bytes, writer: SegmentWriter) -> None:
    """Write the segments of an HTML page: its ``title`` element is the title, its canonical link where it stands."""
    text, _ = decoded(content)
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
            if name in _LEFT_OUT:
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
        elif name == "table" and not node.css("table table") and not node.css("h1,h2,h3,h4,p p,ul,pre"):
            self._writer.add(SegmentKind.TABLE, _rows(node), place=self._place)
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


def _inline(node: LexborNode) -> str:
    if node.tag == "br":
        return "\n"
    if node.tag == "img":
        return str((node.attributes or {}).get("alt") or "")
    return str(node.text_content if node.is_text_node else node.text())


def _rows(table: LexborNode) -> str:
    rows = []
    for row in table.css("tr"):
        cells = [" ".join(cell.text(separator=" ").split()) for cell in row.css("td,th")]
        if any(cells):
            rows.append(" | ".join(cells))
    return "\n".join(rows)


__all__ = ["EXTRACTOR_ID", "extract_html", "write_html"]
