"""Questions with the passages that answer them: judged collections, or a small one of our own."""

import gzip
import json
import random
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bm25s

_SMALL = {
    "releases": "Every release needs two reviewers and a rollback plan. Releases are frozen on Fridays after three.",
    "warranty": "The pressure sensor carries a warranty of thirty months. Abroad the warranty ends after twelve.",
    "travel": "Travel expenses are refunded within five days. Flights over six hours may be booked in business class.",
    "oncall": "The on-call engineer answers within fifteen minutes. A handover takes place every Monday at ten.",
    "security": "Laptops are encrypted and locked after five minutes. Lost badges are reported to the front desk.",
    "calibration": "The pressure sensor is calibrated twice a year. The reference gauge is kept in the laboratory.",
    "年假": "员工每年享有十五天年假。未休年假可以保留到次年三月。",
    "报销": "审批通过后，报销款在五个工作日内到账。住宿标准为每晚六百元。",
}
_SMALL_QUESTIONS = {
    "releases": ["how many reviewers does every release need", "when are releases frozen on Fridays"],
    "warranty": ["how long is the warranty of the pressure sensor", "when does the sensor warranty end abroad"],
    "travel": ["when are travel expenses refunded", "which flights may be booked in business class"],
    "oncall": ["how fast does the on-call engineer answer", "when does the on-call handover take place"],
    "security": ["when are encrypted laptops locked", "where are lost badges reported"],
    "calibration": ["how often is the pressure sensor calibrated", "where is the reference gauge kept"],
    "年假": ["员工每年享有多少天年假", "未休年假可以保留到什么时候"],
    "报销": ["审批通过后报销款多久到账", "住宿标准是每晚多少元"],
}


@dataclass(frozen=True, slots=True)
class Question:
    """A spoken question, the passages that answer it, and another question about the same passage, if there is one."""

    text: str
    answers: frozenset[str]
    other: str | None


class Collection:
    """Passages behind BM25, and questions about them."""

    def __init__(self, name: str, passages: dict[str, str], questions: list[Question]) -> None:
        self.name = name
        self.questions = questions
        self._ids = list(passages)
        self._index = bm25s.BM25()
        self._index.index([_terms(text) for text in passages.values()], show_progress=False)
        self._found: dict[tuple[str, int], list[str]] = {}

    def search(self, query: str, count: int) -> list[str]:
        """Return the ids of the best passages."""
        key = (query, count)
        if key not in self._found:
            terms = [term for term in _terms(query) if term in self._index.vocab_dict] or [""]
            found, _ = self._index.retrieve([terms], k=min(count, len(self._ids)), show_progress=False)
            self._found[key] = [self._ids[at] for at in found[0]]
        return self._found[key]


def small_collection() -> Collection:
    """The project's own eight passages and sixteen questions."""
    pairs = [(name, text) for name, texts in _SMALL_QUESTIONS.items() for text in texts]
    return Collection("own", _SMALL, _questions([(text, frozenset([name])) for name, text in pairs]))


def judged_collection(file: Path, limit: int) -> Collection:
    """Read a judged collection (see the folder's README) and keep the same ``limit`` questions in every run."""
    data: dict[str, Any] = json.loads(gzip.decompress(file.read_bytes()))
    passages = {id: f"{title} {text}" for id, title, text in data["docs"]}
    judged = [(text.strip(), frozenset(data["qrels"].get(id, ()))) for id, text in data["queries"]]
    questions = _questions([(text, answers) for text, answers in judged if answers])
    chosen = random.Random(7).sample(questions, min(limit, len(questions)))
    return Collection(data["name"], passages, chosen)


def _questions(judged: list[tuple[str, frozenset[str]]]) -> list[Question]:
    about: dict[frozenset[str], list[str]] = defaultdict(list)
    for text, answers in judged:
        about[answers].append(text)
    questions = []
    for text, answers in judged:
        others = [other for other in about[answers] if other != text]
        questions.append(Question(text, answers, others[0] if others else None))
    return questions


def _terms(text: str) -> list[str]:
    terms: list[str] = []
    for word in re.findall(r"[\u3400-\u9fff]+|[^\W_\u3400-\u9fff]+", text.lower()):
        unspaced = "\u3400" <= word[0] <= "\u9fff"
        terms += [word[at : at + 2] for at in range(max(1, len(word) - 1))] if unspaced else [word]
    return terms


__all__ = ["Collection", "Question", "judged_collection", "small_collection"]
