"""Plain text: paragraphs between blank lines, and headings where a text underlines, numbers or capitalizes them."""

import re

from ..records import SegmentKind
from .decoding import decoded
from .segments import SegmentWriter

EXTRACTOR_ID = "text-1"
_UNDERLINE = re.compile(r"^([=\-~^*#])\1{2,}\s*$")
_NUMBERED = re.compile(r"^(\d+(?:\.\d+)*)[.)]?\s+\S.{0,80}$")
_CHINESE_NUMBERED = re.compile(r"^第[一二三四五六七八九十百零\d]+[章节節部篇条條]\s*.{0,40}$")
_LONGEST_HEADING = 90


def extract_text(content: bytes, writer: SegmentWriter) -> None:
    """Write the segments of a plain text."""
    text, encoding = decoded(content)
    if "\ufffd" in text:
        writer.warn(f"Some characters could not be read as {encoding}.")
    write_text(text, writer)


def write_text(text: str, writer: SegmentWriter) -> None:
    """Write the paragraphs and headings of ``text``, each with its line."""
    block: list[str] = []
    start = 1
    for number, line in enumerate([*text.split("\n"), ""], start=1):
        if line.strip():
            start = start if block else number
            block.append(line.rstrip())
        elif block:
            _write_block(block, start, writer)
            block = []


def _write_block(block: list[str], start: int, writer: SegmentWriter) -> None:
    place = f"L{start}"
    if len(block) >= 2 and _UNDERLINE.match(block[1]) and len(block[0]) <= _LONGEST_HEADING:
        writer.heading(block[0], 1 if block[1][0] == "=" else 2, place=place)
        block, place = block[2:], f"L{start + 2}"
    elif len(block) == 1 and (level := heading_level(block[0].strip())):
        writer.heading(block[0], level, place=place)
        return
    if block:
        writer.add(SegmentKind.PARAGRAPH, "\n".join(block), place=place)


def heading_level(line: str) -> int:
    """The level of a line that numbers or capitalizes itself as a heading; 0 for other lines."""
    numbered = _NUMBERED.match(line)
    if numbered and line[-1] not in ".。,;:":
        return 1 + numbered.group(1).count(".")
    if _CHINESE_NUMBERED.match(line):
        return 1
    capitals = line.isupper() and line.isascii() and 4 <= len(line) <= _LONGEST_HEADING
    return 1 if capitals and any(map(str.isalpha, line)) else 0


__all__ = ["EXTRACTOR_ID", "extract_text", "heading_level", "write_text"]
