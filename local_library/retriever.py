"""Finds passages: plan the query, ask the index, keep what really answers."""

from collections.abc import Callable, Collection, Sequence
from functools import partial

from .catalog import Catalog
from .lexical_index import IndexHit, IndexView, LexicalIndex
from .matching import QueryPlan, judged, named_in, planned
from .outline import locator_for
from .records import FoundPassage, Passage
from .tokens import Held

FLOOR = 0.55
"""The least relevance of an answer. Below it the documents do not say; docs/library.md has the measured rates."""

_CANDIDATES = 16
_PER_DOCUMENT = 3
_ROUNDS = 3
_MOST_REJECTED = 5  # more found nothing on any judged collection, at any level of noise
_ALIKE = 0.9
_MERGED_CHARACTERS = 2_400


class LibraryRetriever:
    """Searches the index of one store. Passages replaced or erased meanwhile are never returned. Thread-safe."""

    def __init__(self, index: LexicalIndex, *, floor: float = FLOOR, keep_alike: bool = False) -> None:
        self._index = index
        self._floor = floor
        self._keep_alike = keep_alike
        self._languages: dict[str, tuple[IndexView, list[str]]] = {}

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
        view = self._index.view(owner_id)
        if view is None:
            return []
        plan = planned(query, self._languages_of(catalog, owner_id, view), view.frequency, view.count)
        only = document_ids is not None and len(document_ids) == 1
        choice = _Choice(plan, self._floor, limit, limit if only else per_document, keep_alike=self._keep_alike)
        wanted = max(_CANDIDATES, 2 * limit)
        full: frozenset[str] = frozenset()
        for _ in range(_ROUNDS):
            hits = view.search(plan.wanted, wanted, document_ids=document_ids, without=full)
            choice.consider(hits, partial(catalog.passage, owner_id))
            if choice.is_done or len(hits) < wanted or choice.full <= full:
                break
            full = choice.full
        return _merged(choice.kept)

    def _languages_of(self, catalog: Catalog, owner_id: str, view: IndexView) -> list[str]:
        known = self._languages.get(owner_id)
        if known is None or known[0] is not view:
            known = self._languages[owner_id] = (view, catalog.languages(owner_id))
        return known[1]


def searched_text(passage: Passage) -> str:
    """The words that speak for a passage: its title, headings and text."""
    return "\n".join((passage.title, *passage.chunk.heading_path, passage.chunk.text))


class _Choice:
    """Keeps the passages that answer, in the order in which they are considered."""

    def __init__(self, plan: QueryPlan, floor: float, limit: int, per_document: int, *, keep_alike: bool) -> None:
        self.kept: list[FoundPassage] = []
        self._plan = plan
        self._floor = floor
        self._limit = limit
        self._per_document = per_document
        self._keep_alike = keep_alike
        self._taken: dict[str, int] = {}
        self._seen: list[frozenset[str]] = []
        self._rejected = 0

    @property
    def is_done(self) -> bool:
        """Whether there is enough, or too much that was none to expect more."""
        return len(self.kept) >= self._limit or self._rejected >= _MOST_REJECTED

    @property
    def full(self) -> frozenset[str]:
        """The documents of which no further passage is taken."""
        return frozenset(one for one, count in self._taken.items() if count >= self._per_document)

    def consider(self, hits: Sequence[IndexHit], stored: Callable[[int], Passage | None]) -> None:
        """Keep what answers among ``hits``, best first, until there is enough or too many were none.

        Most passages are never considered, so each is read when its turn comes.
        """
        for hit in hits:
            if self.is_done:
                return
            passage = stored(hit.passage_id)
            if passage is not None and self._has_room(passage):
                self._judge(passage, hit.score)

    def _has_room(self, passage: Passage) -> bool:
        taken = self._taken.get(passage.document_id, 0)
        return taken < self._per_document or named_in(self._plan, passage.title, passage.language)

    def _judge(self, passage: Passage, score: float) -> None:
        held = Held(searched_text(passage), passage.language)
        found = judged(self._plan, held, score, self._floor)
        if found.relevance < self._floor:
            self._rejected += 1
            return
        if not self._keep_alike and self._is_repeated(passage.chunk.text):
            return
        locator = locator_for(passage.path, passage.chunk.heading_path, passage.chunk.place, passage.title)
        self.kept.append(FoundPassage(passage, score, found.coverage, found.relevance, passage.chunk.text, locator))
        self._taken[passage.document_id] = self._taken.get(passage.document_id, 0) + 1

    def _is_repeated(self, text: str) -> bool:
        """Whether a passage with nearly the same words was kept already; remembers the words of a new one."""
        words = frozenset(text.split())
        if any(len(words & other) >= _ALIKE * len(words | other) for other in self._seen):
            return True
        self._seen.append(words)
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


__all__ = ["FLOOR", "LibraryRetriever", "searched_text"]
