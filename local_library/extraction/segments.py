"""Collects segments in reading order; every extractor writes into one."""

import re
import time
from dataclasses import dataclass, field

from ..records import Segment, SegmentKind
from .outcome import Enough

MOST_CHARACTERS = 20_000_000
MOST_SEGMENTS = 400_000
_CONTROLS = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]")
_SPACE = re.compile(r"[ \t\f\v\u00a0]+")


@dataclass(slots=True)
class SegmentWriter:
    """Numbers segments without gaps, leaves out empty ones, and raises `Enough` when its bounds are reached."""

    segments: list[Segment] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    title: str = ""
    uri: str = ""
    pages: int = 0
    deadline: float = float("inf")
    _characters: int = 0

    def add(self, kind: SegmentKind, text: str, *, level: int = 0, place: str = "") -> None:
        text = _CONTROLS.sub("", text)
        cleaned = text.strip("\n") if kind in (SegmentKind.CODE, SegmentKind.TABLE) else tidy(text)
        if not cleaned.strip():
            return
        self._characters += len(cleaned)
        if self._characters > MOST_CHARACTERS or len(self.segments) >= MOST_SEGMENTS:
            raise Enough(f"Only its first {MOST_CHARACTERS:,} characters were read.")
        self.segments.append(Segment(len(self.segments), kind, cleaned, level, place))
        self.check_time()

    def check_time(self) -> None:
        """Raise `Enough` when the file has taken its share of processor time; other work on the machine is not it."""
        if time.process_time() > self.deadline:
            where = f" (up to {self.segments[-1].place})" if self.segments and self.segments[-1].place else ""
            raise Enough(f"Only its first part{where} was read: the file takes too long.")

    def heading(self, text: str, level: int, *, place: str = "") -> None:
        self.add(SegmentKind.HEADING, " ".join(text.split()), level=level, place=place)

    def warn(self, sentence: str) -> None:
        """Note once what could not be carried over."""
        if sentence not in self.warnings:
            self.warnings.append(sentence)


def tidy(text: str) -> str:
    """``text`` with runs of blanks made one and blank ends cut; line breaks stay."""
    return "\n".join(line.strip() for line in _SPACE.sub(" ", text).split("\n")).strip()


__all__ = ["MOST_CHARACTERS", "MOST_SEGMENTS", "SegmentWriter", "tidy"]
