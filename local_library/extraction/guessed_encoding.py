"""Guesses the encoding of text that is neither Unicode nor says what it is."""

import re

# What people's files are in. Others differ from these in few bytes and are guessed too easily.
_COMMON = """
    cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 cp874 koi8_r koi8_u iso8859_2 iso8859_5 iso8859_6
    iso8859_7 iso8859_8 cp932 euc_jp gb18030 big5 big5hkscs cp949 johab mac_roman mac_cyrillic cp866 cp855 cp437 cp850
    cp852
"""
_LATIN = "cp1250 cp1252 cp1254 cp1257 cp1258 iso8859_2 iso8859_10 mac_roman cp437 cp850 cp852"
_WORD = re.compile(rb"(?<![\x80-\xff])\b[a-z]{2,9}\b(?![\x80-\xff])")
# Short words without accents, which read the same in each of the encodings that they choose between.
_WORDS = {
    "western": frozenset(
        b"the and of is der die und ist das les des une est que el los del por con il di che non het een van og och "
        b"som att til ikke na os um para com".split()
    ),
    "central": frozenset(
        b"je se na nie jest jak ale ze do po pro za od sa su ako alebo aby kde by li ne da az egy hogy nem volt meg "
        b"din cu pentru care este nu pe sau si ki ez".split()
    ),
    "turkish": frozenset(b"ve bir bu da de ile olarak olan gibi daha ne ama her kadar sonra en".split()),
}


def guessed_encoding(sample: bytes) -> str:
    """The likeliest encoding of ``sample``; Latin letters are settled by the language that the words are of."""
    import charset_normalizer  # loads tables; only text that is not UTF-8 needs it

    found = charset_normalizer.from_bytes(sample, cp_isolation=_COMMON.split()).best()
    found = found or charset_normalizer.from_bytes(sample).best()
    if found is None:
        return "iso8859_2" if _family(sample) == "central" else "cp1252"
    if found.encoding == "cp1251" and not re.search(rb"[\xa8\xb8\xc0-\xdf\xfb-\xff]", sample):
        return "cp1255"  # a Cyrillic text has capitals or one of the letters from yery on, a Hebrew one neither
    if found.encoding not in _LATIN.split() or (
        found.encoding.startswith(("mac", "cp4", "cp8")) and _has_old_letters(sample)
    ):
        return str(found.encoding)
    return {"western": "cp1252", "turkish": "cp1254"}.get(_family(sample)) or _central(sample)


def _family(sample: bytes) -> str:
    words = _WORD.findall(sample.lower())
    return max(_WORDS, key=lambda family: sum(word in _WORDS[family] for word in words))


def _central(sample: bytes) -> str:
    """Windows wrote letters where ISO 8859 has controls."""
    return "cp1250" if re.search(rb"[\x8a\x8c-\x8f\x9a\x9c-\x9f]", sample) else "iso8859_2"


def _has_old_letters(sample: bytes) -> bool:
    """Whether bytes that are letters to DOS and the old Macintosh alone stand within words."""
    return len(re.findall(rb"[a-z][\x80-\x9f][a-z]", sample)) > len(re.findall(rb"[a-z][\xc0-\xff][a-z]", sample))


__all__ = ["guessed_encoding"]
