"""Reading tantivy indexes: what an index holds in one state, and the passages that match there."""

import json
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import tantivy

from .index_writing import index_schema

_FREQUENCIES_KEPT = 65_536


@dataclass(frozen=True, slots=True)
class WeightedTerm:
    """A token to look for in a field, and how much a match there counts."""

    field: str
    token: str
    boost: float


@dataclass(frozen=True, slots=True)
class IndexHit:
    """A passage that matched; ``score`` is higher for better."""

    passage_id: int
    score: float


class IndexView:
    """An owner's index as it was at one moment, for any number of questions. Thread-safe."""

    def __init__(self, folder: Path, state: object) -> None:
        index = tantivy.Index(index_schema(), path=str(folder), reuse=True)
        index.config_reader("manual")
        index.reload()
        self._searcher = index.searcher()
        self.state = state
        self.frequency: Callable[[str, str], int] = lru_cache(_FREQUENCIES_KEPT)(self._searcher.doc_freq)
        """How many passages hold a token in a field; asked for each term of each query, hence remembered."""

    @property
    def count(self) -> int:
        """How many passages the index holds."""
        return self._searcher.num_docs

    def search(
        self,
        wanted: Iterable[WeightedTerm],
        limit: int,
        *,
        document_ids: Collection[str] | None = None,
        without: Collection[str] = (),
    ) -> list[IndexHit]:
        """The ``limit`` best passages for any of the ``wanted`` terms, best first; equal scores in import order.

        ``document_ids`` narrows to some documents, ``without`` leaves some out; both are part of the query itself.
        """
        clauses = [(tantivy.Occur.Should, _term_query(term)) for term in wanted]
        if not clauses:
            return []
        query = tantivy.Query.boolean_query(clauses)
        if document_ids is not None:
            only = tantivy.Query.const_score_query(_among(document_ids), 0.0)
            query = tantivy.Query.boolean_query([(tantivy.Occur.Must, query), (tantivy.Occur.Must, only)])
        if without:
            query = tantivy.Query.boolean_query([(tantivy.Occur.Must, query), (tantivy.Occur.MustNot, _among(without))])
        hits = self._searcher.search(query, limit, count=False).hits
        ids = self._searcher.fast_field_values("passage", [address for _, address in hits])
        found = [IndexHit(int(passage_id or 0), score) for (score, _), passage_id in zip(hits, ids, strict=True)]
        return sorted(found, key=lambda hit: (-hit.score, hit.passage_id))

    def lineage(self, document_id: str) -> list[dict[str, str]]:
        """The stored lineage of a document's entries, for verification."""
        query = tantivy.Query.term_query(index_schema(), "document", document_id, "basic")
        hits = self._searcher.search(query, 100_000, count=False).hits
        return [json.loads(self._searcher.doc(address)["lineage"][0]) for _, address in hits]


def _term_query(term: WeightedTerm) -> tantivy.Query:
    found = tantivy.Query.term_query(index_schema(), term.field, term.token, "freq")
    return tantivy.Query.boost_query(found, term.boost)


def _among(document_ids: Collection[str]) -> tantivy.Query:
    return tantivy.Query.term_set_query(index_schema(), "document", sorted(document_ids))


__all__ = ["IndexHit", "IndexView", "WeightedTerm"]
