"""A document's card: title, one-line summary and headings, taken from its own words without any model."""

from pathlib import PurePath

import regex

from .records import ExtractedText, Heading, Segment, SegmentKind

SUMMARY_CHARACTERS = 200
_FIRST_SENTENCE = regex.compile(r".{20,}?(?:[.!?…](?=\s|$)|[。！？])", regex.DOTALL)


def title_of(extracted: ExtractedText, path: str) -> str:
    """The document's own title, else its first heading if it opens the text, else its file name."""
    if extracted.title.strip():
        return " ".join(extracted.title.split())[:300]
    first = next(iter(extracted.segments), None)
    if first is not None and first.kind is SegmentKind.HEADING:
        return first.text[:300]
    return PurePath(path).stem.replace("_", " ").replace("-", " ").strip() or PurePath(path).name


def summary_of(extracted: ExtractedText) -> str:
    """The first sentence that is prose, cut to one line."""
    prose = next((segment for segment in extracted.segments if _is_prose(segment)), None)
    if prose is None:
        prose = next((segment for segment in extracted.segments if segment.kind is not SegmentKind.HEADING), None)
    if prose is None:
        return ""
    line = " ".join(prose.text.split())
    sentence = _FIRST_SENTENCE.match(line)
    return _shortened(sentence.group() if sentence else line)


def headings_of(extracted: ExtractedText, path: str, title: str) -> tuple[Heading, ...]:
    """All section headings verbatim, in order, each with its locator; a heading that is the title is left out."""
    found = []
    open_headings: list[Segment] = []
    for segment in extracted.segments:
        if segment.kind is not SegmentKind.HEADING:
            continue
        while open_headings and open_headings[-1].level >= segment.level:
            open_headings.pop()
        open_headings.append(segment)
        if segment.ordinal == 0 and segment.text == title:
            continue
        heading_path = tuple(heading.text for heading in open_headings)
        found.append(Heading(segment.text, segment.level, locator_for(path, heading_path, segment.place, title)))
    return tuple(found)


def locator_for(path: str, heading_path: tuple[str, ...], place: str, title: str = "") -> str:
    """Where a program finds the passage: ``path#page=3``, ``path#Deployments > Approvals`` or ``path#L12``."""
    if place.startswith(("page=", "slide=", "sheet=")):
        return f"{path}#{place}"
    below_title = heading_path[1:] if heading_path[:1] == (title,) and len(heading_path) > 1 else heading_path
    if below_title:
        return f"{path}#{' > '.join(below_title)}"
    return f"{path}#{place}" if place else path


def _is_prose(segment: Segment) -> bool:
    return segment.kind is SegmentKind.PARAGRAPH and len(segment.text) >= 20


def _shortened(line: str) -> str:
    if len(line) <= SUMMARY_CHARACTERS:
        return line
    cut = line.rfind(" ", SUMMARY_CHARACTERS // 2, SUMMARY_CHARACTERS)
    return line[: cut if cut > 0 else SUMMARY_CHARACTERS - 1].rstrip(" ,;:") + "…"


__all__ = ["SUMMARY_CHARACTERS", "headings_of", "locator_for", "summary_of", "title_of"]
