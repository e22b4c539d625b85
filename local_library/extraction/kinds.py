"""Which kind of file this is: its name proposes, its bytes decide."""

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import PurePath

from .archive import unpacking
from .decoding import wide_encoding
from .outcome import Unreadable


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file: the name of its reader and its media type."""

    name: str
    media_type: str


_OFFICE = "application/vnd.openxmlformats-officedocument"
KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("markdown", "text/markdown"),
        Kind("text", "text/plain"),
        Kind("code", "text/x-source"),
        Kind("html", "text/html"),
        Kind("csv", "text/csv"),
        Kind("pdf", "application/pdf"),
        Kind("word", f"{_OFFICE}.wordprocessingml.document"),
        Kind("slides", f"{_OFFICE}.presentationml.presentation"),
        Kind("sheets", f"{_OFFICE}.spreadsheetml.sheet"),
        Kind("book", "application/epub+zip"),
        Kind("rich_text", "application/rtf"),
        Kind("open_text", "application/vnd.oasis.opendocument.text"),
    )
}
_SUFFIXES: Mapping[str, str] = {
    "markdown": "md markdown mdown mkd",
    "text": "txt text log rst adoc asciidoc org tex",
    "code": "py pyi js mjs ts tsx jsx java kt c h cc cpp hpp cs go rs rb php swift scala sh bash sql lua r pl json "
    "yaml yml toml ini cfg xml css proto gradle tf",
    "html": "html htm xhtml",
    "csv": "csv tsv",
    "pdf": "pdf",
    "word": "docx docm",
    "slides": "pptx pptm",
    "sheets": "xlsx xlsm xls ods",
    "book": "epub",
    "rich_text": "rtf",
    "open_text": "odt",
}
_KIND_OF_SUFFIX = {f".{suffix}": KINDS[name] for name, suffixes in _SUFFIXES.items() for suffix in suffixes.split()}
_TEXT_KINDS = frozenset({"markdown", "text", "code", "html", "csv"})
_ZIP_PARTS = (("word", "word"), ("ppt", "slides"), ("xl", "sheets"))
_ZIP_TYPES = {
    b"application/epub+zip": "book",
    b"application/vnd.oasis.opendocument.text": "open_text",
    b"application/vnd.oasis.opendocument.spreadsheet": "sheets",
}
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def is_readable(path: PurePath) -> bool:
    """Whether a file's name says that the library can read it."""
    return path.suffix.lower() in _KIND_OF_SUFFIX


def named_kind(path: str) -> Kind | None:
    """The kind that a file's name says, if it says one."""
    return _KIND_OF_SUFFIX.get(PurePath(path).suffix.lower())


def kind_of(path: str, content: bytes) -> tuple[Kind, str]:
    """The kind of ``content`` and a warning where its name says another. Raises `Unreadable` for other kinds."""
    named = named_kind(path)
    found = _seen_kind(content, named)
    if found is None:
        if named is None or _is_binary(content):
            raise _unknown(content)
        return named, ""
    if named is None or named.name == found.name:
        return found, ""
    return found, f"Its name ends in {PurePath(path).suffix}, but it is {found.media_type} and was read as that."


def _seen_kind(content: bytes, named: Kind | None) -> Kind | None:
    start = content[:1_024].lstrip()
    if start.startswith(b"%PDF-"):
        return KINDS["pdf"]
    if start.startswith(b"{\\rtf"):
        return KINDS["rich_text"]
    if content.startswith(b"PK\x03\x04"):
        return _zip_kind(content)
    if content.startswith(_OLE):
        return _ole_kind(content, named)
    if named is not None and named.name not in _TEXT_KINDS:
        lower = start[:64].lower()
        if lower.startswith((b"<!doctype html", b"<html")):
            return KINDS["html"]
        if named.name in ("pdf", "rich_text") or not _is_binary(content):
            problem = f"is named {named.name.replace('_', ' ')} but is something else"
            raise Unreadable("mislabelled", problem, "Give it the ending of what it is, or save it again")
        raise Unreadable("damaged", "is damaged or cut off", "Save it again from its program")
    return None


def _zip_kind(content: bytes) -> Kind:
    with unpacking(), zipfile.ZipFile(BytesIO(content)) as archive:
        names = archive.namelist()[:2_000]
        declared = archive.open("mimetype").read(100).strip() if "mimetype" in names else b""
    if declared in _ZIP_TYPES:
        return KINDS[_ZIP_TYPES[declared]]
    folders = {name.replace("\\", "/").lstrip("/").lower().partition("/")[0] for name in names}
    for folder, kind in _ZIP_PARTS:
        if folder in folders:
            return KINDS[kind]
    raise Unreadable("kind", "is an archive", "Unpack it and import the documents inside")


def _ole_kind(content: bytes, named: Kind | None) -> Kind:
    if "EncryptedPackage".encode("utf-16-le") in content:
        raise Unreadable("encrypted", "is protected by a password", "Save it without a password")
    if "Workbook".encode("utf-16-le") in content or (named is not None and named.name == "sheets"):
        return KINDS["sheets"]
    raise Unreadable("kind", "is an Office file from before 2007", "Save it as .docx or .pptx")


def _is_binary(content: bytes) -> bool:
    start = content[:8_192]
    if b"\x00" not in start or start.startswith((b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")):
        return False
    return not wide_encoding(content)


def _unknown(content: bytes) -> Unreadable:
    import puremagic  # loads tables; only files that will be refused need it

    try:
        guesses = puremagic.magic_string(content[:4_096])
        what = f"is of the kind {guesses[0].name!r}" if guesses and guesses[0].name else "is of an unknown kind"
    except (puremagic.PureError, ValueError, IndexError):
        what = "is of an unknown kind"
    return Unreadable("kind", f"{what}, which the library does not read", "Save it as text, PDF or an Office file")


__all__ = ["KINDS", "Kind", "is_readable", "kind_of", "named_kind"]
