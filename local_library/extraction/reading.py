"""Chooses the extractor for a file."""

from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import Protocol

from ..errors import DocumentRejected
from ..records import ExtractedText
from .segments import SegmentWriter

_MEDIA_TYPES: Mapping[str, str] = {
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".txt": "text/plain",
    ".text": "text/plain",
}


class TextExtractor(Protocol):
    """Turns a file's bytes into text with headings. Raises `DocumentRejected` for a file it cannot read."""

    def extract(self, path: str, content: bytes, source_content_hash: str) -> ExtractedText: ...


class DirectExtractor:
    """Extracts Markdown and plain text in this process."""

    def extract(self, path: str, content: bytes, source_content_hash: str) -> ExtractedText:
        """The segments of ``content``, read as its name says."""
        if not content.strip():
            raise DocumentRejected(path, "is empty", "Import a file with text in it", reason_code="empty")
        extractor_id, extract = _extractor_for(path)
        writer = SegmentWriter()
        extract(content, writer)
        return ExtractedText(
            source_content_hash, extractor_id, writer.title, tuple(writer.segments), tuple(writer.warnings)
        )


def media_type_of(path: str) -> str:
    """The media type that a file's name says; plain text when it says nothing."""
    return _MEDIA_TYPES.get(PurePath(path).suffix.lower(), "text/plain")


def is_readable(path: PurePath) -> bool:
    """Whether a file's name says that the library can read it."""
    return path.suffix.lower() in _MEDIA_TYPES


def _extractor_for(path: str) -> tuple[str, Callable[[bytes, SegmentWriter], None]]:
    if not is_readable(PurePath(path)):
        kinds = ", ".join(sorted(_MEDIA_TYPES))
        raise DocumentRejected(path, "is of a kind the library cannot read", f"It reads {kinds}", reason_code="kind")
    if media_type_of(path) == "text/markdown":
        from .markdown import EXTRACTOR_ID, extract_markdown

        return EXTRACTOR_ID, extract_markdown
    from .plain import EXTRACTOR_ID as TEXT_ID
    from .plain import extract_text

    return TEXT_ID, extract_text


__all__ = ["DirectExtractor", "TextExtractor", "is_readable", "media_type_of"]
