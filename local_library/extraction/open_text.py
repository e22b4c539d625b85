"""OpenDocument text: headings with their level, paragraphs, list items and tables in reading order."""

from typing import Any

from ..records import SegmentKind
from .archive import checked_zip
from .markup import safe_xml
from .outcome import Unreadable
from .segments import SegmentWriter

EXTRACTOR_ID = "odt-1"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_TITLE = "{http://purl.org/dc/elements/1.1/}title"
_DEEPEST = 60
_SKIPPED = frozenset({f"{_TEXT}tracked-changes", f"{_OFFICE}annotation", f"{_TEXT}note", f"{_TEXT}table-of-content"})


def extract_open_text(content: bytes, writer: SegmentWriter) -> None:
    """Write the segments of an .odt file."""
    archive = checked_zip(content)
    try:
        body = safe_xml(archive.read("content.xml"))
    except KeyError as error:
        raise Unreadable("damaged", "lacks its text part", "Save it again from its program") from error
    if "meta.xml" in archive.namelist():
        writer.title = (safe_xml(archive.read("meta.xml")).findtext(f".//{_TITLE}") or "").strip()
    if b"manifest:encryption-data" in archive.read("META-INF/manifest.xml"):
        raise Unreadable("encrypted", "is protected by a password", "Save it without a password")
    text = body.find(f".//{_OFFICE}text")
    if text is not None:
        _write(text, writer, 0, in_list=False)


def _write(node: Any, writer: SegmentWriter, depth: int, *, in_list: bool) -> None:
    if depth > _DEEPEST:
        writer.warn("Parts nested too deeply were left out.")
        return
    for child in node:
        if child.tag in _SKIPPED or not isinstance(child.tag, str):
            continue
        if child.tag == f"{_TEXT}h":
            writer.heading(_plain(child), _level(child))
        elif child.tag == f"{_TEXT}p":
            writer.add(SegmentKind.LIST_ITEM if in_list else SegmentKind.PARAGRAPH, _plain(child))
        elif child.tag == f"{_TABLE}table":
            writer.add(SegmentKind.TABLE, _rows(child))
        else:
            _write(child, writer, depth + 1, in_list=in_list or child.tag == f"{_TEXT}list")


def _plain(node: Any) -> str:
    parts = [node.text or ""]
    for child in node:
        if child.tag in (f"{_TEXT}s", f"{_TEXT}tab"):
            parts.append(" ")
        elif child.tag == f"{_TEXT}line-break":
            parts.append("\n")
        elif child.tag not in _SKIPPED:
            parts.append(_plain(child))
        parts.append(child.tail or "")
    return "".join(parts)


def _level(node: Any) -> int:
    level = node.get(f"{_TEXT}outline-level", "1")
    return min(9, max(1, int(level))) if level.isdigit() else 1


def _rows(table: Any) -> str:
    rows = []
    for row in table.iter(f"{_TABLE}table-row"):
        cells = [" ".join("".join(cell.itertext()).split()) for cell in row.iterchildren(f"{_TABLE}table-cell")]
        if any(cells):
            rows.append(" | ".join(cells))
    return "\n".join(rows)


__all__ = ["EXTRACTOR_ID", "extract_open_text"]
