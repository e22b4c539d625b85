"""Checks a zip-based file before a parser sees it: what unpacking really yields, not what the headers say."""

import io
import lzma
import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePosixPath

from .outcome import Unreadable

MOST_ENTRIES = 10_000
MOST_UNPACKED_BYTES = 400_000_000
HIGHEST_RATIO = 200
_RATIO_COUNTS_FROM_BYTES = 5_000_000
_STEP_BYTES = 65_536
_ENCRYPTED = 0x1
_NESTED = (".zip", ".gz", ".bz2", ".xz", ".7z", ".rar", ".tar")
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    NotImplementedError,
    RuntimeError,
    OSError,
    ValueError,
)


def checked_zip(content: bytes) -> zipfile.ZipFile:
    """The opened archive, once entries, paths, nesting, size and ratio were found harmless by streaming them."""
    with unpacking():
        archive = zipfile.ZipFile(io.BytesIO(content))
    entries = archive.infolist()
    if len(entries) > MOST_ENTRIES:
        raise _bomb(f"holds {len(entries):,} parts")
    unpacked = 0
    for entry in entries:
        _check_entry(entry)
        unpacked += _streamed_bytes(archive, entry, MOST_UNPACKED_BYTES - unpacked)
        if unpacked > _RATIO_COUNTS_FROM_BYTES and unpacked > HIGHEST_RATIO * len(content):
            raise _bomb("unpacks to far more than its size")
    if "META-INF/manifest.xml" in archive.namelist() and b"encryption-data" in archive.read("META-INF/manifest.xml"):
        raise _encrypted()  # OpenDocument encrypts each part and leaves the archive open
    return archive


def _check_entry(entry: zipfile.ZipInfo) -> None:
    path = PurePosixPath(entry.filename.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or ":" in path.parts[0:1]:
        raise Unreadable("unsafe", "holds a part whose path leads outside of it", "Do not open it; ask its sender")
    if stat.S_ISLNK(entry.external_attr >> 16):
        raise Unreadable("unsafe", "holds a link to another file", "Do not open it; ask its sender")
    if entry.flag_bits & _ENCRYPTED:
        raise _encrypted()
    if path.suffix.lower() in _NESTED:
        raise Unreadable("nested", "holds another archive", "Unpack it and import the documents inside")


def _streamed_bytes(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, room: int) -> int:
    size = 0
    with unpacking(), archive.open(entry) as part:
        while step := part.read(_STEP_BYTES):
            size += len(step)
            if size > room:
                raise _bomb("unpacks to far more than it should")
    return size


@contextmanager
def unpacking() -> Iterator[None]:
    """What goes wrong while an archive is opened or unpacked says that the file is damaged."""
    try:
        yield
    except _BROKEN as error:
        raise Unreadable("damaged", "is damaged or cut off", "Save it again from its program") from error


def _encrypted() -> Unreadable:
    return Unreadable("encrypted", "is protected by a password", "Save it without a password")


def _bomb(problem: str) -> Unreadable:
    return Unreadable("bomb", problem, "It looks made to exhaust this machine; do not open it")


__all__ = ["checked_zip", "unpacking"]
