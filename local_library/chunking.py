"""Cuts extracted text into passages that keep their heading and never cross one."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import regex

from .records import Chunk, ExtractedText, Segment, SegmentKind

_SENTENCE_ENDS = regex.compile(r"(?<=[.!?…])\s+|(?<=[。！？；])|\n+")


@dataclass(frozen=True, slots=True)
class HeadingChunker:
    """Gathers neighbouring segments under one heading up to ``target`` characters; no passage exceeds ``limit``."""

    target: int = 900
    limit: int = 1_400

    @property
    def chunker_id(self) -> str:
        return f"headings-2:{self.target}:{self.limit}"

    def chunks(self, extracted: ExtractedText) -> tuple[Chunk, ...]:
        """The passages of ``extracted`` in reading order, numbered from 0."""
        made: list[Chunk] = []
        for path, group in _sections(extracted.segments):
            for pieces in self._gathered(group):
                made.append(self._chunk(extracted, len(made), path, pieces))
        return tuple(made)

    def _gathered(self, group: list[Segment]) -> Iterator[list[tuple[Segment, str]]]:
        pending: list[tuple[Segment, str]] = []
        size = 0
        for segment in group:
            for text in self._cut(segment):
                if pending and (
                    size + len(text) > self.target or (segment.place != pending[0][0].place and _paged(segment))
                ):
                    yield pending
                    pending, size = [], 0
                pending.append((segment, text))
                size += len(text) + 1
        if pending:
            yield pending

    def _cut(self, segment: Segment) -> Iterator[str]:
        if len(segment.text) <= self.limit:
            yield segment.text
        elif segment.kind is SegmentKind.TABLE:
            yield from _cut_rows(segment.text, self.target, self.limit)
        else:
            yield from _cut_sentences(segment.text, self.target, self.limit)

    def _chunk(
        self, extracted: ExtractedText, ordinal: int, path: tuple[str, ...], pieces: list[tuple[Segment, str]]
    ) -> Chunk:
        text = "\n".join(piece for _, piece in pieces)
        lineage = (extracted.source_content_hash, extracted.extractor_id, self.chunker_id)
        key = "\0".join((*lineage, str(ordinal), *path, text))
        return Chunk(
            chunk_id=hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:32],
            ordinal=ordinal,
            text=text,
            heading_path=path,
            place=pieces[0][0].place,
            first_segment=pieces[0][0].ordinal,
            last_segment=pieces[-1][0].ordinal,
            source_content_hash=extracted.source_content_hash,
            extractor_id=extracted.extractor_id,
            chunker_id=self.chunker_id,
        )


def _sections(segments: tuple[Segment, ...]) -> Iterator[tuple[tuple[str, ...], list[Segment]]]:
    """The segments below each heading with the path to it; a heading that nothing stands below is its own text."""
    open_headings: list[Segment] = []
    group: list[Segment] = []
    for segment in segments:
        if segment.kind is not SegmentKind.HEADING:
            group.append(segment)
            continue
        yield from _section(open_headings, group, segment.level)
        while open_headings and open_headings[-1].level >= segment.level:
            open_headings.pop()
        open_headings.append(segment)
        group = []
    yield from _section(open_headings, group, 0)


def _section(
    open_headings: list[Segment], group: list[Segment], next_level: int
) -> Iterator[tuple[tuple[str, ...], list[Segment]]]:
    path = tuple(heading.text for heading in open_headings)
    if group:
        yield path, group
    elif open_headings and next_level <= open_headings[-1].level:
        yield path, [open_headings[-1]]


def _paged(segment: Segment) -> bool:
    return segment.place.startswith(("page=", "slide=", "sheet="))


def _cut_rows(text: str, target: int, limit: int) -> Iterator[str]:
    """Groups of rows, each under the header. What a long header loses by that stands once, as rows of its own."""
    header, *rows = text.split("\n")
    header, rest = header[: limit // 2], header[limit // 2 :]
    taken: list[str] = []
    size = len(header)
    for row in (piece for whole in (rest, *rows) for piece in _row_pieces(whole, limit - len(header) - 1)):
        if taken and size + len(row) > target:
            yield "\n".join((header, *taken))
            taken, size = [], len(header)
        taken.append(row)
        size += len(row) + 1
    if taken:
        yield "\n".join((header, *taken))


def _row_pieces(row: str, room: int) -> Iterator[str]:
    """A row, cut between cells or words where it is longer than ``room``."""
    while len(row) > room:
        cut = max(row.rfind(" | ", room // 2, room), row.rfind(" ", room // 2, room))
        cut = cut if cut > 0 else room
        yield row[:cut]
        row = row[cut:].lstrip(" |")
    if row.strip():
        yield row


def _cut_sentences(text: str, target: int, limit: int) -> Iterator[str]:
    taken = ""
    start = 0
    ends = [match.end() for match in _SENTENCE_ENDS.finditer(text)]
    for end in [*ends, len(text)]:
        sentence, start = text[start:end], end
        if taken and len(taken) + len(sentence) > target:
            yield taken.strip()
            taken = ""
        taken += sentence
        while len(taken) > limit:
            cut = taken.rfind(" ", limit // 2, limit)
            cut = cut if cut > 0 else limit
            yield taken[:cut].strip()
            taken = taken[cut:]
    if taken.strip():
        yield taken.strip()


__all__ = ["HeadingChunker"]
