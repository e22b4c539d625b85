"""Text from bytes of any encoding."""

import codecs
import re

from .guessed_encoding import guessed_encoding

_MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_SAMPLE_BYTES = 262_144
_WIDE_SAMPLE_BYTES = 4_096
_DECLARED = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?\s*([\w.:-]{2,40})""", re.IGNORECASE)
# What pages call an encoding, and what programs that write them mean by it.
_MEANT = {"latin_1": "cp1252", "iso8859-1": "cp1252", "ascii": "cp1252", "gb2312": "gb18030", "gbk": "gb18030"}
_MEANT |= {"shift_jis": "cp932", "euc_kr": "cp949", "big5": "big5hkscs"}


def decoded(content: bytes, *, is_markup: bool = False) -> tuple[str, str]:
    """The text of ``content`` and the encoding it was read in; line ends become ``\\n``.

    Markup may declare its encoding, which is believed unless the bytes are UTF-8 or do not fit.
    """
    encoding = _encoding(content, is_markup=is_markup)
    text = content.decode(encoding, errors="replace").removeprefix("\ufeff")
    return text.replace("\r\n", "\n").replace("\r", "\n"), encoding


def _encoding(content: bytes, *, is_markup: bool) -> str:
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return encoding
    wide = wide_encoding(content)
    if wide:
        return wide
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return (_declared(content) if is_markup else "") or guessed_encoding(content[:_SAMPLE_BYTES])
    return _escaped(content) or "utf-8"


def wide_encoding(content: bytes) -> str:
    """UTF-16 or UTF-32 without a mark, told by where the zero bytes stand; empty for anything else."""
    sample = content[:_WIDE_SAMPLE_BYTES]
    if b"\x00" not in sample or len(sample) < 4:
        return ""
    zeros = [sample[start::4].count(0) / len(sample[start::4]) for start in range(4)]
    for encoding, low, high in (("utf-32-le", 0, (2, 3)), ("utf-32-be", 3, (0, 1))):
        if min(zeros[at] for at in high) > 0.9 and zeros[low] < 0.9:
            return encoding if _decodes(content, encoding) else ""
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    for encoding, high_zeros, low_zeros in (("utf-16-le", odd, even), ("utf-16-be", even, odd)):
        if high_zeros > 4 * low_zeros and high_zeros > len(sample) / 200 and _decodes(content, encoding):
            return encoding
    return ""


def _decodes(content: bytes, encoding: str) -> bool:
    """Whether the start of ``content`` is text in ``encoding``, without characters that no text has."""
    text = content[: _WIDE_SAMPLE_BYTES & ~3].decode(encoding, errors="replace")
    strange = sum(character == "\ufffd" or (character < " " and character not in "\t\n\r\f\x1b") for character in text)
    return strange <= len(text) / 100


def _declared(content: bytes) -> str:
    found = _DECLARED.search(content[:2_048])
    try:
        name = codecs.lookup(found.group(1).decode("ascii")).name if found else ""
        content.decode(_MEANT.get(name, name or "ascii"))
    except (LookupError, UnicodeDecodeError, ValueError):
        return ""
    return _MEANT.get(name, name)


def _escaped(content: bytes) -> str:
    """Mail text of East Asia: all bytes below 128, with escapes that change the character set."""
    if b"\x1b$)C" in content:
        return "iso2022_kr"
    return "iso2022_jp_2" if b"\x1b$B" in content or b"\x1b$@" in content else ""


__all__ = ["decoded", "wide_encoding"]
