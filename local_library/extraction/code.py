"""Source code as text: blocks between blank lines, under the definition they belong to."""

import re

from ..records import SegmentKind
from .decoding import decoded
from .segments import SegmentWriter

EXTRACTOR_ID = "code-1"
_DEFINITION = re.compile(
    r"^(?:export\s+|public\s+|static\s+|async\s+|pub\s+|abstract\s+|final\s+)*"
    r"(?:def|class|function|func|fn|struct|enum|trait|interface|impl|module|package|type)\s+\w+(?:(?:\.|::)\w+)*"
)


def extract_code(content: bytes, writer: SegmentWriter) -> None:
    """Write the blocks of a source file; top-level definitions are its headings, a line number is the place."""
    text, _ = decoded(content)
    block: list[str] = []
    start = 1
    for number, line in enumerate(text.split("\n"), start=1):
        definition = _DEFINITION.match(line)
        if definition or (not line.strip() and sum(map(len, block)) > 400):
            writer.add(SegmentKind.CODE, "\n".join(block), place=f"L{start}")
            block = []
        if definition:
            writer.heading(definition.group(), 1, place=f"L{number}")
        if not block:
            start = number
        block.append(line.rstrip())
    writer.add(SegmentKind.CODE, "\n".join(block), place=f"L{start}")


__all__ = ["EXTRACTOR_ID", "extract_code"]
