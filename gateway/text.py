"""Pure: text without hidden characters, and cuts that break no character a reader sees.

What has no visible form cannot be checked by a person, yet a model reads it. So everything invisible goes, except
where a script or an emoji needs it: joiners inside Persian or Hindi words and family emoji, the flags of England,
Scotland and Wales. Clean text pays one scan.
"""

import re

import regex

_HIDDEN = (
    "\u0000-\u0008\u000b-\u001f\u007f-\u009f"  # controls; tab and newline stay
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"  # soft hyphen, fillers, Mongolian selectors
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f"  # zero width, joiners, marks, line separators, directional overrides
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffc\ufdd0-\ufdef\ufffe\uffff"
    "\ud800-\udfff\ue000-\uf8ff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff\U000f0000-\U0010ffff"  # tags, variation selectors, private use
)
_MAYBE_HIDDEN = re.compile(f"[{_HIDDEN}]")
_MAYBE_HIDDEN_ASCII = re.compile("[\x00-\x08\x0b-\x1f\x7f]")
_JOINING = (
    r"\p{Arabic}\p{Syriac}\p{Mandaic}\p{Nko}\p{Mongolian}\p{Phags_Pa}\p{Devanagari}\p{Bengali}\p{Gurmukhi}\p{Gujarati}"
    r"\p{Oriya}\p{Tamil}\p{Telugu}\p{Kannada}\p{Malayalam}\p{Sinhala}\p{Khmer}\p{Myanmar}\p{Tibetan}\p{Balinese}"
    r"\p{Javanese}\p{Tai_Tham}"
)
_JOINED = rf"[[{_JOINING}]--[{_HIDDEN}]]"
_MONGOLIAN = rf"[\p{{Mongolian}}--[{_HIDDEN}]]"
_VIRAMAS = "\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca"
# Every exception looks only at neighbours that stay themselves: that is why cleaning twice changes nothing.
_KEPT = (
    rf"(?<={_JOINED})[\u200c\u200d](?={_JOINED})"
    rf"|(?<=[{_VIRAMAS}])[\u200c\u200d](?![\u200c\u200d])"
    r"|(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}]\ufe0f?)\u200d(?=\p{Extended_Pictographic})"
    r"|(?<=\p{Emoji})[\ufe0e\ufe0f]"
    rf"|(?<={_MONGOLIAN})(?:[\u180b-\u180d\u180f]|\u180e(?={_MONGOLIAN}))"
    r"|(?<=\U0001f3f4)\U000e0067\U000e0062"
    r"(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074|\U000e0077\U000e006c\U000e0073)\U000e007f"
)
_LINE_END = regex.compile(r"\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_HIDDEN_CHARACTER = regex.compile(rf"(?V1)(?:{_KEPT})(*SKIP)(*FAIL)|[{_HIDDEN}]")

# A flag is named first because `\X` counts all flags before it, every time.
_GRAPHEME = regex.compile(r"\p{Regional_Indicator}{2}[\p{Grapheme_Extend}\p{Mc}\u200d]*+|\X")
# Between two of these a grapheme always ends, so that a cut needs to look at the text near it only.
_PLAIN = r"\n -~А-яء-ي一-鿿ぁ-ゖァ-ヺ가-힣"
_SURE_BOUNDARY = regex.compile(rf"(?V1)(?r)(?<=[{_PLAIN}])(?=[{_PLAIN}\p{{L}}--[ำຳ\p{{Script=Hangul}}]])")
_SENTENCE_END = regex.compile(r"(?r)[.!?…][\"'”’)\]]*(?=\s)|[。！？｡؟।][”’」』）]*|\n")
_WORD_END = regex.compile(r"(?r)\s")
_DANGLING = " \t\n\u3000\u200c\u200d\u180e"
_NEAR = 200
_NEAR_WORD = 40


def clean_text(text: str) -> str:
    """Return ``text`` without control, directional, tag, zero-width, private and unpaired surrogate characters.

    Line ends of every kind become ``\\n``. Cleaning twice changes nothing; clean text comes back as it is.
    """
    if (_MAYBE_HIDDEN_ASCII if text.isascii() else _MAYBE_HIDDEN).search(text) is None:
        return text
    return str(_HIDDEN_CHARACTER.sub("", _LINE_END.sub("\n", _with_paired_surrogates(text))))


def cut_text(text: str, limit: int) -> tuple[str, bool]:
    """Return ``text`` within ``limit`` characters and whether it was cut.

    A cut falls after a sentence where one ends near, else after a word, and never inside a grapheme, unless one
    grapheme alone is longer than ``limit``.
    """
    if len(text) <= limit:
        return text, False
    end = _grapheme_end(text, limit)
    if end == 0:
        return clean_text(text[:limit]).rstrip(_DANGLING), True
    return text[: _reading_end(text, end)].rstrip(_DANGLING), True


def _with_paired_surrogates(text: str) -> str:
    """Join surrogates that stand as a pair, so that their character is judged too; drop the others."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")


def _grapheme_end(text: str, limit: int) -> int:
    """The last end of a grapheme at or before ``limit``; 0 when the first grapheme is longer."""
    sure = _SURE_BOUNDARY.search(text, max(0, limit - _NEAR), limit + 1)
    end = sure.start() if sure else 0
    if end >= limit:
        return limit
    for grapheme in _GRAPHEME.finditer(text, end):
        if grapheme.end() > limit:
            break
        end = grapheme.end()
    return end


def _reading_end(text: str, end: int) -> int:
    """Move a cut back to the end of a sentence or a word, if one is near and most of the text remains."""
    sentence = _SENTENCE_END.search(text, max(end // 2, end - _NEAR), min(end + 1, len(text)))
    if sentence and sentence.end() <= end:
        return int(sentence.end())
    word = _WORD_END.search(text, max(end // 2, end - _NEAR_WORD), min(end + 1, len(text)))
    return int(word.start()) if word else end


__all__ = ["clean_text", "cut_text"]
