"""How a model might put a spoken question into its tool call: in full, shortened, or in other words.

Rules, not a model, so that a run can be repeated. They know nothing of how queries are compared: their word lists are
their own, and one reworded query in three has a word that was never spoken.
"""

import re
import zlib

FORMS = ("full", "shortened", "reworded")

_SMALL_WORDS = (
    "a an the of in on at to for from by with and or is are was were be been do does did has have had can could "
    "will would what which who whom whose when where why how many much it its their his her that this there der "
    "die das den dem des ein eine einen einem einer im am auf von vom zu zum zur mit und oder ist sind war waren "
    "wurde wurden hat haben hatte welche welcher welches welchen wer wem wen wann wo warum wie viele viel es sich "
)
_SMALL = set(_SMALL_WORDS.split())
_QUESTION = [
    (re.compile(r"^how many\s+(\w+)", re.I), r"number of \1"),
    (re.compile(r"^how much\s+(\w+)", re.I), r"amount of \1"),
    (re.compile(r"^when (?:did|was|were|is|are|does)\s+", re.I), "date "),
    (re.compile(r"^where (?:did|was|were|is|are|does)\s+", re.I), "location of "),
    (re.compile(r"^why (?:did|was|were|is|are|does)\s+", re.I), "reason "),
    (re.compile(r"^(?:what|which)\s+(?:is|are|was|were)\s+", re.I), ""),
    (re.compile(r"^wie viele\s+(\w+)", re.I), r"Anzahl \1"),
    (re.compile(r"^wann (?:wurde|war|ist|hat)\s+", re.I), "Datum "),
    (re.compile(r"^was (?:ist|sind|war|waren)\s+", re.I), ""),
    (re.compile(r"^(请问)"), ""),
    (re.compile(r"(是什么|叫什么|有哪些|是谁|是多少)[？?]?$"), ""),
]
_OTHER_WORDS = {
    "built": "constructed", "made": "created", "big": "large", "began": "started", "called": "named",
    "died": "passed away", "won": "gained", "wrote": "authored", "killed": "slain", "used": "employed",
    "type": "kind", "part": "portion",
    "建立": "成立", "位于": "坐落", "创作": "写作", "开始": "起始",
}  # fmt: skip


def phrased(question: str, form: str) -> str:
    """Return the query of a tool call for a spoken question."""
    if form == "full":
        return question
    return _shortened(question) if form == "shortened" else _reworded(question)


def _shortened(question: str) -> str:
    if _unspaced(question):
        return re.sub(r"请问|的|了|是|有|吗|呢|什么|哪些|[？?]", "", question) or question
    kept = [word for word in re.findall(r"[\w'-]+", question) if word.lower() not in _SMALL]
    return " ".join(kept) or question


def _reworded(question: str) -> str:
    text = question.rstrip(" ?？.")
    for pattern, replacement in _QUESTION:
        text = pattern.sub(replacement, text)
    chosen = zlib.crc32(question.encode()) % 3
    if chosen == 0:
        for word, other in _OTHER_WORDS.items():
            text = re.sub(rf"\b{word}\b" if word.isascii() else word, other, text)
        text += " details" if not _unspaced(text) else " 介绍"
    elif chosen == 1:
        text = _turned_round(text)
    return text


def _turned_round(text: str) -> str:
    """Put the last part first, as a search query often does."""
    if _unspaced(text):
        before, mark, after = text.partition("的")
        return f"{after} {before}" if mark and after else text
    words = text.split()
    half = len(words) // 2
    return " ".join([*words[half:], *words[:half]])


def _unspaced(text: str) -> bool:
    return bool(re.search(r"[\u3400-\u9fff]", text))


__all__ = ["FORMS", "phrased"]
