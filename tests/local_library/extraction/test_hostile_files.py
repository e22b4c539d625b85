"""Files made to hurt: each ends in a clear typed outcome, and the reader goes on."""

import io
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from local_library import DocumentRejected, ReadingLimits
from local_library.extraction.limited import LimitedExtractor


def refused(extractor: LimitedExtractor, path: str, content: bytes) -> DocumentRejected:
    with pytest.raises(DocumentRejected) as caught:
        extractor.extract(path, content, "hash")
    assert str(caught.value).startswith(f"{path}: ")
    return caught.value


def tried(extractor: LimitedExtractor, path: str, content: bytes) -> tuple[str, str, tuple[str, ...]]:
    """The refusal's code, or the text and the warnings."""
    try:
        extracted, _ = extractor.extract(path, content, "hash")
    except DocumentRejected as error:
        return error.reason_code, "", ()
    return "", "\n".join(one.text for one in extracted.segments), extracted.warnings


def flate_bomb(unpacked: int) -> bytes:
    """A small PDF whose page unpacks, twice over, to ``unpacked`` bytes."""
    packer = zlib.compressobj(9)
    block = b"\x00" * 1_000_000
    inner = b"".join(packer.compress(block) for _ in range(unpacked // len(block))) + packer.flush()
    stream = zlib.compress(inner, 9)
    parts = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R >>",
        b"<< /Length %d /Filter [/FlateDecode /FlateDecode] >>\nstream\n%b\nendstream" % (len(stream), stream),
    ]
    body = b"%PDF-1.5\n" + b"".join(b"%d 0 obj\n%b\nendobj\n" % item for item in enumerate(parts, start=1))
    return body + b"trailer << /Root 1 0 R /Size 5 >>\n"


@pytest.mark.parametrize("name", ["a.md", "a.pdf", "a.docx", "a.txt", "a.html"])
def test_an_empty_file_is_called_empty(extractor: LimitedExtractor, name: str) -> None:
    """Nothing, or blanks alone, is no document."""
    assert refused(extractor, name, b"").reason_code == "empty"
    assert refused(extractor, name, b" \n\t ").reason_code == "empty"


def test_an_encrypted_pdf_says_so(extractor: LimitedExtractor, pdf: Callable[..., bytes]) -> None:
    """A file behind a password is refused as that, not as damaged."""
    error = refused(extractor, "a.pdf", pdf(["secret"], password="open sesame"))
    assert error.reason_code == "encrypted"
    assert str(error) == "a.pdf: is protected by a password. Save it without a password."


def test_an_encrypted_office_file_says_so(extractor: LimitedExtractor) -> None:
    """Office encryption wraps the package in an OLE file."""
    content = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 600 + "EncryptedPackage".encode("utf-16-le")
    assert refused(extractor, "a.docx", content).reason_code == "encrypted"


def test_a_scan_without_text_says_what_to_do(extractor: LimitedExtractor, pdf: Callable[..., bytes]) -> None:
    """A PDF of pictures alone is refused with the way out."""
    error = refused(extractor, "a.pdf", pdf(["", ""]))
    assert (error.reason_code, error.remedy) == ("no_text", "Run text recognition (OCR) on it first")


@pytest.mark.parametrize("kind", ["word", "slides", "sheet", "book", "open_text"])
@pytest.mark.parametrize("share", [0.3, 0.9])
def test_a_truncated_file_is_called_damaged(
    extractor: LimitedExtractor, request: pytest.FixtureRequest, kind: str, share: float
) -> None:
    """Half a download is refused, wherever it was cut."""
    suffix = {"word": "docx", "slides": "pptx", "sheet": "xlsx", "book": "epub", "open_text": "odt"}[kind]
    content: bytes = request.getfixturevalue(kind)
    assert refused(extractor, f"a.{suffix}", content[: int(len(content) * share)]).reason_code == "damaged"


def test_a_truncated_pdf_is_refused_or_read_in_part(extractor: LimitedExtractor, pdf: Callable[..., bytes]) -> None:
    """A PDF cut early has no pages left to read."""
    content = pdf(["Some text."] * 30)
    assert refused(extractor, "a.pdf", content[:200]).reason_code in ("damaged", "empty")


def test_a_file_is_read_as_what_it_is(extractor: LimitedExtractor, pdf: Callable[..., bytes]) -> None:
    """A PDF named .txt is read as a PDF, and the report says so."""
    extracted, media_type = extractor.extract("a.txt", pdf(["Boilers."]), "hash")
    assert media_type == "application/pdf"
    assert extracted.warnings == ("Its name ends in .txt, but it is application/pdf and was read as that.",)


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("a.pdf", b"just some words", "mislabelled"),
        ("a.docx", b"just some words", "mislabelled"),
        ("a.txt", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00", "kind"),
        ("a.exe", b"MZ\x90\x00\x03\x00\x00\x00", "kind"),
        ("a.unknown", b"words", "kind"),
    ],
)
def test_a_mislabelled_or_unknown_file_is_refused(
    extractor: LimitedExtractor, name: str, content: bytes, code: str
) -> None:
    """Bytes that do not fit the name, or fit no reader, are not guessed at."""
    assert refused(extractor, name, content).reason_code == code


