"""Archives made to hurt: each is refused with its reason before a parser sees it, within the memory of a few parts."""

import hashlib
import io
import struct
import tracemalloc
import zipfile
from collections.abc import Callable

import pytest

from local_library.extraction import archive as archive_module
from local_library.extraction.archive import checked_zip
from local_library.extraction.outcome import Unreadable

Zipped = Callable[[dict[str, str | bytes]], bytes]


def reason(content: bytes) -> str:
    with pytest.raises(Unreadable) as caught:
        checked_zip(content)
    return caught.value.code


def stored(name: str, content: bytes = b"x", *, mode: int = 0, flags: int = 0) -> bytes:
    """An archive of one part, with the file mode and the flags that a writer might set."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        entry = zipfile.ZipInfo(name)
        entry.external_attr = mode << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        archive.writestr(entry, content)
    made = bytearray(buffer.getvalue())
    made[6] |= flags
    made[made.rfind(b"PK\x01\x02") + 8] |= flags
    return bytes(made)


@pytest.mark.parametrize("name", ["/etc/passwd", "../x", "word/../../x", "..\\..\\x", "\\\\server\\x"])
def test_a_path_that_leads_outside_is_unsafe(name: str) -> None:
    """Upwards, absolute, and in the notation of Windows."""
    assert reason(stored(name)) == "unsafe"


def test_a_link_is_unsafe() -> None:
    """A part that is a symbolic link points at a file that is none of the archive's."""
    assert reason(stored("word/document.xml", b"/etc/passwd", mode=0o120777)) == "unsafe"


def test_a_part_with_a_password_is_called_encrypted() -> None:
    """The flag in the directory says so before anything is unpacked."""
    assert reason(stored("word/document.xml", flags=1)) == "encrypted"


def overlapping(parts: int, content: bytes) -> bytes:
    """An archive whose directory names one stored part ``parts`` times."""
    honest = stored("word/document.xml", content)
    directory, end = honest.rfind(b"PK\x01\x02"), honest.rfind(b"PK\x05\x06")
    entries = honest[directory:end] * parts
    tail = bytearray(honest[end:])
    tail[8:12] = struct.pack("<HH", parts, parts)
    tail[12:16] = struct.pack("<I", len(entries))
    return honest[:directory] + entries + bytes(tail)


def test_parts_that_lie_over_each_other_are_counted_each_time() -> None:
    """A small file that names the same bytes again and again is a bomb, or damaged where Python sees the overlap."""
    bomb = overlapping(900, b"\x00" * 1_000_000)
    assert len(bomb) < 100_000
    assert reason(bomb) in ("bomb", "damaged")


def test_sizes_of_64_bits_that_lie_reserve_nothing() -> None:
    """A directory that promises exabytes costs no memory."""
    honest = bytearray(stored("word/document.xml", b"hello"))
    directory = honest.rfind(b"PK\x01\x02")
    name = struct.unpack_from("<H", honest, directory + 28)[0]
    huge = struct.pack("<HHQQ", 1, 16, 2**62, 5)
    struct.pack_into("<II", honest, directory + 20, 0xFFFFFFFF, 0xFFFFFFFF)
    struct.pack_into("<H", honest, directory + 30, len(huge))
    honest[directory + 46 + name : directory + 46 + name] = huge
    end = honest.rfind(b"PK\x05\x06")
    struct.pack_into("<I", honest, end + 12, end - directory)
    tracemalloc.start()
    assert reason(bytes(honest)) in ("damaged", "bomb")
    assert tracemalloc.get_traced_memory()[1] < 5_000_000
    tracemalloc.stop()


def test_a_bomb_is_measured_in_steps(zipped: Zipped) -> None:
    """Unpacking is watched step by step, so that hundreds of megabytes are never held."""
    bomb = zipped({"word/document.xml": b"\x00" * 60_000_000})
    tracemalloc.start()
    assert reason(bomb) == "bomb"
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()


def test_more_than_the_bound_is_a_bomb_at_any_ratio(zipped: Zipped, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes that do not pack well fill a memory all the same; unpacking ends at the bound."""
    monkeypatch.setattr(archive_module, "MOST_UNPACKED_BYTES", 100_000)
    assert reason(zipped({"word/document.xml": hashlib.shake_256(b"noise").digest(300_000)})) == "bomb"


def test_an_honest_archive_opens(zipped: Zipped) -> None:
    """The checks refuse nothing that is well, also where a part packs well."""
    archive = checked_zip(zipped({"word/document.xml": "<x/>" * 100_000, "a": ""}))
    assert archive.read("a") == b""
