"""What a query looks for, and whether a passage answers it. Pure: frequencies come in as a function."""

import math
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from .languages import UNSPACED_STOP
from .lexical_index import WeightedTerm
from .pinyin import han_sounds
from .tokens import Held, Term, clusters, grams, sound, sounds, stem, telling_grams, terms

Frequency = Callable[[str, str], int]

BODY_POSTINGS = 400_000
NOISE_POSTINGS = 100_000
HEAD_POSTINGS = 100_000
_FEW, _FEW_PASSAGES = 0.01, 20  # a word that more passages hold was hardly misheard, and its grams cost the most
_FEWEST_TERMS, _MOST_TERMS = 4, 48
_BOOSTS = {"body": 1.0, "head": 0.3, "gram": 0.5, "phon": 0.6}
_MISHEARD_CREDIT = 0.8
_ANSWERED_WORDS = 10  # of a long talk around a question, that many words make a full answer
_PROVING_WORDS = 4  # so many words in common say that a passage is about the question; a shorter question needs all
_ALIKE = 0.5
_SATURATION = 2.2  # what BM25 with k1 = 1.2 gives at most for a weight of 1


@dataclass(frozen=True, slots=True)
class QueryWord:
    """One thing the query asks about: its index forms in the library's languages and how much it weighs.

    ``joined`` is how it sounds together with its neighbours, since recognizers split words and mistake characters.
    """

    word: str
    tokens: tuple[str, ...]
    weight: float
    unspaced: bool = False
    joined: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """The terms to look for within the postings budget, and the words that a good answer covers."""

    wanted: tuple[WeightedTerm, ...]
    words: tuple[QueryWord, ...]
    weight: float
    """What the words of a full answer weigh: all of a question, and as much as ten of a long talk around it."""


def planned(query: str, languages: Sequence[str], frequency: Frequency, passages: int) -> QueryPlan:
    """Plan ``query`` for a library of ``passages`` passages written in ``languages``."""
    found = terms(query, languages[0] if languages else None)
    content = [term for term in found if not term.stop] or found
    forms = {term.word: _forms(term, languages) for term in found}
    body = _within([("body", token) for term in found for token in forms[term.word]], frequency, BODY_POSTINGS)
    plain = [term.word for term in content if not term.unspaced]
    few = max(_FEW_PASSAGES, _FEW * passages)
    rare = [word for word in plain if _held(forms[word], frequency) <= few]
    noise = [("gram", gram) for word in rare for gram in telling_grams(word)]
    noise += [("phon", code) for code in sounds(plain)]
    noise += [("phon", code) for term in content if term.unspaced for code in han_sounds(term.word)]
    head = [("head", token) for term in content for token in forms[term.word]]
    wanted = (*body, *_within(noise, frequency, NOISE_POSTINGS), *_within(head, frequency, HEAD_POSTINGS))
    asked = _asked(content, forms)
    words = tuple(_query_word(word, asked[word], plain, frequency, passages) for word in asked)
    return QueryPlan(wanted, words, _full_weight(words))


def _query_word(
    word: str, tokens: tuple[str, ...], plain: Sequence[str], frequency: Frequency, passages: int
) -> QueryWord:
    unspaced = word not in plain
    counted = (word,) if unspaced else tokens  # of a character of an unspaced script the character itself
    joined = tuple(code for pair in tokens for code in han_sounds(pair)) if unspaced else _joined(word, plain)
    return QueryWord(word, tokens, _weight(counted, frequency, passages), unspaced, joined)


def _full_weight(words: Sequence[QueryWord]) -> float:
    said = sum(0.5 if word.unspaced else 1.0 for word in words)  # two characters are about a word
    return sum(word.weight for word in words) * min(1.0, _ANSWERED_WORDS / max(said, 1.0))


def _joined(word: str, plain: Sequence[str]) -> tuple[str, ...]:
    pairs = [pair for pair in pairwise(plain) if word in pair]
    return tuple(sound(left) + sound(right) for left, right in pairs if sound(left) and sound(right))