def test_a_picture_is_refused_in_a_whole_sentence(extractor: LimitedExtractor) -> None:
    """What the file is comes from a table of names without articles, so it stands in quotation marks."""
    picture = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00"
    said = str(refused(extractor, "a.png", picture))
    assert "is of the kind 'Portable Network Graphics file', which the library does not read" in said


def test_a_pdf_that_unpacks_to_gigabytes_is_ended(extractor: LimitedExtractor) -> None:
    """The bomb costs its child process, not this one."""
    bomb = flate_bomb(700_000_000)
    assert len(bomb) < 20_000
    assert refused(extractor, "bomb.pdf", bomb).reason_code in ("crashed", "too_slow", "no_text", "damaged")
    assert extractor.extract("a.md", b"still here", "hash")[0].segments[0].text == "still here"


@pytest.mark.parametrize("name", ["a.docx", "a.xlsx", "a.pptx", "a.epub", "a.odt"])
def test_a_zip_that_unpacks_to_far_more_is_a_bomb(
    extractor: LimitedExtractor, zipped: Callable[[dict[str, str | bytes]], bytes], name: str
) -> None:
    """The ratio is measured by unpacking, before any parser sees the file."""
    folder = {"a.docx": "word/document.xml", "a.xlsx": "xl/workbook.xml", "a.pptx": "ppt/x.xml"}.get(name, "x.xml")
    kind = {"a.epub": b"application/epub+zip", "a.odt": b"application/vnd.oasis.opendocument.text"}
    parts: dict[str, str | bytes] = {"mimetype": kind[name]} if name in kind else {}
    assert refused(extractor, name, zipped(parts | {folder: b" " * 60_000_000})).reason_code == "bomb"


def test_a_zip_that_lies_about_its_size_is_measured(
    extractor: LimitedExtractor, zipped: Callable[[dict[str, str | bytes]], bytes]
) -> None:
    """A header that promises ten bytes does not hide sixty million."""
    honest = bytearray(zipped({"word/document.xml": b" " * 60_000_000}))
    directory = honest.rfind(b"PK\x01\x02")
    for offset in (22, directory + 24):
        honest[offset : offset + 4] = struct.pack("<I", 10)
    assert refused(extractor, "a.docx", bytes(honest)).reason_code in ("bomb", "damaged")


def test_paths_that_lead_outside_are_refused(
    extractor: LimitedExtractor, zipped: Callable[[dict[str, str | bytes]], bytes]
) -> None:
    """An archive part named ../x is never touched."""
    content = zipped({"word/document.xml": "<x/>", "../../etc/cron.d/x": "boom"})
    assert refused(extractor, "a.docx", content).reason_code == "unsafe"


def test_archives_in_archives_are_refused(
    extractor: LimitedExtractor, zipped: Callable[[dict[str, str | bytes]], bytes]
) -> None:
    """No archive within an Office file is unpacked."""
    content = zipped({"word/document.xml": "<x/>", "word/more.zip": zipped({"a": "b"})})
    assert refused(extractor, "a.docx", content).reason_code == "nested"


