"""The words of a text in every script, as an index compares them.

Scripts that put spaces between words give words; Chinese, Japanese, Thai, Lao, Khmer and Burmese give pairs of
characters. Case, width, and the accents of Latin, Greek and Cyrillic letters are folded; Latin words are cut to a stem.
"""

import unicodedata
from functools import lru_cache
from itertools import pairwise

import regex
import Stemmer

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}ー\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_RUNS = regex.compile(rf"(?P<unspaced>[{_UNSPACED}]+)|(?P<word>[\p{{L}}\p{{M}}\p{{N}}--[{_UNSPACED}]]+)", regex.V1)
_FOLDED_SCRIPTS = regex.compile(r"[\p{Latin}\p{Greek}\p{Cyrillic}\p{M}\p{N}]+")
_CLUSTERS = regex.compile(r"\X")
_LATIN = regex.compile(r"[a-z]{4,}")
_STEM = Stemmer.Stemmer("english").stemWord
_LONGEST_TOKEN = 64


def tokens(text: str) -> list[str]:
    """The tokens of ``text`` in reading order, with repetitions."""
    found: list[str] = []
    for run in _RUNS.finditer(unicodedata.normalize("NFKC", text).casefold()):
        if run.lastgroup == "unspaced":
            found += _pairs(run.group())
        else:
            found.append(_word(run.group()[:_LONGEST_TOKEN]))
    return found


def _pairs(run: str) -> list[str]:
    clusters = _CLUSTERS.findall(run)
    if len(clusters) == 1:
        return list(clusters)
    return [left + right for left, right in pairwise(clusters)]


@lru_cache(maxsize=65_536)
def _word(word: str) -> str:
    if _FOLDED_SCRIPTS.fullmatch(word):
        word = "".join(mark for mark in unicodedata.normalize("NFD", word) if not unicodedata.combining(mark)) or word
    # One stemmer for all Latin words: what counts is that a query and a text are cut alike.
    return str(_STEM(word)) if _LATIN.fullmatch(word) else word


__all__ = ["tokens"]
