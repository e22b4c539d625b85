"""PowerPoint: each slide under its title, with its text, tables and notes."""

import io
from collections.abc import Iterable
from typing import Any

import pptx

from ..records import SegmentKind
from .archive import checked_zip
from .segments import SegmentWriter

EXTRACTOR_ID = "pptx-1"
_DEEPEST_GROUP = 8


def extract_slides(content: bytes, writer: SegmentWriter) -> None:
    """Write the segments of a .pptx file; a slide's number is its place."""
    checked_zip(content)
    presentation = pptx.Presentation(io.BytesIO(content))
    writer.title = (presentation.core_properties.title or "").strip()
    if writer.title == "PowerPoint Presentation":
        writer.title = ""
    writer.pages = len(presentation.slides)
    for number, slide in enumerate(presentation.slides, start=1):
        place = f"slide={number}"
        title = slide.shapes.title
        if title is not None and title.has_text_frame:
            writer.heading(title.text_frame.text, 1, place=place)
        _write_shapes((shape for shape in slide.shapes if shape != title), writer, place, 0)
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            writer.add(SegmentKind.PARAGRAPH, slide.notes_slide.notes_text_frame.text, place=place)


def _write_shapes(shapes: Iterable[Any], writer: SegmentWriter, place: str, depth: int) -> None:
    for shape in shapes:
        if hasattr(shape, "shapes"):
            if depth < _DEEPEST_GROUP:
                _write_shapes(shape.shapes, writer, place, depth + 1)
        elif getattr(shape, "has_table", False):
            rows = [" | ".join(" ".join(cell.text.split()) for cell in row.cells) for row in shape.table.rows]
            writer.add(SegmentKind.TABLE, "\n".join(rows), place=place)
        elif shape.has_text_frame:
            writer.add(SegmentKind.PARAGRAPH, shape.text_frame.text, place=place)
        elif hasattr(shape, "image"):
            writer.warn("Pictures were left out.")


__all__ = ["EXTRACTOR_ID", "extract_slides"]
