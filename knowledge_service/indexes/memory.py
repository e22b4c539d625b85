"""An index in memory: real words of every script, ranked by BM25. For development, tests and small collections.

It keeps nothing when the process ends: `KnowledgeService.reindex_source` fills it again.
"""

import heapq
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from ..adapter import AdapterContext, AdapterHealth, AdapterSearch
from ..documents import IndexHit, KnowledgeDocument, MetadataScalar
from ..passages import passages
from ..sources import KnowledgeSource
from ..where import matches
from .tokens import tokens

_SATURATION = 1.2
_LENGTH_WEIGHT = 0.75


@dataclass(frozen=True, slots=True)
class _Passage:
    document_id: str
    chunk_id: str
    text: str
    record_id: str | None
    length: int
    metadata: dict[str, MetadataScalar]
    words: tuple[str, ...]


@dataclass(slots=True)
class _Postings:
    """One source: which passages hold which word how often."""

    passages: dict[str, _Passage] = field(default_factory=dict)
    documents: dict[str, list[str]] = field(default_factory=dict)
    words: dict[str, dict[str, int]] = field(default_factory=dict)
    total_length: int = 0

    def add(self, document: KnowledgeDocument) -> None:
        for passage, counts in _passages_of(document):
            self.passages[passage.chunk_id] = passage
            self.documents.setdefault(document.id, []).append(passage.chunk_id)
            self.total_length += passage.length
            for word, count in counts.items():
                self.words.setdefault(word, {})[passage.chunk_id] = count

    def remove(self, document_id: str) -> None:
        for chunk_id in self.documents.pop(document_id, ()):
            passage = self.passages.pop(chunk_id)
            self.total_length -= passage.length
            for word in passage.words:
                self.words[word].pop(chunk_id)
                if not self.words[word]:
                    del self.words[word]

    def ranked(self, query: str) -> list[tuple[float, _Passage]]:
        scores: dict[str, float] = {}
        average = self.total_length / max(1, len(self.passages))
        for word in dict.fromkeys(tokens(query)):
            held = self.words.get(word, {})
            rarity = math.log(1 + (len(self.passages) - len(held) + 0.5) / (len(held) + 0.5))
            for chunk_id, count in held.items():
                relative = self.passages[chunk_id].length / average
                damped = count + _SATURATION * (1 - _LENGTH_WEIGHT + _LENGTH_WEIGHT * relative)
                scores[chunk_id] = scores.get(chunk_id, 0.0) + rarity * count * (_SATURATION + 1) / damped
        return [(score, self.passages[chunk_id]) for chunk_id, score in scores.items()]


def _passages_of(document: KnowledgeDocument) -> Iterator[tuple[_Passage, Counter[str]]]:
    heading = tokens(document.title)
    for number, text in enumerate(passages(document.content) or ([document.title] if heading else [])):
        counts = Counter(tokens(text) + heading)
        yield (
            _Passage(
                document_id=document.id,
                chunk_id=f"{document.id}#{number}",
                text=text,
                record_id=document.source_record_id,
                length=counts.total(),
                metadata=document.metadata,
                words=tuple(counts),
            ),
            counts,
        )


class MemoryIndex:
    """Holds every source apart. Not shared between threads or processes."""

    volatile = True

    def __init__(self) -> None:
        self._sources: dict[str, _Postings] = {}

    async def upsert(self, documents: Sequence[KnowledgeDocument], context: AdapterContext) -> None:
        held = self._sources.setdefault(context.source.id, _Postings())
        for document in documents:
            held.remove(document.id)
            held.add(document)

    async def search(self, query: str, options: AdapterSearch) -> Sequence[IndexHit]:
        held = self._sources.get(options.source.id, _Postings())
        found = [entry for entry in held.ranked(query) if matches(options.filter, entry[1].metadata)]
        # Equal scores stay in an order of their own, so that a larger limit only ever appends.
        best = heapq.nsmallest(options.limit, found, key=lambda entry: (-entry[0], entry[1].chunk_id))
        return [
            IndexHit(
                document_id=passage.document_id,
                chunk_id=passage.chunk_id,
                score=score,
                snippet=passage.text,
                source_record_id=passage.record_id,
            )
            for score, passage in best
        ]

    async def delete(self, document_ids: Sequence[str], context: AdapterContext) -> None:
        held = self._sources.get(context.source.id)
        for document_id in document_ids if held else ():
            held.remove(document_id)  # type: ignore[union-attr]

    async def list_document_ids(self, source: KnowledgeSource, *, after: str = "", limit: int = 500) -> list[str]:
        held = self._sources.get(source.id, _Postings())
        return list(islice((one for one in sorted(held.documents) if one > after), limit))

    async def health_check(self) -> AdapterHealth:
        return AdapterHealth(ok=True, message=f"{len(self._sources)} sources in memory")


__all__ = ["MemoryIndex"]
