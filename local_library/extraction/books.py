"""EPUB: the chapters in the order of its spine, each as HTML."""

import posixpath
import zipfile
from urllib.parse import unquote

from .archive import checked_zip
from .html import write_html
from .markup import safe_xml
from .outcome import Unreadable
from .segments import SegmentWriter

EXTRACTOR_ID = "epub-1"
_NAMES = {
    "c": "urn:oasis:names:tc:opendocument:xmlns:container",
    "o": "http://www.idpf.org/2007/opf",
    "dc": "http://purl.org/dc/elements/1.1/",
}


def extract_book(content: bytes, writer: SegmentWriter) -> None:
    """Write the chapters of an EPUB; a chapter's file is its place."""
    archive = checked_zip(content)
    if "META-INF/encryption.xml" in archive.namelist() and "META-INF/rights.xml" in archive.namelist():
        raise Unreadable("encrypted", "is protected against copying", "Import a copy without protection")
    package_path = _package_path(archive)
    package = safe_xml(_part(archive, package_path))
    writer.title = " ".join((package.findtext(".//dc:title", "", _NAMES) or "").split())
    hrefs = {item.get("id"): item.get("href") for item in package.iterfind(".//o:manifest/o:item", _NAMES)}
    spine = package.findall(".//o:spine/o:itemref", _NAMES)
    writer.pages = len(spine)
    for reference in spine:
        href = hrefs.get(reference.get("idref"))
        if href:
            _write_chapter(archive, posixpath.join(posixpath.dirname(package_path), unquote(href)), writer)


def _write_chapter(archive: zipfile.ZipFile, path: str, writer: SegmentWriter) -> None:
    name = posixpath.normpath(path.split("#")[0])
    try:
        markup = archive.read(name).decode("utf-8", errors="replace")
    except KeyError:
        writer.warn(f"The chapter {posixpath.basename(name)!r} is missing.")
        return
    write_html(markup, writer, place=f"chapter={posixpath.basename(name)}")


def _package_path(archive: zipfile.ZipFile) -> str:
    container = safe_xml(_part(archive, "META-INF/container.xml"))
    root = container.find(".//c:rootfile", _NAMES)
    path = root.get("full-path") if root is not None else None
    if not path:
        raise Unreadable("damaged", "does not say where its text is", "Save it again from its program")
    return str(path)


def _part(archive: zipfile.ZipFile, name: str) -> bytes:
    try:
        return archive.read(name)
    except KeyError as error:
        raise Unreadable("damaged", "lacks a part that it needs", "Save it again from its program") from error


__all__ = ["EXTRACTOR_ID", "extract_book"]
