"""PDF: text page by page; the bookmarks are the headings, else the lines in larger letters."""

import ctypes
import itertools
import re
from collections.abc import Mapping, Sequence

import pypdfium2  # type: ignore[import-untyped]
import pypdfium2.raw as pdfium  # type: ignore[import-untyped]
import regex

from ..records import SegmentKind
from .outcome import Enough, Unreadable
from .pdf_annotations import written_on
from .pdf_layout import Line, heading_sizes, without_repeats
from .segments import SegmentWriter

EXTRACTOR_ID = "pdf-2"
_MOST_BOOKMARKS = 20_000
_DEEPEST_BOOKMARK = 8
_NAMED_PAGES = 12
_MOST_HEADING_LINES = 4
_DIVIDED = "\ufffe"  # where pdfium has joined a word that a line's end divided
_HYPHEN = regex.compile(r"(?<=\w)[-\u00ad\u2010\u0002]\n(?=\p{Ll})")

Bookmarks = dict[int, list[tuple[str, int]]]


def extract_pdf(content: bytes, writer: SegmentWriter) -> None:
    """Write the segments of a PDF. Pages without text are named; a file of such pages only is refused."""
    document = _opened(content)
    writer.title = _metadata(document, "Title")
    writer.pages = len(document)
    bookmarks = _bookmarks(document)
    pages, stopped = _pages(document, writer)
    silent = [number for number, page in enumerate(pages, start=1) if not page]
    if silent and len(silent) == len(document):
        raise Unreadable("no_text", "holds no text, only pictures of pages", "Run text recognition (OCR) on it first")
    kept, repeats = without_repeats(pages)
    if repeats:
        writer.warn("Lines that repeat at the edges of pages were kept once.")
    sizes = {} if bookmarks else heading_sizes(kept)
    for number, page in enumerate(kept):
        _write_page(page, bookmarks.get(number, []), sizes, writer, f"page={number + 1}")
    if silent:
        named = ", ".join(map(str, silent[:_NAMED_PAGES])) + ("…" if len(silent) > _NAMED_PAGES else "")
        writer.warn(f"{len(silent)} of {len(document)} pages hold no text, perhaps scans: {named}.")
    if stopped:
        raise stopped


def _pages(document: pypdfium2.PdfDocument, writer: SegmentWriter) -> tuple[list[list[Line]], Enough | None]:
    """The lines of all pages, or of those that the time allows; a page without text has none."""
    pages: list[list[Line]] = []
    for number in range(len(document)):
        try:
            writer.check_time()
        except Enough:
            return pages, Enough(f"Only its first part (up to page {number}) was read: the file takes too long.")
        pages.append(_page_lines(document, number, writer))
    return pages, None


def _opened(content: bytes) -> pypdfium2.PdfDocument:
    try:
        document = pypdfium2.PdfDocument(content)
        if len(document):
            return document
    except pypdfium2.PdfiumError as error:
        code = pdfium.FPDF_GetLastError() if getattr(error, "err_code", None) is None else error.err_code
        if code in (pdfium.FPDF_ERR_PASSWORD, pdfium.FPDF_ERR_SECURITY):
            raise Unreadable("encrypted", "is protected by a password", "Save it without a password") from error
        raise Unreadable("damaged", "is damaged or cut off", "Save it again from its program") from error
    raise Unreadable("empty", "holds no pages", "Import a file with pages in it")


def _metadata(document: pypdfium2.PdfDocument, key: str) -> str:
    try:
        title = str(document.get_metadata_value(key)).strip()
    except (pypdfium2.PdfiumError, UnicodeDecodeError):
        return ""
    looks_like_file = re.search(r"\.\w{2,4}$|^(untitled|microsoft word|slide 1)\b", title, re.IGNORECASE)
    return "" if looks_like_file else title


