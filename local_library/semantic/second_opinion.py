"""Search by meaning, as a second opinion: asked only where words found nothing, or next to nothing."""

import logging
import time
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from ..catalog import Catalog
from ..outline import locator_for
from ..records import FoundPassage, Passage
from ..retriever import LibraryRetriever
from ..tokens import terms
from .embedding import checked_vectors
from .entries import VectorHit, space_of
from .vector_store import OwnerVectorStore

if TYPE_CHECKING:
    from ..ports import Embedder

GATE = 0.2
"""Words that cover less than this share of the question are doubted; measured in docs/benchmarks-library.md."""

LONGEST_QUESTION_TOKENS = 30
DEFAULT_SIMILARITY_FLOOR = 0.5

_LOGGER = logging.getLogger(__name__)
_CANDIDATES = 24
_ALIKE = 0.9
_LEAST_COVERAGE = 0.05
_SLOW_SECONDS = 1.0
_REST_SECONDS = 30.0


class SecondOpinion:
    """A retriever that asks another one first. Passages below ``floor`` are never returned. Thread-safe.

    An embedder that fails, or takes longer than a second for a question, is left alone for half a minute: the search
    answers by words, and the log says why. The caller's deadline covers the time until then.
    """

    def __init__(
        self,
        lexical: LibraryRetriever,
        vectors: OwnerVectorStore,
        embedder: "Embedder",
        *,
        floor: float | None = None,
        gate: float = GATE,
        keep_alike: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._lexical = lexical
        self._vectors = vectors
        self._embedder = embedder
        own = getattr(embedder, "similarity_floor", DEFAULT_SIMILARITY_FLOOR)
        self._floor = float(own) if floor is None else floor
        self._gate = gate
        self._keep_alike = keep_alike
        self._clock = clock
        self._rests_until = float("-inf")

    def search(
        self,
        catalog: Catalog,
        owner_id: str,
        query: str,
        limit: int,
        *,
        document_ids: Collection[str] | None = None,
        per_document: int = 3,
    ) -> list[FoundPassage]:
        """At most ``limit`` passages, best first: by words, and by meaning where words say little."""
        found = self._lexical.search(
            catalog, owner_id, query, limit, document_ids=document_ids, per_document=per_document
        )
        if not self._is_asked(owner_id, query, found):
            return found
        try:
            hits = self._hits(owner_id, query, document_ids)
        except Exception as error:
            self._rest(f"failed ({type(error).__name__})", error)
            return found
        near = [hit for hit in hits if hit.similarity >= self._floor]
        only = document_ids is not None and len(document_ids) == 1
        meant = self._kept(catalog, owner_id, near, found, limit, limit if only else per_document)
        return sorted((*meant, *found), key=lambda one: -one.score)[:limit]

    def _is_asked(self, owner_id: str, query: str, found: Sequence[FoundPassage]) -> bool:
        return (
            max((one.coverage for one in found), default=0.0) < self._gate
            and self._clock() >= self._rests_until
            and self._vectors.exists(owner_id)
            and 0 < _tokens(query) <= LONGEST_QUESTION_TOKENS
        )

    def _hits(self, owner_id: str, query: str, document_ids: Collection[str] | None) -> list[VectorHit]:
        began = self._clock()
        vector = checked_vectors(self._embedder, [query], query=True)[0]
        took = self._clock() - began
        if took > _SLOW_SECONDS:
            self._rest(f"took {took:.1f} s for a question", None)
        return self._vectors.search(owner_id, space_of(self._embedder), vector, _CANDIDATES, document_ids=document_ids)

    def _kept(
        self,
        catalog: Catalog,
        owner_id: str,
        near: Sequence[VectorHit],
        found: Sequence[FoundPassage],
        limit: int,
        per_document: int,
    ) -> list[FoundPassage]:
        stored = catalog.passages(owner_id, [hit.passage_id for hit in near]) if near else {}
        scale = _scale(found)
        known = {one.passage.passage_id for one in found}
        taken: dict[str, int] = {}
        kept: list[FoundPassage] = []
        for hit in near:
            passage = stored.get(hit.passage_id)
            if passage is None or hit.passage_id in known or taken.get(passage.document_id, 0) >= per_document:
                continue
            if not self._keep_alike and any(_are_alike(passage, one.passage) for one in kept):
                continue
            taken[passage.document_id] = taken.get(passage.document_id, 0) + 1
            kept.append(self._found(passage, hit, scale))
            if len(kept) == limit:
                break
        return kept

    def _found(self, passage: Passage, hit: VectorHit, scale: float) -> FoundPassage:
        chunk = passage.chunk
        return FoundPassage(
            passage=passage,
            score=hit.similarity * scale,
            coverage=0.0,
            relevance=hit.similarity,
            text=chunk.text,
            locator=locator_for(passage.path, chunk.heading_path, chunk.place, passage.title),
            similarity=hit.similarity,
            embedder_id=self._embedder.embedder_id,
        )

    def _rest(self, problem: str, error: Exception | None) -> None:
        self._rests_until = self._clock() + _REST_SECONDS
        _LOGGER.warning(
            "The embedder %s %s; search answers by words alone for %.0f s.",
            self._embedder.embedder_id,
            problem,
            _REST_SECONDS,
            exc_info=error,
        )


def _tokens(query: str) -> int:
    """About how many words ``query`` has; two characters of an unspaced script count as one."""
    found = terms(query)
    spaced = sum(not term.unspaced for term in found)
    return spaced + (sum(term.unspaced and len(term.word) == 1 for term in found) + 1) // 2


def _scale(found: Sequence[FoundPassage]) -> float:
    """What a similarity is multiplied by, so that it ranks as the same share of the question's words would."""
    if not found:
        return 1.0
    return max(one.score / max(one.coverage, _LEAST_COVERAGE) for one in found)


def _are_alike(left: Passage, right: Passage) -> bool:
    a, b = frozenset(left.chunk.text.split()), frozenset(right.chunk.text.split())
    return len(a & b) >= _ALIKE * len(a | b)


__all__ = ["DEFAULT_SIMILARITY_FLOOR", "GATE", "LONGEST_QUESTION_TOKENS", "SecondOpinion"]
