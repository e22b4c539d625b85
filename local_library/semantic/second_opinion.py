"""Search by meaning, as a second opinion: asked only where words found nothing, or next to nothing."""

import logging
import math
import time
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from ..catalog import Catalog
from ..outline import locator_for
from ..records import FoundPassage, Passage
from ..retriever import LibraryRetriever
from ..tokens import terms
from .embedded_text import embedded_text
from .embedding import checked_vectors
from .entries import VectorHit, space_of
from .loading import EmbedderLoading
from .vector_store import OwnerVectorStore

if TYPE_CHECKING:
    from ..ports import Embedder

GATE = 0.2
"""Words that cover less than this share of the question are doubted; measured in docs/benchmarks-library.md."""

LONGEST_QUESTION_TOKENS = 30
DEFAULT_SIMILARITY_FLOOR = 0.5
WORDS_WEIGHT = 0.3
"""What a passage gains that holds all words of the question: meaning and words together tell more than either."""

_FLOOR_PASSAGES, _FLOOR_STEP = 1_000, 0.05  # a tenth of so many passages has a floor that is lower by the step
_LOGGER = logging.getLogger(__name__)
_CANDIDATES = 24
_ALIKE = 0.9
_LEAST_COVERAGE = 0.05
_LOADING_SECONDS = 1.0
_SLOW_SECONDS = 1.0
_REST_SECONDS = 30.0


class SecondOpinion:
    """A retriever that asks another one first. Thread-safe.

    A passage is judged by its similarity and a part of the share of the question's words that it holds; what stays
    below ``floor`` is never returned. Without one the embedder's own counts, lower in a small library (`own_floor`).

    An embedder that fails, or takes longer than a second for a question, is left alone for half a minute: the search
    answers by words, and the log says why. The caller's deadline covers the time until then.
    """

    def __init__(
        self,
        lexical: LibraryRetriever,
        vectors: OwnerVectorStore,
        embedder: "Embedder",
        loading: EmbedderLoading,
        *,
        floor: float | None = None,
        gate: float = GATE,
        keep_alike: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._lexical = lexical
        self._vectors = vectors
        self._embedder = embedder
        self._loading = loading
        self._floor = floor
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
        floor = self._floor if self._floor is not None else own_floor(self._embedder, catalog.counts(owner_id)[1])
        near = [hit for hit in hits if hit.similarity + WORDS_WEIGHT >= floor]
        only = document_ids is not None and len(document_ids) == 1
        judged = [one for one in self._judged(catalog, owner_id, query, near, _scale(found)) if one.relevance >= floor]
        known = {one.passage.passage_id for one in found}
        meant = self._chosen(
            [one for one in judged if one.passage.passage_id not in known], limit if only else per_document
        )
        return sorted((*meant, *found), key=lambda one: -one.score)[:limit]

    def _is_asked(self, owner_id: str, query: str, found: Sequence[FoundPassage]) -> bool:
        return (
            max((one.coverage for one in found), default=0.0) < self._gate
            and self._clock() >= self._rests_until
            and self._vectors.exists(owner_id)
            and 0 < _tokens(query) <= LONGEST_QUESTION_TOKENS
        )

    def _hits(self, owner_id: str, query: str, document_ids: Collection[str] | None) -> list[VectorHit]:
        if not self._loading.wait(_LOADING_SECONDS):
            return []
        began = self._clock()
        vector = checked_vectors(self._embedder, [query], query=True)[0]
        took = self._clock() - began
        if took > _SLOW_SECONDS:
            self._rest(f"took {took:.1f} s for a question", None)
        return self._vectors.search(owner_id, space_of(self._embedder), vector, _CANDIDATES, document_ids=document_ids)

    def _judged(
        self, catalog: Catalog, owner_id: str, query: str, near: Sequence[VectorHit], scale: float
    ) -> list[FoundPassage]:
        """The passages with what meaning and words say of them, best first."""
        stored = catalog.passages(owner_id, [hit.passage_id for hit in near]) if near else {}
        judged = [
            self._found(stored[hit.passage_id], hit.similarity, _words_held(query, stored[hit.passage_id]), scale)
            for hit in near
            if hit.passage_id in stored
        ]
        return sorted(judged, key=lambda one: -one.relevance)

    def _found(self, passage: Passage, similarity: float, covered: float, scale: float) -> FoundPassage:
        chunk = passage.chunk
        relevance = similarity + WORDS_WEIGHT * covered
        return FoundPassage(
            passage=passage,
            score=relevance * scale,
            coverage=covered,
            relevance=relevance,
            text=chunk.text,
            locator=locator_for(passage.path, chunk.heading_path, chunk.place, passage.title),
            similarity=similarity,
            embedder_id=self._embedder.embedder_id,
        )

    def _chosen(self, judged: Sequence[FoundPassage], per_document: int) -> list[FoundPassage]:
        """No more than ``per_document`` passages of a document, and one of those that say the same."""
        kept: list[FoundPassage] = []
        for one in judged:
            of_document = sum(other.passage.document_id == one.passage.document_id for other in kept)
            if of_document < per_document and (
                self._keep_alike or not any(_are_alike(one.passage, other.passage) for other in kept)
            ):
                kept.append(one)
        return kept

    def _rest(self, problem: str, error: Exception | None) -> None:
        self._rests_until = self._clock() + _REST_SECONDS
        _LOGGER.warning(
            "The embedder %s %s; search answers by words alone for %.0f s.",
            self._embedder.embedder_id,
            problem,
            _REST_SECONDS,
            exc_info=error,
        )


def own_floor(embedder: "Embedder", passages: int) -> float:
    """The embedder's floor in a library of so many passages: the best of few is less near by chance."""
    floor = float(getattr(embedder, "similarity_floor", DEFAULT_SIMILARITY_FLOOR))
    return floor - _FLOOR_STEP * max(0.0, math.log10(_FLOOR_PASSAGES / max(1, passages)))


def _tokens(query: str) -> int:
    """About how many words ``query`` has; two characters of an unspaced script count as one."""
    found = terms(query)
    spaced = sum(not term.unspaced for term in found)
    return spaced + (sum(term.unspaced and len(term.word) == 1 for term in found) + 1) // 2


def _words_held(query: str, passage: Passage) -> float:
    """The share, 0..1, of the question's telling words that stand in the passage."""
    wanted = _telling(query, passage.language)
    return len(wanted & _telling(embedded_text(passage), passage.language)) / len(wanted) if wanted else 0.0


def _telling(text: str, language: str) -> frozenset[str]:
    """Stems of words; of an unspaced script pairs, since single characters stand everywhere."""
    found = terms(text, language)
    return frozenset(term.token for term in found if not term.stop and not (term.unspaced and len(term.word) == 1))


def _scale(found: Sequence[FoundPassage]) -> float:
    """What a relevance is multiplied by, so that it ranks as the same share of the question's words would."""
    if not found:
        return 1.0
    return max(one.score / max(one.coverage, _LEAST_COVERAGE) for one in found)


def _are_alike(left: Passage, right: Passage) -> bool:
    a, b = frozenset(left.chunk.text.split()), frozenset(right.chunk.text.split())
    return len(a & b) >= _ALIKE * len(a | b)


__all__ = ["DEFAULT_SIMILARITY_FLOOR", "GATE", "LONGEST_QUESTION_TOKENS", "SecondOpinion", "own_floor"]
