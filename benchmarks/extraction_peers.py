"""What other readers make of a file: its words and its own outline, to hold the library's text against.

poppler for PDF, pandoc for Word, OpenDocument, EPUB, RTF and Markdown; for HTML, slides and sheets a plain walk over
the markup with lxml. None of them is what the library reads with.
"""

import importlib
import io
import re
import shutil
import subprocess
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

etree: Any = importlib.import_module("lxml.etree")  # its stubs know other types than its trees have
html: Any = importlib.import_module("lxml.html")

_WAIT_SECONDS = 60
_CJK = "\u3040-\u9fff\uac00-\ud7af"
_WORD = re.compile(rf"[{_CJK}]|[^\W_{_CJK}]+")
_HEADINGS = "//h1|//h2|//h3|//h4|//h5|//h6"
_UNSEEN = "//script|//style|//template|//noscript|//head"
_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_SLIDE = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_SHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


class PeerFailed(Exception):
    """Raised when the peer itself cannot read the file."""


@dataclass(frozen=True, slots=True)
class PeerText:
    """A file as the peer sees it."""

    words: Counter[str]
    headings: tuple[str, ...]


def words_of(text: str) -> Counter[str]:
    """Words, case and compatibility forms folded; CJK characters count one by one."""
    return Counter(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


def _ran(*command: str) -> bytes:
    if shutil.which(command[0]) is None:
        raise PeerFailed(f"{command[0]} is not installed")
    try:
        done = subprocess.run(command, capture_output=True, timeout=_WAIT_SECONDS, check=True)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        raise PeerFailed(command[0]) from error
    return done.stdout


def _of_pdf(path: Path) -> PeerText:
    words = words_of(_ran("pdftotext", "-q", str(path), "-").decode("utf-8", "replace"))
    marked = _ran("pdftohtml", "-q", "-xml", "-i", "-f", "1", "-l", "1", "-stdout", str(path))
    tree = etree.fromstring(marked, etree.XMLParser(recover=True, huge_tree=True))
    items = tree.iterfind(".//outline//item") if tree is not None else ()
    return PeerText(words, _named("".join(item.itertext()) for item in items if item.get("page")))


def _of_pandoc(source: str) -> Callable[[Path], PeerText]:
    def read(path: Path) -> PeerText:
        return _of_markup(_ran("pandoc", "-f", source, "-t", "html", "--wrap=none", str(path)))

    return read


def _of_html(path: Path) -> PeerText:
    return _of_markup(path.read_bytes())


def _of_markup(markup: bytes) -> PeerText:
    try:
        tree = html.fromstring(markup, parser=html.HTMLParser(encoding=_declared(markup), huge_tree=True))
    except (etree.ParserError, ValueError) as error:
        raise PeerFailed("lxml") from error
    for unseen in tree.xpath(_UNSEEN):
        unseen.drop_tree()
    headings = _named(" ".join(node.itertext()) for node in tree.xpath(_HEADINGS))
    return PeerText(words_of(" ".join(tree.itertext())), headings)


def _declared(markup: bytes) -> str:
    named = re.search(rb"charset=[\"']?([\w-]+)", markup[:2_048])
    return named.group(1).decode() if named else "utf-8"


def _of_slides(path: Path) -> PeerText:
    words: Counter[str] = Counter()
    titles: list[str] = []
    for slide in _parts(path, r"ppt/slides/slide\d+\.xml"):
        for paragraph in slide.iter(f"{_DRAWING}p"):
            words += words_of("".join(run.text or "" for run in paragraph.iter(f"{_DRAWING}t")))
        for shape in slide.iter(f"{_SLIDE}sp"):
            kinds = {place.get("type") for place in shape.iter(f"{_SLIDE}ph")}
            if kinds & {"title", "ctrTitle"}:
                titles.append("".join(_shown(run) for run in shape.iter(f"{_DRAWING}t", f"{_DRAWING}br")))
    return PeerText(words, _named(titles))


def _shown(run: Any) -> str:
    return " " if run.tag == f"{_DRAWING}br" else run.text or ""


def _of_sheets(path: Path) -> PeerText:
    """The strings of the sheets; numbers and dates depend on formats and are not compared."""
    words: Counter[str] = Counter()
    shared = [
        "".join(text.text or "" for text in item.iter(f"{_SHEET}t") if text.getparent().tag != f"{_SHEET}rPh")
        for part in _parts(path, r"xl/sharedStrings\.xml")
        for item in part.iterfind(f"{_SHEET}si")
    ]
    for sheet in _parts(path, r"xl/worksheets/sheet\d+\.xml"):
        for cell in sheet.iter(f"{_SHEET}c"):
            value = cell.findtext(f"{_SHEET}v") or ""
            if cell.get("t") == "s" and value.isdigit() and int(value) < len(shared):
                words += words_of(shared[int(value)])
    return PeerText(words, ())


def _parts(path: Path, pattern: str) -> list[Any]:
    try:
        with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as archive:
            names = [name for name in archive.namelist() if re.fullmatch(pattern, name, re.IGNORECASE)]
            if not names and "sharedStrings" not in pattern:
                raise PeerFailed("no parts")
            return [etree.fromstring(archive.read(name)) for name in names]
    except (zipfile.BadZipFile, etree.XMLSyntaxError, OSError, ValueError, RuntimeError) as error:
        raise PeerFailed("zip") from error


def _of_text(path: Path) -> PeerText:
    """Text of a known encoding: the name of a folder above it says which; else UTF-8."""
    for encoding in (*_encodings(path), "utf-8"):
        try:
            return PeerText(words_of(path.read_bytes().decode(encoding)), ())
        except (UnicodeDecodeError, LookupError):
            continue
    raise PeerFailed("encoding")


def _encodings(path: Path) -> list[str]:
    parts = [re.sub(r"-[a-z]+$", "", part.lower()) for part in path.parts[-3:-1]]
    return [part for part in parts if re.fullmatch(r"[a-z]+[-_]?\d.*|utf.*|big5.*|koi8.*|euc.*", part)]


def _named(titles: Any) -> tuple[str, ...]:
    return tuple(title for one in titles if (title := " ".join(one.split())))


PEERS: Mapping[str, tuple[str, Callable[[Path], PeerText]]] = {
    "pdf": ("poppler", _of_pdf),
    "html": ("lxml", _of_html),
    "word": ("pandoc", _of_pandoc("docx")),
    "open_text": ("pandoc", _of_pandoc("odt")),
    "book": ("pandoc", _of_pandoc("epub")),
    "rich_text": ("pandoc", _of_pandoc("rtf")),
    "markdown": ("pandoc", _of_pandoc("gfm")),
    "slides": ("lxml", _of_slides),
    "sheets": ("lxml", _of_sheets),
    "text": ("known encoding", _of_text),
}

__all__ = ["PEERS", "PeerFailed", "PeerText", "words_of"]
