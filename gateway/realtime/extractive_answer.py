"""Pure: an answer in the source's own words. No language model: it picks the sentence that fits the question best."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_WORD = re.compile(r"[^\W_]+")
_MARKDOWN = re.compile(r"^\s*(?:#{1,6}\s+|[-*+]\s+|\d+[.)]\s+|>\s*|\|\s*)|[*`]|\s*\|\s*$")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[\"'(\[]?[A-Z0-9])|(?<=[。！？])\s*")
_FUNCTION_WORDS = (
    "a an and are as at be by can do does did for from has have how i in is it its many me much must my of on or our "
    "should that the their there they this to us was we what when where which who why will with you your"
)
_STOP_WORDS = frozenset(_FUNCTION_WORDS.split(" "))
_STOP_BIGRAMS = frozenset(
    ["多少", "什么", "怎么", "如何", "哪些", "哪里", "是否", "可以", "需要", "我们", "请问", "多久", "几天"]
)
_ENGLISH = {
    "no_results": "I found nothing about that in the documents.",
    "failed": "I could not look that up just now.",
    "holding": "One moment, I am looking that up.",
    "deaf": "I am a small demonstration model and cannot understand speech. Please send your question as text.",
    "toolless": "I am a small demonstration model and have no documents to look into.",
}
_CHINESE = {
    "no_results": "我在文档里没有找到相关内容。",
    "failed": "我现在没能查到这个问题。",
    "holding": "请稍等，我正在查找。",
    "deaf": "我只是一个演示模型，听不懂语音，请用文字发送问题。",
    "toolless": "我只是一个演示模型，没有可以查阅的文档。",
}


@dataclass(frozen=True, slots=True)
class _Candidate:
    sentence: str
    title: str
    terms: frozenset[str]
    rank: int


def is_chinese(text: str) -> bool:
    """Say whether the text is to be answered in Chinese."""
    return bool(_CJK.search(text))


def phrase(kind: str, question: str) -> str:
    """Return a fixed sentence (no_results, failed, holding, deaf, toolless) in the language of the question."""
    return (_CHINESE if is_chinese(question) else _ENGLISH)[kind]


def answer_from(output: Mapping[str, Any], question: str) -> str:
    """Return the spoken answer to ``question`` that a `knowledge` tool output supports, naming its source."""
    status = output.get("status")
    if status == "no_results":
        return phrase("no_results", question)
    results = output.get("results")
    if status not in ("ok", "repeated") or not isinstance(results, list):
        return phrase("failed", question)
    best = _best_sentence([result for result in results if isinstance(result, Mapping)], question)
    return _attributed(best, question) if best else phrase("no_results", question)


def _attributed(best: _Candidate, question: str) -> str:
    if is_chinese(question):
        return f"根据《{best.title}》，{best.sentence}" if best.title else best.sentence
    return f"According to {best.title}, {best.sentence}" if best.title else best.sentence


def _best_sentence(results: Sequence[Mapping[str, Any]], question: str) -> _Candidate | None:
    wanted = _terms(question)
    candidates = [candidate for rank, result in enumerate(results) for candidate in _candidates(result, rank)]
    frequency = Counter(term for candidate in candidates for term in candidate.terms)
    weights = {term: math.log(1 + len(candidates) / frequency[term]) for term in wanted if frequency[term]}

    def score(candidate: _Candidate) -> float:
        overlap = sum(weight for term, weight in weights.items() if term in candidate.terms)
        return overlap / (1 + 0.15 * candidate.rank) / (1 + len(candidate.terms) / 120)

    ranked = sorted(candidates, key=score, reverse=True)
    return ranked[0] if ranked and score(ranked[0]) > 0 else None


def _candidates(result: Mapping[str, Any], rank: int) -> list[_Candidate]:
    title = str(result.get("title") or "")
    sentences = _sentences(_without_heading_path(str(result.get("content") or ""), title))
    return [_Candidate(sentence, title, _terms(sentence), rank) for sentence in sentences]


def _without_heading_path(content: str, title: str) -> str:
    """Drop a first line that says where the passage stands (``Handbook > Approvals``), not what it states."""
    first, _, rest = content.partition("\n")
    return rest if rest and (" > " in first or first.strip() == title) else content


def _sentences(content: str) -> list[str]:
    """Split into statements; headings name a subject without stating anything, so they are left out."""
    lines = [line for line in content.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    text = [_MARKDOWN.sub("", line).strip() for line in _joined(lines)]
    return [part.strip() for line in text for part in _SENTENCE_END.split(line) if part.strip()]


def _joined(lines: Sequence[str]) -> list[str]:
    """Undo hard wrapping: a line that does not end a sentence continues in the next unless that starts a list item."""
    joined: list[str] = []
    for line in lines:
        if joined and not re.search(r"[.!?:。！？：|]\s*$", joined[-1]) and not _MARKDOWN.match(line):
            joined[-1] += ("" if is_chinese(joined[-1][-1:]) else " ") + line.strip()
        else:
            joined.append(line)
    return joined


def _terms(text: str) -> frozenset[str]:
    """Words without their commonest endings, and pairs of neighbouring characters for Chinese and Japanese."""
    terms: set[str] = set()
    for word in _WORD.findall(text.lower()):
        cjk = "".join(_CJK.findall(word))
        terms.update(cjk[start : start + 2] for start in range(max(0, len(cjk) - 1)))
        terms.update(_stem(part) for part in _CJK.sub(" ", word).split() if part not in _STOP_WORDS)
    return frozenset(terms - _STOP_BIGRAMS)


def _stem(word: str) -> str:
    for ending in ("ations", "ation", "ments", "ment", "ings", "ing", "ers", "ies", "ed", "es", "er", "s", "e", "y"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


__all__ = ["answer_from", "is_chinese", "phrase"]
