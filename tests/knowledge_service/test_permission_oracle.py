"""Whatever an index proposes, a caller sees exactly what they could have read themselves: a model compares."""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_service import (
    AdapterContext,
    AdapterHealth,
    AdapterSearch,
    ExecutionContext,
    IndexHit,
    KnowledgeDocument,
    KnowledgeHit,
    KnowledgeService,
    MemoryDataEngine,
    RowPolicy,
    SearchLimits,
    source_from,
)
from knowledge_service.indexes.memory import MemoryIndex

WORDS = ("refund", "invoice", "Rückgabe", "возврат", "返品", "parcel", "secret")
USERS = ("ada", "bob", "")
QUERY = "refund invoice возврат 返品"

ARTICLES = source_from(
    {
        "id": "articles",
        "label": "Articles",
        "adapter": "index",
        "source": {
            "kind": "object",
            "object": "article",
            "contentFields": ["title", "body"],
            "metadataFields": ["status"],
            "where": {"archived": False},
        },
    }
)
POLICY = RowPolicy.of({"roles": ["agent"]}, {"where": {"status": "published"}}, {"where": {"author": "$user"}})


@dataclass(frozen=True)
class Row:
    id: str
    author: str
    status: str
    archived: bool
    title: str
    body: str


texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
rows = st.lists(
    st.builds(
        Row,
        id=st.integers(1, 40).map(str),
        author=st.sampled_from(("ada", "bob")),
        status=st.sampled_from(("published", "draft")),
        archived=st.booleans(),
        title=texts,
        body=texts,
    ),
    max_size=30,
    unique_by=lambda row: row.id,
)
callers = st.builds(
    ExecutionContext,
    user_id=st.sampled_from(USERS),
    roles=st.frozensets(st.sampled_from(("agent", "guest"))),
)


def may_read(row: Row, caller: ExecutionContext) -> bool:
    """The rule of this file's policy, written down a second time without any of the service's code."""
    if not caller.user_id or row.archived:
        return False
    return "agent" in caller.roles or row.status == "published" or row.author == caller.user_id


def tables(held: Sequence[Row]) -> MemoryDataEngine:
    engine = MemoryDataEngine({"article": POLICY})
    engine.rows["article"] = {}
    for row in held:
        engine.put(
            "article",
            row.id,
            author=row.author,
            status=row.status,
            archived=row.archived,
            title=row.title,
            body=row.body,
        )
    return engine


def document(row: Row) -> KnowledgeDocument:
    return KnowledgeDocument(
        id=f"articles:{row.id}",
        source_id="articles",
        source_record_id=row.id,
        title=row.title,
        content=f"{row.title}\n\n{row.body}",
        metadata={"status": row.status},
    )


async def filled(index: Any, held: Sequence[Row], limits: SearchLimits | None = None) -> KnowledgeService:
    """A service whose index holds every row, archived and forbidden ones as well."""
    service = KnowledgeService(data_engine=tables(held), limits=limits, timeout_seconds=5)
    service.register_adapter("index", index)
    service.register_source(ARTICLES)
    await index.upsert([document(row) for row in held], AdapterContext(source=ARTICLES, reason="test"))
    return service


@settings(max_examples=300, deadline=None)
@given(held=rows, caller=callers, top_k=st.integers(1, 12), wanted=st.sampled_from((None, "published", "draft")))
def test_a_search_equals_a_brute_force_over_all_rows(
    held: list[Row], caller: ExecutionContext, top_k: int, wanted: str | None
) -> None:
    """With an honest index the caller gets the best top_k of all that they may read: none missing, none too many."""

    async def run() -> tuple[list[str], list[str]]:
        index = MemoryIndex()
        service = await filled(index, held, SearchLimits(first_factor=1, growth=2))
        chosen = {"status": wanted} if wanted else {}
        found = await service.search(QUERY, execution_context=caller, top_k=top_k, filter=chosen)
        everything = await index.search(QUERY, AdapterSearch(source=ARTICLES, limit=10_000))
        allowed = {f"articles:{row.id}" for row in held if may_read(row, caller) and wanted in (None, row.status)}
        return [hit.document_id for hit in found.hits], [
            hit.document_id for hit in everything if hit.document_id in allowed
        ][:top_k]

    found, expected = asyncio.run(run())
    assert found == expected


class HostileIndex:
    """Proposes what it pleases: other orders, repetitions, forged and numeric ids, foreign text, impossible scores."""

    def __init__(self, seed: int) -> None:
        self._honest = MemoryIndex()
        self._chance = random.Random(seed)  # noqa: S311

    async def upsert(self, documents: Sequence[KnowledgeDocument], context: AdapterContext) -> None:
        await self._honest.upsert(documents, context)

    async def search(self, query: str, options: AdapterSearch) -> Sequence[IndexHit]:
        hits = list(await self._honest.search(query, replace(options, limit=1000)))
        forged = [self._forge(hit, hits) for hit in hits * 2]
        self._chance.shuffle(forged)
        if self._chance.random() < 0.1:
            raise RuntimeError("the index broke")
        return forged

    async def delete(self, document_ids: Sequence[str], context: AdapterContext) -> None:
        await self._honest.delete(document_ids, context)

    async def health_check(self) -> AdapterHealth:
        return AdapterHealth(ok=True)

    def _forge(self, hit: IndexHit, hits: list[IndexHit]) -> IndexHit:
        other = self._chance.choice(hits)
        number: Any = int(hit.source_record_id or 0)
        return self._chance.choice(
            [
                hit,
                replace(hit, source_record_id=other.source_record_id),
                replace(hit, document_id=other.document_id),
                replace(hit, document_id=other.document_id, source_record_id=other.source_record_id),
                replace(hit, snippet=other.snippet),
                replace(hit, source_record_id=None),
                replace(hit, source_record_id=number),
                replace(hit, document_id=number),
                replace(hit, document_id=f"elsewhere:{hit.source_record_id}"),
                replace(hit, document_id=f"articles: {hit.source_record_id}", source_record_id=f" {number}"),
                replace(hit, document_id=f"articles:0{number}", source_record_id=f"0{number}"),
                replace(hit, score=float("nan")),
            ]
        )


def own_words(hit: KnowledgeHit, row: Row) -> bool:
    return hit.title == row.title.splitlines()[0][:120] and hit.snippet in f"{row.title}\n\n{row.body}"


@settings(max_examples=400, deadline=None)
@given(held=rows, caller=callers, top_k=st.integers(1, 12), seed=st.integers(0, 10_000))
def test_no_forgery_of_an_index_shows_a_row_to_the_wrong_caller(
    held: list[Row], caller: ExecutionContext, top_k: int, seed: int
) -> None:
    """Every hit names a row the caller may read and speaks only words of that very row."""

    async def run() -> Sequence[KnowledgeHit]:
        service = await filled(HostileIndex(seed), held)
        return (await service.search(QUERY, execution_context=caller, top_k=top_k)).hits

    by_id = {row.id: row for row in held}
    hits = asyncio.run(run())
    assert len(hits) <= top_k
    for hit in hits:
        assert hit.source_id == "articles"
        row = by_id[hit.source_record_id or ""]
        assert may_read(row, caller)
        assert own_words(hit, row)
