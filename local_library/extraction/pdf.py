"""PDF: text page by page; the bookmarks are the headings."""

import ctypes
import re
from collections.abc import Sequence

import pypdfium2  # type: ignore[import-untyped]
import pypdfium2.raw as pdfium  # type: ignore[import-untyped]

from ..records import SegmentKind
from .outcome import Unreadable
from .segments import SegmentWriter

EXTRACTOR_ID = "pdf-1"
_MOST_BOOKMARKS = 20_000
_DEEPEST_BOOKMARK = 8
_NAMED_PAGES = 12
_HYPHEN = re.compile(r"(?<=\w)[-\u00ad\ufffe\u0002]\n(?=[a-zäöüß])")

Bookmarks = dict[int, list[tuple[str, int]]]


def extract_pdf(content: bytes, writer: SegmentWriter) -> None:
    """Write the segments of a PDF. Pages without text are named; a file of such pages only is refused."""
    document = _opened(content)
    writer.title = _metadata(document, "Title")
    writer.pages = len(document)
    bookmarks = _bookmarks(document)
    silent: list[int] = []
    for number in range(len(document)):
        writer.check_time()
        text = _page_text(document, number, writer)
        if not text.strip():
            silent.append(number + 1)
        _write_page(text, bookmarks.get(number, []), writer, f"page={number + 1}")
    if silent and len(silent) == len(document):
        raise Unreadable("no_text", "holds no text, only pictures of pages", "Run text recognition (OCR) on it first")
    if silent:
        named = ", ".join(map(str, silent[:_NAMED_PAGES])) + ("…" if len(silent) > _NAMED_PAGES else "")
        writer.warn(f"{len(silent)} of {len(document)} pages hold no text, perhaps scans: {named}.")


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


def _page_text(document: pypdfium2.PdfDocument, number: int, writer: SegmentWriter) -> str:
    try:
        page = document[number]
        try:
            text_page = page.get_textpage()
            try:
                return str(text_page.get_text_range(errors="replace")).replace("\r\n", "\n").replace("\r", "\n")
            finally:
                text_page.close()
        finally:
            page.close()
    except pypdfium2.PdfiumError:
        writer.warn(f"Page {number + 1} is damaged and was left out.")
        return ""


def _write_page(text: str, headings: Sequence[tuple[str, int]], writer: SegmentWriter, place: str) -> None:
    rest = _HYPHEN.sub("", text)
    for title, level in headings:
        before, found, after = _split_at(rest, title)
        if found:
            _write_paragraphs(before, writer, place)
            rest = after
        writer.heading(title, level, place=place)
    _write_paragraphs(rest, writer, place)


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
