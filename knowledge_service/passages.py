"""A text cut into passages, and the passage of a text that answers a query."""

import re

import regex

from .indexes.tokens import tokens

PASSAGE_CHARACTERS = 800
_BLANK_LINES = re.compile(r"\n\s*\n")
_SENTENCE_END = regex.compile(r"[.!?。！？؟।]['\")\]]*\s+|[。！？]|\n")
_CLUSTERS = regex.compile(r"\X")


def passages(content: str, limit: int = PASSAGE_CHARACTERS) -> list[str]:
    """``content`` in passages of at most ``limit`` characters, cut between paragraphs, else sentences, else
    clusters.
    """
    found: list[str] = []
    current = ""
    for part in _parts(content, limit):
        if current and len(current) + 2 + len(part) > limit:
            found.append(current)
            current = part
        else:
            current = f"{current}\n\n{part}" if current else part
    return [*found, current] if current else found


def _parts(content: str, limit: int) -> list[str]:
    paragraphs = [paragraph.strip() for paragraph in _BLANK_LINES.split(content) if paragraph.strip()]
    return [piece for paragraph in paragraphs for piece in _pieces(paragraph, limit)]


def _pieces(paragraph: str, limit: int) -> list[str]:
    found: list[str] = []
    while len(paragraph) > limit:
        cut = _cut(paragraph, limit)
        found.append(paragraph[:cut].strip())
        paragraph = paragraph[cut:].strip()
    return [piece for piece in [*found, paragraph] if piece]


def _cut(paragraph: str, limit: int) -> int:
    ends = [end.end() for end in _SENTENCE_END.finditer(paragraph, 0, limit)]
    if ends and ends[-1] >= limit // 2:
        return ends[-1]
    length = 0
    for cluster in _CLUSTERS.finditer(paragraph):
        if cluster.end() > limit:
            break
        length = cluster.end()
    return length or limit


def passage_for(content: str, query: str, proposed: str = "") -> str:
    """What to show of ``content``: the proposed text where it truly stands there, else the passage nearest the
    query.
    """
    proposed = proposed.strip()
    if proposed and proposed in content:
        return proposed
    wanted = set(tokens(query))
    found = passages(content)
    return max(found, key=lambda passage: len(wanted & set(tokens(passage))), default="")


__all__ = ["PASSAGE_CHARACTERS", "passage_for", "passages"]