def _asked(content: Sequence[Term], forms: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """The words asked about. A character of an unspaced script is answered by a pair that it is part of."""
    asked = {term.word: forms[term.word] for term in content if not term.unspaced}
    unspaced = [term.word for term in content if term.unspaced]
    pairs = {word: marks for word in unspaced if len(marks := clusters(word)) > 1}
    for mark in dict.fromkeys(mark for marks in pairs.values() for mark in marks):
        if mark not in UNSPACED_STOP:
            asked[mark] = tuple(word for word, marks in pairs.items() if mark in marks)
    return asked if pairs else asked | {word: (word,) for word in unspaced}


@dataclass(frozen=True, slots=True)
class Judgement:
    """How much of the query's weight a passage holds, 0..1, and what the floor judges."""

    coverage: float
    relevance: float


def judged(plan: QueryPlan, passage: Held, score: float, floor: float) -> Judgement:
    """Judge a ``passage`` that the index found with ``score``; a misheard word counts in part.

    Words that may have been misheard are looked for, which takes time, only where they decide about the ``floor``.
    """
    missing = [word for word in plan.words if not passage.holds(word.tokens, unspaced=word.unspaced)]
    exact = _judgement(plan, missing, [], score)
    if exact.relevance >= floor or _judgement(plan, [], missing, score).relevance < floor:
        return exact
    misheard = _misheard(missing, passage)
    return _judgement(plan, [word for word in missing if word not in misheard], misheard, score)


def _judgement(plan: QueryPlan, missing: Sequence[QueryWord], misheard: Sequence[QueryWord], score: float) -> Judgement:
    """Relevance is mostly how much of the question is there, partly how strongly; few words in common prove little."""
    if not plan.weight:
        return Judgement(0.0, 0.0)
    held = sum(word.weight for word in plan.words) - sum(word.weight for word in missing)
    held -= (1 - _MISHEARD_CREDIT) * sum(word.weight for word in misheard)
    in_common = len(plan.words) - len(missing) - (1 - _MISHEARD_CREDIT) * len(misheard)
    too_few = max(0.0, min(len(plan.words), _PROVING_WORDS) - in_common) / _PROVING_WORDS
    covered = min(1.0, held / plan.weight)
    strength = min(1.0, score / (_SATURATION * plan.weight))
    return Judgement(covered, (covered + 0.5 * strength) * (1 - 0.5 * too_few))


def named_in(plan: QueryPlan, title: str, language: str) -> bool:
    """Whether the query names the document: it holds every telling word of the title."""
    asked = {token for word in plan.words for token in word.tokens}
    telling = {term.token for term in terms(title, language) if not term.stop}
    return bool(telling) and telling <= asked


def _misheard(missing: Sequence[QueryWord], passage: Held) -> list[QueryWord]:
    """Which of the ``missing`` words the passage holds as a recognizer may have heard them."""
    grams_of_all = frozenset().union(*(_gram_set(word.word) for word in missing))
    alike = [one for one in passage.words if not grams_of_all.isdisjoint(_gram_set(one))]
    heard = frozenset(map(sound, passage.words))
    return [word for word in missing if _is_misheard(word, alike, heard, passage)]


def _is_misheard(asked: QueryWord, alike: Sequence[str], heard: Set[str], passage: Held) -> bool:
    """Whether a word of the passage sounds the same, or one of those ``alike`` shares most of its grams."""
    if asked.unspaced:
        return not passage.han_sounds.isdisjoint(asked.joined)
    code = sound(asked.word)
    if (len(code) > 1 and code in heard) or not heard.isdisjoint(asked.joined):
        return True
    wanted = _gram_set(asked.word)
    least, most = len(asked.word) - 4, len(asked.word) + 4
    return len(asked.word) > 3 and any(
        least <= len(one) <= most and _dice(wanted, _gram_set(one)) >= _ALIKE for one in alike
    )


@lru_cache(maxsize=65_536)
def _gram_set(word: str) -> frozenset[str]:
    return frozenset(grams(word))


def _dice(left: frozenset[str], right: frozenset[str]) -> float:
    return 2 * len(left & right) / (len(left) + len(right))


def _forms(term: Term, languages: Sequence[str]) -> tuple[str, ...]:
    if term.unspaced:
        return (term.token,)
    return tuple(dict.fromkeys((term.token, *(stem(term.word, language) for language in languages[:6]))))


def _weight(tokens: Sequence[str], frequency: Frequency, passages: int) -> float:
    held = _held(tokens, frequency) or 1
    return math.log(1 + (max(passages, held) - held + 0.5) / (held + 0.5))


def _held(tokens: Sequence[str], frequency: Frequency) -> int:
    """How many passages hold the most frequent of ``tokens``."""
    return max((frequency("body", token) for token in tokens), default=0)


def _within(candidates: Sequence[tuple[str, str]], frequency: Frequency, budget: int) -> list[WeightedTerm]:
    """From rare to common while the sum of postings stays in the budget; never only the rarest few."""
    counted = sorted((frequency(field, token), field, token) for field, token in dict.fromkeys(candidates))
    present = [(count, field, token) for count, field, token in counted if count]
    kept: list[WeightedTerm] = []
    spent = 0
    for count, field, token in present[:_MOST_TERMS]:
        spent += count
        if len(kept) >= _FEWEST_TERMS and spent > budget:
            break
        kept.append(WeightedTerm(field, token, _BOOSTS[field]))
    return kept


__all__ = ["Judgement", "QueryPlan", "QueryWord", "judged", "named_in", "planned"]
