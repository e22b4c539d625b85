"""Text from bytes of any encoding."""

_MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_SAMPLE_BYTES = 262_144


def decoded(content: bytes) -> tuple[str, str]:
    """The text of ``content`` and the encoding it was read in; line ends become ``\\n``."""
    encoding = _encoding(content)
    text = content.decode(encoding, errors="replace")
    return text.replace("\r\n", "\n").replace("\r", "\n"), encoding


def _encoding(content: bytes) -> str:
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return encoding
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        import charset_normalizer  # only text that is not UTF-8 needs it

        guess = charset_normalizer.from_bytes(content[:_SAMPLE_BYTES]).best()
        return guess.encoding if guess is not None else "latin-1"
    return "utf-8"


__all__ = ["decoded"]
