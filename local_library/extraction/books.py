"""EPUB: the chapters in the order of its spine, each as HTML; its table of contents names those without a heading."""

import posixpath
import re
import zipfile
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from .archive import checked_zip
from .decoding import decoded
from .html import write_html
from .markup import safe_xml
from .office import attribute, local
from .outcome import Unreadable
from .segments import SegmentWriter

EXTRACTOR_ID = "epub-2"
_INTERNAL_SUBSET = re.compile(r"<!DOCTYPE[^\[>]{0,400}\[.*?\]\s*>", re.DOTALL | re.IGNORECASE)  # HTML knows none
_HEADING = re.compile(r"<h[1-6][\s>]", re.IGNORECASE)
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
    folder = posixpath.dirname(package_path)
    items = package.findall(".//o:manifest/o:item", _NAMES)
    hrefs = {item.get("id"): _target(folder, item.get("href") or "") for item in items}
    labels = _labels(archive, [hrefs[item.get("id")] for item in items if _is_contents(item)])
    spine = package.findall(".//o:spine/o:itemref", _NAMES)
    writer.pages = len(spine)
    for reference in spine:
        path = hrefs.get(reference.get("idref"))
        if path:
            _write_chapter(archive, path, labels, writer)


def _write_chapter(archive: zipfile.ZipFile, path: str, labels: Mapping[str, str], writer: SegmentWriter) -> None:
    name = posixpath.basename(path)
    try:
        markup = _INTERNAL_SUBSET.sub("", decoded(archive.read(path), is_markup=True)[0])
    except KeyError:
        writer.warn(f"The chapter {name!r} is missing.")
        return
    if path in labels and not _HEADING.search(markup):
        writer.heading(labels[path], 1, place=f"chapter={name}")
    write_html(markup, writer, place=f"chapter={name}")


def _is_contents(item: Any) -> bool:
    return "nav" in (item.get("properties") or "").split() or item.get("media-type") == "application/x-dtbncx+xml"


def _labels(archive: zipfile.ZipFile, paths: list[str]) -> dict[str, str]:
    """What the table of contents calls each chapter's file: the first label that leads to it."""
    labels: dict[str, str] = {}
    for path in paths:
        try:
            root = safe_xml(archive.read(path))
        except (KeyError, Unreadable):
            continue
        for point in root.iter("{*}navPoint", "{*}a"):
            leads = attribute(next(point.iter("{*}content"), point), "src") or attribute(point, "href")
            label = next(point.iter("{*}navLabel"), None) if local(point) == "navPoint" else point
            text = " ".join("".join(label.itertext()).split()) if label is not None else ""
            if text and leads:
                labels.setdefault(_target(posixpath.dirname(path), leads), text)
    return labels


def _target(folder: str, href: str) -> str:
    return posixpath.normpath(posixpath.join(folder, unquote(href.partition("#")[0])))


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
