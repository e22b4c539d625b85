"""Pure: what a turn looks like in words, for a terminal of any kind."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .turns import Lookup, SaidTurn

_STATUS = {
    "repeated": "looked up before",
    "no_results": "nothing about it in the documents",
    "timeout": "the look-up took too long",
    "unavailable": "the documents could not be reached",
    "unconfigured": "no documents are connected",
    "invalid_request": "the model asked in a wrong way",
    "limit_reached": "enough look-ups for one answer",
    "superseded": "look-up dropped",
}
_ENDING = {
    "interrupted": "Stopped.",
    "lost": "The connection broke before the answer was complete. Ask again.",
}


@dataclass(frozen=True, slots=True)
class Footnote:
    """One source of an answer. ``uri`` is set only where a citation allows a link."""

    title: str
    place: str
    uri: str = ""


def question_line(turn: SaidTurn) -> str:
    """Return the question; one that was spoken has words only where the model writes down what it hears."""
    if turn.question or not turn.spoken:
        return turn.question
    return "listening …" if turn.phase == "listening" else "(spoken)"


def level_meter(level: float) -> str:
    """Return five marks for a loudness between 0.0 and 1.0, full at -10 dB and empty below -60 dB."""
    decibels = 20 * math.log10(level) if level > 0 else -math.inf
    full = min(5, max(0, math.ceil((decibels + 60) / 10)) if level > 0 else 0)
    return "▮" * full + "▯" * (5 - full)


def lookup_line(lookup: Lookup, turn: SaidTurn) -> str:
    """Return what a look-up does or did, with its time."""
    if lookup.status == "running":
        return _running(lookup)
    found = f"found {passages(len(turn.sources))}"
    words = found if lookup.status == "ok" else _STATUS.get(lookup.status, lookup.status)
    return f"{words} · {lookup.milliseconds or 0:.1f} ms"


def _running(lookup: Lookup) -> str:
    waited = lookup.waited_milliseconds
    if not waited:
        return f"looking up “{lookup.query}” …"
    time = f"{waited:.0f} ms" if waited < 1000 else f"{waited / 1000:.1f} s"
    return f"still looking up “{lookup.query}”, for more than {time} …"


def passages(count: int) -> str:
    """Return the count with its noun."""
    return f"{count} {'passage' if count == 1 else 'passages'}"


def document_facts(row: Mapping[str, Any]) -> str:
    """Return name, pages, passages and status of a document; of a file that is on its way, that it is; else nothing."""
    if row["status"] in ("quarantined", "importing"):
        return "being imported" if row["status"] == "importing" else ""
    pages = f"{row['pages']} {row['pageKind']}{'' if row['pages'] == 1 else 's'}" if row["pages"] else ""
    return ", ".join(filter(None, (row["name"], pages, passages(row["passages"]), row["status"].replace("_", " "))))


def document_trouble(row: Mapping[str, Any]) -> list[str]:
    """Return what a person should know of a document or a refused file, a sentence each."""
    if row["status"] == "quarantined":
        return [f"not imported: it {row['reason']}"]
    return [*filter(None, [row.get("statusSentence")]), *row.get("warnings", ())]


def ending(turn: SaidTurn) -> str:
    """Return the sentence with which a turn that was not answered ends; empty for one that was."""
    return turn.problem or _ENDING.get(turn.phase, "")


def footnotes(turn: SaidTurn) -> list[Footnote]:
    """Return the sources, one for each document, in the order found; only citations give links."""
    cited = {citation["id"]: citation for citation in turn.citations}
    notes: dict[str, tuple[str, str, list[str]]] = {}
    for source in turn.sources:
        citation = cited.get(source.get("citation") or "", {})
        file, place = _place(source)
        title = source.get("title") or citation.get("title") or file or "Untitled source"
        _, _, places = notes.setdefault(citation.get("uri") or f"{title} {file}", (title, citation.get("uri", ""), []))
        if place not in ("", title, *places):
            places.append(place)
    return [Footnote(title, ", ".join(places), uri) for title, uri, places in notes.values()]


def _place(source: Mapping[str, Any]) -> tuple[str, str]:
    path, _, anchor = str(source.get("locator") or "").partition("#")
    if not anchor and "/" not in path and "\\" not in path:
        return "", path
    return path.replace("\\", "/").rsplit("/", 1)[-1], anchor


__all__ = [
    "Footnote",
    "document_facts",
    "document_trouble",
    "ending",
    "footnotes",
    "level_meter",
    "lookup_line",
    "passages",
    "question_line",
]
