"""Whether what was looked up ahead answers what is asked now. Pure.

Both queries become sets of terms: content words with their commonest endings cut off, pairs of neighbouring characters
where words are not spaced. Numbers and negations must be the same, and so must the kind of answer (a person, a time, a
place, a count and so on) where both name one. The rest is a matter of degree: see `similarity`.
"""

import re
import unicodedata
from dataclasses import dataclass

from .function_words import (
    FUNCTION_CHARACTERS,
    FUNCTION_WORDS,
    GENERIC_CHARACTERS,
    GENERIC_WORDS,
    KIND_PATTERNS,
    NEGATION_CHARACTERS,
    NEGATIONS,
)

ADOPTION_THRESHOLD = 0.75
"""Chosen by ``benchmarks/prefetch.py``: below it, questions nobody asked begin to be adopted."""

_ASKED_FOR_BUT_NOT_LOOKED_UP = 2.0
_LOOKED_UP_BUT_NOT_ASKED_FOR = 0.5

_CJK = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af\u0e00-\u0eff"
_TOKEN = re.compile(rf"[{_CJK}]+|[^\W_{_CJK}]+(?:['’][^\W_{_CJK}]+)?")
_UNSPACED = re.compile(rf"[{_CJK}]")

_ENDINGS = "ations ation ments ment ings ing ers ies ied ed es er en s e y n"


@dataclass(frozen=True, slots=True)
class Need:
    """What a query asks for, without how it is put."""

    terms: frozenset[str]
    numbers: frozenset[str]
    negations: int
    kinds: frozenset[str]

    @classmethod
    def of(cls, query: str) -> "Need":
        """Read a query, in whatever language."""
        text = unicodedata.normalize("NFKC", query).casefold()
        words, characters = _tokens(text)
        numbers = frozenset(word for word in words if any(character.isdigit() for character in word))
        negations = sum(word in NEGATIONS or word.endswith("n't") for word in words)
        negations += sum(len(NEGATION_CHARACTERS.findall(run)) for run in characters)
        stems = {_stem(word) for word in words if word not in FUNCTION_WORDS | GENERIC_WORDS | numbers}
        plain = stems - FUNCTION_WORDS
        return cls(frozenset(plain | _pairs(characters) | numbers), numbers, negations, _kinds(text))


def content_words(text: str) -> int:
    """Count the words that carry what is asked; two characters count as one word where words are not spaced."""
    words, characters = _tokens(unicodedata.normalize("NFKC", text).casefold())
    bare = sum(len(part) for run in characters for part in FUNCTION_CHARACTERS.split(run))
    return sum(word not in FUNCTION_WORDS for word in words) + bare // 2


def similarity(looked_up: Need, asked: Need) -> float:
    """Return 0 to 1: how far the results for ``looked_up`` answer ``asked``.

    A term that is asked for and was not looked up counts against it four times as much as the other way round:
    a shorter query still wants the same thing, one with a new name in it wants another.
    """
    if looked_up.numbers != asked.numbers or looked_up.negations != asked.negations:
        return 0.0
    if looked_up.kinds and asked.kinds and not looked_up.kinds & asked.kinds:
        return 0.0
    shared = len(looked_up.terms & asked.terms)
    if not shared:
        return 0.0
    missing = _absent(asked.terms, looked_up.terms) * _ASKED_FOR_BUT_NOT_LOOKED_UP
    extra = _absent(looked_up.terms, asked.terms) * _LOOKED_UP_BUT_NOT_ASKED_FOR
    return shared / (shared + missing + extra)


def _absent(terms: frozenset[str], there: frozenset[str]) -> float:
    """Count what is not there; a pair of characters that only stand apart there counts half."""
    absent = terms - there
    if not any(_UNSPACED.match(term) for term in absent):
        return len(absent)
    characters = frozenset("".join(term for term in there if _UNSPACED.match(term)))
    return sum(0.5 if _UNSPACED.match(term) and set(term) <= characters else 1.0 for term in absent)


def _kinds(text: str) -> frozenset[str]:
    kinds = set()
    for kind, pattern in KIND_PATTERNS.items():
        text, found = pattern.subn(" ", text)
        if found:
            kinds.add(kind)
    return frozenset(kinds)


def _tokens(text: str) -> tuple[list[str], list[str]]:
    found = _TOKEN.findall(text)
    return [token for token in found if not _UNSPACED.match(token)], [
        token for token in found if _UNSPACED.match(token)
    ]


def _pairs(runs: list[str]) -> set[str]:
    parts = [
        part for run in runs for part in FUNCTION_CHARACTERS.split(GENERIC_CHARACTERS.sub(" ", run)) if part.strip()
    ]
    return {part[at : at + 2] for part in parts for at in range(max(1, len(part) - 1))}


def _stem(word: str) -> str:
    word = word.removesuffix("'s").removesuffix("’s")
    for ending in _ENDINGS.split():
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


__all__ = ["ADOPTION_THRESHOLD", "Need", "content_words", "similarity"]
