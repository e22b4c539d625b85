"""Collects segments in reading order; every extractor writes into one."""

import re
from dataclasses import dataclass, field

from ..records import Segment, SegmentKind

_SPACE = re.compile(r"[ \t\f\v\u00a0]+")


@dataclass(slots=True)
class SegmentWriter:
    """Numbers segments without gaps and leaves out empty ones."""

    segments: list[Segment] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    title: str = ""

    def add(self, kind: SegmentKind, text: str, *, level: int = 0, place: str = "") -> None:
        cleaned = text.strip("\n") if kind in (SegmentKind.CODE, SegmentKind.TABLE) else tidy(text)
        if cleaned.strip():
            self.segments.append(Segment(len(self.segments), kind, cleaned, level, place))

    def heading(self, text: str, level: int, *, place: str = "") -> None:
        self.add(SegmentKind.HEADING, " ".join(text.split()), level=level, place=place)

    def warn(self, sentence: str) -> None:
        """Note once what could not be carried over."""
        if sentence not in self.warnings:
            self.warnings.append(sentence)


def tidy(text: str) -> str:
    """``text`` with runs of blanks made one and blank ends cut; line breaks stay."""
    return "\n".join(line.strip() for line in _SPACE.sub(" ", text).split("\n")).strip()


__all__ = ["SegmentWriter", "tidy"]