def _bookmarks(document: pypdfium2.PdfDocument) -> Bookmarks:
    found: Bookmarks = {}
    try:
        for count, bookmark in enumerate(document.get_toc(max_depth=_DEEPEST_BOOKMARK)):
            if count >= _MOST_BOOKMARKS:
                break
            destination = bookmark.get_dest()
            page = destination.get_index() if destination is not None else None
            title = " ".join(bookmark.get_title().split())
            if page is not None and page >= 0 and title:
                found.setdefault(page, []).append((title, bookmark.level + 1))
    except (pypdfium2.PdfiumError, UnicodeDecodeError, ctypes.ArgumentError):
        return found
    return found


def _page_lines(document: pypdfium2.PdfDocument, number: int, writer: SegmentWriter) -> list[Line]:
    try:
        page = document[number]
        try:
            text_page = page.get_textpage()
            try:
                lines = _lines(text_page, str(text_page.get_text_range(errors="replace")))
                return [*lines, *map(Line, written_on(page))]
            finally:
                text_page.close()
        finally:
            page.close()
    except pypdfium2.PdfiumError:
        writer.warn(f"Page {number + 1} is damaged and was left out.")
        return []


def _lines(text_page: pypdfium2.PdfTextPage, text: str) -> list[Line]:
    """The lines with the size of their first letter, which pdfium knows by its place in the text."""
    lines: list[Line] = []
    start = 0
    for line in text.split("\n"):
        at = start + len(line) - len(line.lstrip())
        size = round(pdfium.FPDFText_GetFontSize(text_page, at), 1) if line.strip() else 0.0
        lines.append(Line(line.rstrip("\r").replace(_DIVIDED, ""), size))
        start += len(line) + 1
    return lines if text.strip() else []


def _write_page(
    page: Sequence[Line],
    headings: Sequence[tuple[str, int]],
    sizes: Mapping[float, int],
    writer: SegmentWriter,
    place: str,
) -> None:
    if sizes:
        _write_by_size(page, sizes, writer, place)
        return
    rest = _joined([line.text for line in page])
    for title, level in headings:
        before, found, after = _split_at(rest, title)
        if found:
            _write_paragraphs(before, writer, place)
            rest = after
        writer.heading(title, level, place=place)
    _write_paragraphs(rest, writer, place)


def _write_by_size(page: Sequence[Line], sizes: Mapping[float, int], writer: SegmentWriter, place: str) -> None:
    """Write a page without bookmarks: lines of one heading's size in a row are one heading."""
    for size, group in itertools.groupby(page, key=lambda line: line.size if line.size in sizes else 0.0):
        lines = [line.text for line in group]
        if size and len(lines) <= _MOST_HEADING_LINES:
            writer.heading(" ".join(lines), sizes[size], place=place)
        else:
            _write_paragraphs(_joined(lines), writer, place)


def _joined(lines: Sequence[str]) -> str:
    """The lines as one text, words that a line's end divided put together again."""
    return str(_HYPHEN.sub("", "\n".join(lines)))


def _split_at(text: str, title: str) -> tuple[str, bool, str]:
    words = r"\s+".join(map(re.escape, title.split()))
    match = re.search(rf"^[ \t]*(?:[\dA-Z.]{{1,12}}\s+)?{words}[ \t]*$", text, re.MULTILINE | re.IGNORECASE)
    return (text[: match.start()], True, text[match.end() :]) if match else (text, False, "")


def _write_paragraphs(text: str, writer: SegmentWriter, place: str) -> None:
    paragraph: list[str] = []
    lines = text.split("\n")
    widest = max(map(len, lines), default=0)
    for line in lines:
        if line.strip():
            paragraph.append(line.strip())
        ends = line.rstrip().endswith((".", "!", "?", ":", "。", "！", "？")) and len(line) < 0.8 * widest
        if paragraph and (ends or not line.strip()):
            writer.add(SegmentKind.PARAGRAPH, " ".join(paragraph), place=place)
            paragraph = []
    writer.add(SegmentKind.PARAGRAPH, " ".join(paragraph), place=place)


__all__ = ["EXTRACTOR_ID", "extract_pdf"]
