"""What the index holds of a text, in every script: words, character grams, sounds.

Scripts written with spaces give words, stemmed where a stemmer exists. Scripts written without (Chinese, Japanese,
Thai, Lao, Khmer, Burmese) give single characters and pairs. Grams and sounds find words that were misheard.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise, repeat

import jellyfish
import regex
import Stemmer

from .languages import STOP_WORDS, UNSPACED_STOP, detected_language, folded_han
from .pinyin import han_sounds

ANALYZER_ID = "tokens-2"
"""Names what `analysis` makes of a text. It changes whenever that does: an index of other tokens is made anew."""

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}ー\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_RUNS = regex.compile(rf"(?P<unspaced>[{_UNSPACED}]+)|(?P<word>[\p{{L}}\p{{M}}\p{{N}}--[{_UNSPACED}]]+)", regex.V1)
_ASCII_WORDS = re.compile(r"([a-z0-9]{1,64})[a-z0-9]*")
_ALPHABET_WORDS = re.compile(r"([^\W_]{1,64})[^\W_]*")
_BEYOND_ALPHABETS = re.compile(r"[^\0-\u02ff\u0370-\u0482\u048a-\u052f\u1e00-\u1fff\u2010-\u206f\u20a0-\u20bf]")
_CLUSTER = regex.compile(r"\X")
_IDEOGRAPHS_AND_KANA = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]+")
_LATIN = regex.compile(r"[\p{Latin}]+")
_STEM_FROM_CHARACTERS = 3
_LONGEST_WORD = 64
GRAM = 4
_HANGUL = regex.compile(r"\p{Hangul}")
_HANGUL_GRAM = 2


@dataclass(frozen=True, slots=True)
class Term:
    """A word as it stands, its index form, and whether it says little by itself."""

    word: str
    token: str
    stop: bool
    unspaced: bool


@dataclass(frozen=True, slots=True)
class Analysis:
    """The tokens of a text for each field of the index, in reading order, separated by blanks."""

    body: str
    gram: str
    phon: str


def normalized(text: str) -> str:
    """``text`` as the index compares it: compatibility forms, case and traditional characters folded."""
    if text.isascii():
        return text.lower()
    return folded_han(unicodedata.normalize("NFKC", text).casefold())


def terms(text: str, language: str | None = None) -> list[Term]:
    """The words, and for unspaced scripts the characters and pairs, of ``text`` in reading order."""
    plain = normalized(text)
    spoken = language or detected_language(plain)
    found: list[Term] = []
    for run, is_unspaced in _runs(plain):
        if is_unspaced:
            found += _unspaced_terms(run)
        else:
            found.append(Term(run, stem(run, spoken), run in STOP_WORDS, unspaced=False))
    return found


class Held:
    """What a passage holds, as an answer is judged by it. Each part is made when it is first asked for."""

    def __init__(self, text: str, language: str) -> None:
        self._plain = normalized(text)
        self._language = language

    def holds(self, tokens: Iterable[str], *, unspaced: bool) -> bool:
        """Whether one of ``tokens`` stands in the passage; those of an unspaced script are parts of its text."""
        if unspaced:
            return any(token in self._plain for token in tokens)
        return not self._stems.isdisjoint(tokens)

    @cached_property
    def words(self) -> frozenset[str]:
        """The words that are no function words, without those of unspaced scripts."""
        return self._every_word - STOP_WORDS

    @cached_property
    def han_sounds(self) -> frozenset[str]:
        """How the Chinese characters sound, two by two."""
        runs = (run for run, is_unspaced in _runs(self._plain) if is_unspaced)
        return frozenset(code for run in runs for code in han_sounds(run))

    @cached_property
    def _stems(self) -> frozenset[str]:
        return frozenset(map(stem, self._every_word, repeat(self._language)))

    @cached_property
    def _every_word(self) -> frozenset[str]:
        spaced = _spaced_words(self._plain)
        if spaced is None:
            return frozenset(run for run, is_unspaced in _runs(self._plain) if not is_unspaced)
        return frozenset(spaced)


def analysis(text: str, language: str | None = None) -> Analysis:
    """All tokens of ``text``, ready for the index."""
    plain = normalized(text)
    spoken = language or detected_language(plain)
    forms = [_forms(run, spoken) if not is_unspaced else _unspaced_forms(run) for run, is_unspaced in _runs(plain)]
    telling = [form for form in forms if form[1]]
    heard = [form[2] for form in forms if form[2] and not form[1]]
    return Analysis(
        " ".join([form[0] for form in forms]),
        " ".join([form[1] for form in telling]),
        " ".join(_with_joined([form[2] for form in telling]) + heard),
    )


@lru_cache(maxsize=65_536)
def _forms(word: str, language: str) -> tuple[str, str, str]:
    """The stem, the grams and the sound of a ``word``, made once for all its places; of stop words the stem only."""
    if word in STOP_WORDS:
        return stem(word, language), "", ""
    return stem(word, language), " ".join(grams(word)), sound(word)


def _unspaced_forms(run: str) -> tuple[str, str, str]:
    """The characters and pairs of a ``run``, no grams, and how its characters sound two by two."""
    return " ".join([term.token for term in _unspaced_terms(run)]), "", " ".join(han_sounds(run))


def _runs(plain: str) -> Iterator[tuple[str, bool]]:
    """The words of ``plain`` and its runs of unspaced script, in reading order."""
    words = _spaced_words(plain)
    if words is not None:
        yield from zip(words, repeat(False))
        return
    for run in _RUNS.finditer(plain):
        is_unspaced = run.lastgroup == "unspaced"
        yield (run.group() if is_unspaced else run.group()[:_LONGEST_WORD]), is_unspaced


def _spaced_words(plain: str) -> list[str] | None:
    """The words of a text in Latin, Greek or Cyrillic letters, which are cut much faster; None for any other."""
    if plain.isascii():
        return _ASCII_WORDS.findall(plain)
    return None if _BEYOND_ALPHABETS.search(plain) else _ALPHABET_WORDS.findall(plain)


@lru_cache(maxsize=65_536)
def stem(word: str, language: str) -> str:
    """``word`` cut to its stem in ``language``, or as it is where no stemmer exists."""
    if len(word) <= _STEM_FROM_CHARACTERS or language not in _stemmed_languages():
        return word
    return str(_stemmer(language).stemWord(word))


@lru_cache(maxsize=65_536)
def grams(word: str) -> tuple[str, ...]:
    """The padded character 4-grams of ``word``: ``cat`` gives ``_cat`` and ``cat_``. Korean: pairs."""
    padded = f"_{word}_"
    size = _HANGUL_GRAM if not word.isascii() and _HANGUL.match(word) else GRAM
    if len(padded) <= size:
        return (padded,)
    return tuple([padded[start : start + size] for start in range(len(padded) - size + 1)])


def telling_grams(word: str) -> tuple[str, ...]:
    """The grams that a query asks for: every second one and the last, which find as much at half the cost."""
    all_of_it = grams(word)
    return all_of_it if len(all_of_it) < 4 else (*all_of_it[:-1:2], all_of_it[-1])


def sounds(words: list[str]) -> list[str]:
    """How Latin ``words`` sound, one by one and joined with their neighbour, since recognizers move word borders."""
    return _with_joined([sound(word) for word in words])


def _with_joined(codes: list[str]) -> list[str]:
    joined = [left + right for left, right in pairwise(codes) if left and right]
    return [code for code in codes if code] + joined


@lru_cache(maxsize=65_536)
def sound(word: str) -> str:
    """The metaphone of a Latin ``word``; empty for other scripts."""
    is_latin = word.isalpha() if word.isascii() else _LATIN.fullmatch(word)
    return str(jellyfish.metaphone(word)).replace(" ", "") if is_latin else ""


def clusters(run: str) -> list[str]:
    """The characters of a run with their marks; where no marks can be, character by character is much faster."""
    return list(run) if _IDEOGRAPHS_AND_KANA.fullmatch(run) else _CLUSTER.findall(run)


def _unspaced_terms(run: str) -> list[Term]:
    marks = clusters(run)
    pairs = [left + right for left, right in pairwise(marks)]
    alone = len(marks) == 1
    singles = [Term(mark, mark, not alone or mark in UNSPACED_STOP, unspaced=True) for mark in marks]
    return singles + [Term(pair, pair, pair in UNSPACED_STOP, unspaced=True) for pair in pairs]


@lru_cache(maxsize=1)
def _stemmed_languages() -> frozenset[str]:
    return frozenset(Stemmer.algorithms())


@lru_cache(maxsize=32)
def _stemmer(language: str) -> Stemmer.Stemmer:
    return Stemmer.Stemmer(language)


__all__ = [
    "ANALYZER_ID",
    "GRAM",
    "Analysis",
    "Held",
    "Term",
    "analysis",
    "clusters",
    "grams",
    "normalized",
    "sound",
    "sounds",
    "stem",
    "telling_grams",
    "terms",
]
