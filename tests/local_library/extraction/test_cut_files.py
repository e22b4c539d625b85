"""A file cut anywhere, or with a byte changed anywhere, ends in text or in a typed refusal, never in a failure."""

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from local_library.extraction.outcome import Unreadable
from local_library.extraction.reading import read

CODES = {"empty", "no_text", "encrypted", "damaged", "mislabelled", "kind", "bomb", "nested", "unsafe", "too_large"}
Whole = Callable[[str], bytes]
KINDS = {"word": "docx", "slides": "pptx", "sheet": "xlsx", "book": "epub", "open_text": "odt"}
TEXTS = {
    "rtf": rb"{\rtf1\ansi{\fonttbl{\f0\fcharset128 A;}}{\stylesheet{\s1 heading 1;}}\s1 Caf\'e9\par\u20320?{\v x}}",
    "html": b"<html><head><title>T</title></head><body><table><tr><td rowspan=2>a<td>b</table><h1>H</h1><pre>x</pre>",
    "csv": 'City;Note\nOslo;"a ""b"" c"\nRome;ü\n'.encode(),
    "md": "---\ntitle: T\n---\n# H\n\n| a | b |\n|---|---|\n| 1 | ü |\n".encode(),
    "txt": "Guide\n=====\n\nFünfzehn Tage, 十五天.\n".encode("utf-16"),
}


def outcome(name: str, content: bytes) -> str:
    """The refusal's code, or nothing where text came out. Any other error fails the test."""
    try:
        read(name, content, "hash", seconds=60)
    except Unreadable as error:
        return error.code
    return ""


@pytest.fixture(scope="module")
def whole(request: pytest.FixtureRequest, pdf: Callable[..., bytes]) -> Whole:
    """One whole file of each kind, by its suffix."""
    made = {suffix: request.getfixturevalue(kind) for kind, suffix in KINDS.items()}
    made |= TEXTS | {"pdf": pdf(["One.\nTwo.", "Three."], [("One", 0, 0)], title="T")}
    return lambda suffix: made[suffix]


SUFFIXES = st.sampled_from([*KINDS.values(), *TEXTS, "pdf"])
SHARED = settings(
    max_examples=100, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@SHARED
@given(suffix=SUFFIXES, share=st.floats(0, 1))
def test_a_file_cut_anywhere_is_read_in_part_or_refused(whole: Whole, suffix: str, share: float) -> None:
    """Half a download is damaged or holds the first part of its text."""
    content = whole(suffix)
    assert outcome(f"a.{suffix}", content[: int(len(content) * share)]) in {"", *CODES}


@SHARED
@given(suffix=SUFFIXES, share=st.floats(0, 0.999), byte=st.integers(0, 255))
def test_a_file_with_a_wrong_byte_is_read_or_refused(whole: Whole, suffix: str, share: float, byte: int) -> None:
    """A flipped bit on a disk costs that file at most."""
    content = bytearray(whole(suffix))
    content[int(len(content) * share)] = byte
    assert outcome(f"a.{suffix}", bytes(content)) in {"", *CODES}


@SHARED
@given(suffix=SUFFIXES, content=st.binary(max_size=300))
def test_any_bytes_under_any_name_are_read_or_refused(suffix: str, content: bytes) -> None:
    """Whatever a file is called and holds."""
    assert outcome(f"a.{suffix}", content) in {"", *CODES}


def test_whole_files_are_read(whole: Whole) -> None:
    """The files that the other tests break are well."""
    suffixes = [*KINDS.values(), *TEXTS, "pdf"]
    assert [outcome(f"a.{suffix}", whole(suffix)) for suffix in suffixes] == [""] * len(suffixes)
