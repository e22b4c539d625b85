"""Reads one file with the reader of its kind. Runs in the limited child only."""

import importlib
import time
from collections.abc import Callable, Mapping

from ..records import ExtractedText
from .kinds import kind_of, named_kind
from .outcome import Enough, Unreadable
from .segments import SegmentWriter

_READERS: Mapping[str, tuple[str, str, str]] = {
    "markdown": ("markdown", "extract_markdown", "EXTRACTOR_ID"),
    "text": ("plain", "extract_text", "EXTRACTOR_ID"),
    "code": ("code", "extract_code", "EXTRACTOR_ID"),
    "html": ("html", "extract_html", "EXTRACTOR_ID"),
    "csv": ("values", "extract_values", "EXTRACTOR_ID"),
    "pdf": ("pdf", "extract_pdf", "EXTRACTOR_ID"),
    "word": ("word", "extract_word", "EXTRACTOR_ID"),
    "slides": ("slides", "extract_slides", "EXTRACTOR_ID"),
    "sheets": ("sheets", "extract_sheets", "EXTRACTOR_ID"),
    "book": ("books", "extract_book", "EXTRACTOR_ID"),
    "rich_text": ("rich_text", "extract_rich_text", "EXTRACTOR_ID"),
    "open_text": ("open_text", "extract_open_text", "EXTRACTOR_ID"),
}


def read(path: str, content: bytes, source_content_hash: str, *, seconds: float) -> tuple[ExtractedText, str]:
    """The text of ``content`` and its media type. Raises `Unreadable` with a reason for people."""
    if not content.strip():
        raise Unreadable("empty", "is empty", "Import a file with text in it")
    kind, warning = kind_of(path, content)
    extractor_id, extract = _reader(kind.name)
    writer = SegmentWriter(deadline=time.process_time() + seconds)
    if warning:
        writer.warn(warning)
    try:
        extract(content, writer)
    except Enough as bound:
        writer.warn(str(bound))
    extracted = ExtractedText(
        source_content_hash,
        extractor_id,
        writer.title,
        tuple(writer.segments),
        tuple(writer.warnings),
        writer.uri,
        writer.pages,
    )
    return extracted, kind.media_type


def load_reader(path: str) -> None:
    """Import the reader that a file's name calls for, so that the forks to come start with it."""
    kind = named_kind(path)
    if kind is not None:
        _reader(kind.name)


def _reader(name: str) -> tuple[str, Callable[[bytes, SegmentWriter], None]]:
    module_name, function, id_name = _READERS[name]
    module = importlib.import_module(f".{module_name}", __package__)
    return getattr(module, id_name), getattr(module, function)


__all__ = ["load_reader", "read"]
