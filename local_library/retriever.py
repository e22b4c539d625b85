"""Finds passages: plan the query, ask the index, keep what really answers."""

from collections.abc import Collection, Sequence

from .catalog import Catalog
from .lexical_index import IndexHit, LexicalIndex
from .matching import QueryPlan, coverage, named_in, planned, relevance, score_share
from .outline import locator_for
from .records import FoundPassage, Passage
from .tokens import Held, held

FLOOR = 0.6
"""The least relevance of an answer. Below it the documents do not say; docs/library.md has the measured rates."""

_CANDIDATES = 16
_PER_DOCUMENT = 3
_HOPELESS_SHARE = 0.1
_FAR_BEHIND = 0.3
_MISHEARD_JUDGED = 6  # passages in which misheard words are looked for, since that takes time
_ALIKE = 0.9
_MERGED_CHARACTERS = 2_400


class LibraryRetriever:
    """Searches the index of one store. Passages replaced or erased meanwhile are never returned. Thread-safe."""

    def __init__(self, index: LexicalIndex, *, floor: float = FLOOR) -> None:
        self._index = index
        self._floor = floor
        self._languages: dict[str, tuple[object, list[str]]] = {}

    def search(
        self,
        catalog: Catalog,
        owner_id: str,
        query: str,
        limit: int,
        *,
        document_ids: Collection[str] | None = None,
        per_document: int = _PER_DOCUMENT,
    ) -> list[FoundPassage]:
        """At most ``limit`` passages that answer ``query``, best first; none where nothing is relevant."""
        frequency = self._index.frequencies(owner_id)
        plan = planned(query, self._languages_of(catalog, owner_id), frequency, self._index.count(owner_id))
        wanted = max(_CANDIDATES, 2 * limit)
        hits = self._index.search(owner_id, plan.wanted, wanted, document_ids=document_ids)
        stored = catalog.passages(owner_id, [hit.passage_id for hit in hits])
        only = document_ids is not None and len(document_ids) == 1
        kept = self._kept(plan, hits, stored, limit, limit if only else per_document)
        return _merged(kept)

    def _kept(
        self, plan: QueryPlan, hits: Sequence[IndexHit], stored: dict[int, Passage], limit: int, per_document: int
    ) -> list[FoundPassage]:
        kept: list[FoundPassage] = []
        seen: list[frozenset[str]] = []
        taken: dict[str, int] = {}
        judged = 0
        for hit in hits:
            passage = stored.get(hit.passage_id)
            share = score_share(plan, hit.score)
            if share < max(_HOPELESS_SHARE, _FAR_BEHIND * score_share(plan, hits[0].score)):
                break
            if passage is None:
                continue
            full = taken.get(passage.document_id, 0) >= per_document
            if full and not named_in(plan, passage.title, passage.language):
                continue
            words = held(searched_text(passage), passage.language)
            needed = self._floor - relevance(0.0, share)
            covered = coverage(plan, words, enough=needed if judged < _MISHEARD_JUDGED else 0.0)
            judged += 1
            worth = relevance(covered, share)
            if worth >= self._floor and not _is_repeated(words, seen):
                kept.append(_found(passage, hit.score, covered, worth))
                taken[passage.document_id] = taken.get(passage.document_id, 0) + 1
            if len(kept) == limit:
                break
        return kept

    def _languages_of(self, catalog: Catalog, owner_id: str) -> list[str]:
        state = self._index.state(owner_id)
        known = self._languages.get(owner_id)
        if known is None or known[0] != state:
            known = (state, catalog.languages(owner_id))
            self._languages[owner_id] = known
        return known[1]


def searched_text(passage: Passage) -> str:
    """The words that speak for a passage: its title, headings and text."""
    return "\n".join((passage.title, *passage.chunk.heading_path, passage.chunk.text))


def _is_repeated(words: Held, seen: list[frozenset[str]]) -> bool:
    """Whether a passage with nearly the same words was kept already; remembers the words of a new one."""
    tokens = words.tokens
    for other in seen:
        if len(tokens & other) >= _ALIKE * len(tokens | other):
            return True
    seen.append(tokens)
    return False


def _merged(found: Sequence[FoundPassage]) -> list[FoundPassage]:
    """Neighbours under one heading become one passage, at the place of the better one."""
    made: list[FoundPassage] = []
    for one in found:
        place = next((n for n, other in enumerate(made) if _are_neighbours(other, one)), None)
        if place is None:
            made.append(one)
        else:
            made[place] = _joined(made[place], one)
    return made


def _are_neighbours(left: FoundPassage, right: FoundPassage) -> bool:
    a, b = left.passage, right.passage
    first, last = a.chunk.ordinal, a.chunk.ordinal + left.merged - 1
    return (
        a.version_id == b.version_id
        and a.chunk.heading_path == b.chunk.heading_path
        and b.chunk.ordinal in (first - 1, last + 1)
        and len(left.text) + len(right.text) <= _MERGED_CHARACTERS
    )


def _joined(left: FoundPassage, right: FoundPassage) -> FoundPassage:
    earlier, later = sorted((left, right), key=lambda one: one.passage.chunk.ordinal)
    return FoundPassage(
        passage=earlier.passage,
        score=max(left.score, right.score),
        coverage=max(left.coverage, right.coverage),
        relevance=max(left.relevance, right.relevance),
        text=f"{earlier.text}\n{later.text}",
        locator=earlier.locator,
        merged=left.merged + right.merged,
    )


def _found(passage: Passage, score: float, covered: float, judged: float) -> FoundPassage:
    locator = locator_for(passage.path, passage.chunk.heading_path, passage.chunk.place, passage.title)
    return FoundPassage(passage, score, covered, judged, passage.chunk.text, locator)


__all__ = ["FLOOR", "LibraryRetriever", "searched_text"]
