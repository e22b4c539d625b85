"""Markdown: headings, paragraphs, list items, code and tables, each with its line."""

import re
from collections.abc import Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token

from ..records import SegmentKind
from .decoding import decoded
from .segments import SegmentWriter

_PARSER = MarkdownIt("commonmark").enable("table")
EXTRACTOR_ID = "markdown-2"
_FRONT_MATTER = re.compile(r"\A---\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_FRONT_FIELD = re.compile(r"^(title|url):\s*['\"]?(.+?)['\"]?\s*$", re.MULTILINE)


def extract_markdown(content: bytes, writer: SegmentWriter) -> None:
    """Write the segments of Markdown ``content``; front matter gives ``title`` and ``url`` and is no text."""
    text, _ = decoded(content)
    front = _FRONT_MATTER.match(text)
    skipped_lines = 0
    if front:
        fields = dict(_FRONT_FIELD.findall(front.group(1)))
        writer.title, writer.uri = fields.get("title", ""), fields.get("url", "")
        skipped_lines = front.group().count("\n")
        text = text[front.end() :]
    tokens = _PARSER.parse(text)
    _write(tokens, writer, skipped_lines)


def _write(tokens: Sequence[Token], writer: SegmentWriter, skipped_lines: int) -> None:
    enclosing: list[str] = []
    rows: list[str] = []
    for token in tokens:
        place = f"L{token.map[0] + 1 + skipped_lines}" if token.map else ""
        if token.type == "inline" and "table_open" in enclosing:
            rows[-1] += (" | " if rows[-1] else "") + _plain(token)
        elif token.type == "inline":
            _write_inline(token, enclosing, writer, place)
        elif token.type in ("fence", "code_block"):
            writer.add(SegmentKind.CODE, token.content, place=place)
        elif token.type == "tr_open":
            rows.append("")
        elif token.type == "table_close":
            writer.add(SegmentKind.TABLE, "\n".join(rows), place=place)
            rows = []
        if token.nesting == 1:
            enclosing.append(token.type if token.type != "heading_open" else token.tag)
        elif token.nesting == -1:
            enclosing.pop()


def _write_inline(token: Token, enclosing: list[str], writer: SegmentWriter, place: str) -> None:
    around = enclosing[-1] if enclosing else ""
    if re.fullmatch(r"h[1-6]", around):
        writer.heading(token.content, int(around[1]), place=place)
    elif "list_item_open" in enclosing:
        writer.add(SegmentKind.LIST_ITEM, _plain(token), place=place)
    else:
        writer.add(SegmentKind.PARAGRAPH, _plain(token), place=place)


def _plain(token: Token) -> str:
    parts = []
    for child in token.children or ():
        if child.type in ("softbreak", "hardbreak"):
            parts.append(" ")
        elif child.type == "image":
            parts.append(_plain(child))
        elif child.type in ("text", "code_inline"):
            parts.append(child.content)
    return "".join(parts)


__all__ = ["EXTRACTOR_ID", "extract_markdown"]