def test_too_many_parts_are_refused(extractor: LimitedExtractor) -> None:
    """Ten thousand and one empty parts cost no time."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for number in range(10_001):
            archive.writestr(f"word/{number}", "")
    assert refused(extractor, "a.docx", buffer.getvalue()).reason_code == "bomb"


def test_entities_are_not_expanded(
    extractor: LimitedExtractor, zipped: Callable[[dict[str, str | bytes]], bytes]
) -> None:
    """Nested XML entities and entities that name files stay unexpanded."""
    entities = "".join(f"<!ENTITY a{n} '{f'&a{n - 1};' * 10}'>" for n in range(1, 12))
    content = f"<?xml version='1.0'?><!DOCTYPE x [<!ENTITY a0 'ha'>{entities}<!ENTITY f SYSTEM 'file:///etc/passwd'>]>"
    names = " ".join(f"xmlns:{n}='urn:oasis:names:tc:opendocument:xmlns:{n}:1.0'" for n in ("office", "text"))
    body = f"<office:d {names}><office:text><text:p>Hello &a11; &f;</text:p></office:text></office:d>"
    parts: dict[str, str | bytes] = {
        "mimetype": "application/vnd.oasis.opendocument.text",
        "META-INF/manifest.xml": "<manifest/>",
        "content.xml": content + body,
    }
    code, text, _ = tried(extractor, "a.odt", zipped(parts))
    assert code in ("", "damaged")
    assert len(text) < 100
    assert "root:" not in text


def pdf_of(*objects: bytes) -> bytes:
    body = b"%PDF-1.5\n" + b"".join(b"%d 0 obj\n%b\nendobj\n" % item for item in enumerate(objects, start=1))
    return body + b"trailer << /Root 1 0 R /Size %d >>\n" % (len(objects) + 1)


@pytest.mark.parametrize(
    "objects",
    [
        (b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [2 0 R] /Count 1 >>"),
        (b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [3 0 R] /Count 2000000000 >>", b"<< >>"),
        (
            b"<< /Type /Catalog /Pages 2 0 R /Outlines 4 0 R >>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>",
            b"<< /First 5 0 R >>",
            b"<< /Title (a) /Next 5 0 R /First 5 0 R /Dest [3 0 R /Fit] >>",
        ),
    ],
    ids=["pages in a circle", "two thousand million pages", "bookmarks in a circle"],
)
def test_a_pdf_that_never_ends_is_refused(extractor: LimitedExtractor, objects: tuple[bytes, ...]) -> None:
    """Page trees and bookmarks that lead back to themselves, and a count that is a lie, cost one file its place."""
    codes = ("empty", "damaged", "no_text", "too_slow", "too_much_memory", "crashed")
    assert refused(extractor, "a.pdf", pdf_of(*objects)).reason_code in codes
    assert extractor.extract("a.md", b"still here", "hash")[0].segments[0].text == "still here"


def test_word_parts_nested_without_end_are_read_as_far_as_it_goes(
    extractor: LimitedExtractor, zipped: Callable[[dict[str, str | bytes]], bytes]
) -> None:
    """Ten thousand controls within each other do not exhaust the stack."""
    main = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    deep = "<sdt><sdtContent>" * 10_000 + "<p><r><t>deep</t></r></p>" + "</sdtContent></sdt>" * 10_000
    body = f"<document xmlns='{main}'><body><p><r><t>On top.</t></r></p>{deep}</body></document>"
    code, text, warnings = tried(extractor, "a.docx", zipped({"word/document.xml": body}))
    assert (code, text) == ("", "On top.")
    assert warnings == ("Parts nested too deeply were left out.",)


@pytest.mark.parametrize("name", ["a.docx", "a.epub"])
def test_no_parser_reads_a_file_that_a_document_names(
    extractor: LimitedExtractor, zipped: Callable[[dict[str, str | bytes]], bytes], tmp_path: Path, name: str
) -> None:
    """An external entity stays unresolved, whatever the kind."""
    (tmp_path / "secret").write_text("swordfish")
    head = f"<!DOCTYPE d [<!ENTITY f SYSTEM 'file://{tmp_path}/secret'>]>"
    main = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    container = "urn:oasis:names:tc:opendocument:xmlns:container"
    parts: dict[str, str | bytes] = {
        "word/document.xml": f"{head}<document xmlns='{main}'><body><p><r><t>Hi &f;</t></r></p></body></document>",
    }
    if name == "a.epub":
        parts = {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": f"<container xmlns='{container}'><rootfiles><rootfile full-path='p.opf'/>"
            "</rootfiles></container>",
            "p.opf": f"{head}<package xmlns='http://www.idpf.org/2007/opf'><manifest><item id='a' href='a.xhtml'/>"
            "</manifest><spine><itemref idref='a'/></spine></package>",
            "a.xhtml": f"{head}<html><body><p>Hi &f;</p></body></html>",
        }
    code, text, _ = tried(extractor, name, zipped(parts))
    assert code == ""
    assert text.startswith("Hi")
    assert "swordfish" not in text


@pytest.mark.parametrize("depth", [2_000, 50_000])
def test_deeply_nested_html_is_read_as_far_as_it_goes(extractor: LimitedExtractor, depth: int) -> None:
    """Depth is capped and reported, or refused; the reader does not die of it."""
    content = b"<p>On top.</p>" + b"<div>" * depth + b"deep" + b"</div>" * depth
    code, text, warnings = tried(extractor, "a.html", content)
    assert code in ("", "damaged", "crashed", "too_slow", "too_much_memory")
    if not code:
        assert text.startswith("On top.")
        assert "Parts nested too deeply were left out." in warnings


def test_a_reader_that_takes_too_long_is_ended(pdf: Callable[..., bytes]) -> None:
    """The wall clock ends a file even when it asks for nothing else."""
    reader = LimitedExtractor(ReadingLimits(wall_seconds=0.0, processes=1))
    try:
        assert refused(reader, "a.pdf", pdf(["x"] * 50)).reason_code == "too_slow"
    finally:
        reader.close()


def test_a_very_long_pdf_is_read_in_its_first_part(pdf: Callable[..., bytes]) -> None:
    """What fits into the time is kept, and the report says where it ends."""
    reader = LimitedExtractor(ReadingLimits(cpu_seconds=1, processes=1))
    try:
        code, text, warnings = tried(reader, "a.pdf", pdf([f"Page {number} text." for number in range(10_000)]))
    finally:
        reader.close()
    whole = text.count("Page") == 10_000
    assert code == "too_slow" or whole or any("first part" in warning for warning in warnings)
