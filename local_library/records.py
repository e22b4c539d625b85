"""The values of the library, from a file's bytes to a passage found.

Whatever is derived from a version carries that version's ``source_content_hash`` and the ids of the steps that made
it, unchanged, so that drift shows without reading the file again.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal


class SegmentKind(StrEnum):
    """What a piece of extracted text is."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST_ITEM = "list_item"
    CODE = "code"
    TABLE = "table"


@dataclass(frozen=True, slots=True)
class Segment:
    """One piece of extracted text in reading order. ``level`` is 1.. for headings; ``place`` is page, sheet or line."""

    ordinal: int
    kind: SegmentKind
    text: str
    level: int = 0
    place: str = ""


@dataclass(frozen=True, slots=True)
class ExtractedText:
    """What an extractor made of a version's bytes. ``warnings`` say what could not be carried over.

    ``uri`` is where the document says it is published, if it does. ``pages`` counts pages, slides, sheets or chapters;
    0 for a kind that has none.
    """

    source_content_hash: str
    extractor_id: str
    title: str
    segments: tuple[Segment, ...]
    warnings: tuple[str, ...] = ()
    uri: str = ""
    pages: int = 0


@dataclass(frozen=True, slots=True)
class Chunk:
    """One passage to be found. ``chunk_id`` is derived: the same text, cut by the same chunker, has the same id."""

    chunk_id: str
    ordinal: int
    text: str
    heading_path: tuple[str, ...]
    place: str
    first_segment: int
    last_segment: int
    source_content_hash: str
    extractor_id: str
    chunker_id: str


@dataclass(frozen=True, slots=True)
class Heading:
    """A section heading, verbatim, with the place where it stands."""

    text: str
    level: int
    locator: str


@dataclass(frozen=True, slots=True)
class DocumentInfo:
    """What the library says of a document. Sizes in bytes, times in seconds since 1970.

    ``pages`` counts its pages, slides, sheets or chapters; 0 where its kind has none, or where it was imported before
    they were counted.
    """

    document_id: str
    owner_id: str
    path: str
    title: str
    summary: str
    media_type: str
    size: int
    version: int
    source_content_hash: str
    extractor_id: str
    chunker_id: str
    passages: int
    imported_at: float
    headings: tuple[Heading, ...] = ()
    warnings: tuple[str, ...] = ()
    derived_summary: str = ""
    uri: str = ""
    pages: int = 0


@dataclass(frozen=True, slots=True)
class Passage:
    """A stored chunk, as it is read back for an answer."""

    passage_id: int
    document_id: str
    version_id: str
    title: str
    path: str
    media_type: str
    language: str
    chunk: Chunk
    uri: str = ""


@dataclass(frozen=True, slots=True)
class FoundPassage:
    """A passage that answers a query. ``score`` is higher for better; ``coverage`` is the share of the query.

    ``relevance`` is what the floor judges; ``merged`` counts the neighbouring passages that ``text`` joins. One found
    by its meaning has a ``similarity`` to the query, -1..1, and the id of the embedder that says so.
    """

    passage: Passage
    score: float
    coverage: float
    relevance: float
    text: str
    locator: str
    merged: int = 1
    similarity: float | None = None
    embedder_id: str = ""

    @property
    def found_by(self) -> Literal["lexical", "semantic"]:
        """Whether the query's words were found in the passage, or its meaning."""
        return "lexical" if self.similarity is None else "semantic"


class ImportStatus(StrEnum):
    """What became of one file; ``removed`` is only said of a watched one."""

    ADDED = "added"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    REJECTED = "rejected"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class ImportOutcome:
    """What became of one file of an import; ``reason`` is a sentence for people when it was rejected."""

    path: str
    status: ImportStatus
    document_id: str = ""
    passages: int = 0
    warnings: tuple[str, ...] = field(default=())
    reason: str = ""
    reason_code: str = ""


@dataclass(frozen=True, slots=True)
class QuarantinedFile:
    """A file that could not be imported: why, in words, and when (seconds since 1970).

    ``document_id`` is the id that its document would have, or has from a version before.
    """

    path: str
    reason_code: str
    reason: str
    at: float
    document_id: str


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """Some of an owner's documents by title; ``matching`` counts those that were asked for, ``total`` all there are."""

    documents: tuple[DocumentInfo, ...]
    matching: int
    total: int


@dataclass(frozen=True, slots=True)
class Removal:
    """What was removed. ``erased`` is false while the index still holds its words: `compact` finishes the erasure."""

    document: DocumentInfo
    erased: bool


@dataclass(frozen=True, slots=True)
class ReadText:
    """Text read by its locator; ``truncated`` says that more follows."""

    locator: str
    title: str
    text: str
    truncated: bool


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that verification found wrong. ``kind`` is for programs, the sentence for people."""

    kind: str
    document_id: str
    sentence: str


__all__ = [
    "Chunk",
    "DocumentInfo",
    "DocumentPage",
    "ExtractedText",
    "FoundPassage",
    "Heading",
    "ImportOutcome",
    "ImportStatus",
    "Passage",
    "Problem",
    "QuarantinedFile",
    "ReadText",
    "Removal",
    "Segment",
    "SegmentKind",
]
