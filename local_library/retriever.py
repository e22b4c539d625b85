"""Finds passages: plan the query, ask the index, keep what really answers."""

from collections.abc import Collection, Iterable

from .catalog import Catalog
from .lexical_index import LexicalIndex
from .matching import coverage, planned
from .outline import locator_for
from .records import FoundPassage, Passage

FLOOR = 0.3
"""The least coverage of an answer. Below it the honest answer is that the documents do not say."""

_CANDIDATES = 24
_PER_DOCUMENT = 3


class LexicalRetriever:
    """Searches one store. Passages replaced or erased meanwhile are never returned."""

    def __init__(self, catalog: Catalog, index: LexicalIndex, *, floor: float = FLOOR) -> None:
        self._catalog = catalog
        self._index = index
        self._floor = floor

    def search(
        self, owner_id: str, query: str, limit: int, *, document_ids: Collection[str] | None = None
    ) -> list[FoundPassage]:
        """At most ``limit`` passages that answer ``query``, best first; none where nothing is relevant."""
        frequency = self._index.frequencies(owner_id)
        plan = planned(query, self._catalog.languages(owner_id), frequency, self._index.count(owner_id))
        hits = self._index.search(owner_id, plan.wanted, _CANDIDATES)
        stored = self._catalog.passages(owner_id, [hit.passage_id for hit in hits])
        found: list[FoundPassage] = []
        for hit in hits:
            passage = stored.get(hit.passage_id)
            if passage is None or (document_ids is not None and passage.document_id not in document_ids):
                continue
            language = self._catalog.language_of(owner_id, passage.version_id)
            covered = coverage(plan, searched_text(passage), language)
            if covered >= self._floor:
                found.append(_found(passage, hit.score, covered))
        return list(_spread(found))[:limit]


def searched_text(passage: Passage) -> str:
    """The words that speak for a passage: its title, headings and text."""
    return "\n".join((passage.title, *passage.chunk.heading_path, passage.chunk.text))


def _found(passage: Passage, score: float, covered: float) -> FoundPassage:
    locator = locator_for(passage.path, passage.chunk.heading_path, passage.chunk.place, passage.title)
    return FoundPassage(passage, score, covered, passage.chunk.text, locator)


def _spread(found: Iterable[FoundPassage]) -> Iterable[FoundPassage]:
    taken: dict[str, int] = {}
    for one in found:
        document_id = one.passage.document_id
        taken[document_id] = taken.get(document_id, 0) + 1
        if taken[document_id] <= _PER_DOCUMENT:
            yield one


__all__ = ["FLOOR", "LexicalRetriever", "searched_text"]
