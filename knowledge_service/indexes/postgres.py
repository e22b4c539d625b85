"""An index in PostgreSQL: full text in every script, and vectors by pgvector where the host brings an embedder.

Words are cut by the service's own tokenizer, not by a database configuration, so one table serves every language.
"""

import json
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.exc import DataError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from ..adapter import AdapterContext, AdapterHealth, AdapterSearch
from ..documents import IndexHit, KnowledgeDocument
from ..errors import DocumentRefused, IndexFailed
from ..fusion import RANK_OFFSET
from ..passages import passages
from ..sources import KnowledgeSource
from .tokens import tokens

Embedder = Callable[[Sequence[str]], Awaitable[Sequence[Sequence[float]]]]
"""Gives one vector for each text, all of the length the index was made for."""

_LAST_POSITION = 16_000
_CHUNKS = "knowledge_chunks"

_CREATE = """
create table if not exists knowledge_chunks (
    source_id text not null, document_id text not null, position integer not null,
    record_id text, content text not null, metadata jsonb not null, words tsvector not null {vector},
    primary key (source_id, document_id, position))
"""
_INDEX = "create index if not exists knowledge_chunks_words on knowledge_chunks using gin (words)"
_NEAREST = (
    "create index if not exists knowledge_chunks_nearest on knowledge_chunks using hnsw (embedding vector_cosine_ops)"
)
# The source is asked first; within it an index on distances would return too few rows unless it may scan on.
_SCAN_ON = "set local hnsw.iterative_scan = strict_order"

_FOUND = "document_id, position, record_id, content"
_BY_WORDS = f"""
select {_FOUND}, ts_rank(words, cast(:words as tsquery), 1) as score from {_CHUNKS}
where source_id = :source and words @@ cast(:words as tsquery) and metadata @> :filter
order by score desc, document_id, position limit :limit
"""  # noqa: S608
_BY_MEANING = f"""
select {_FOUND}, 1 - (embedding <=> cast(:vector as vector)) as score from {_CHUNKS}
where source_id = :source and embedding is not null and metadata @> :filter
order by embedding <=> cast(:vector as vector), document_id, position limit :limit
"""  # noqa: S608
_INSERT = """
insert into knowledge_chunks (source_id, document_id, position, record_id, content, metadata, words {column})
values (:source, :document, :position, :record, :content, :metadata, cast(:words as tsvector) {value})
"""


class PostgresIndex:
    """``embedder`` with ``dimensions`` adds nearness of meaning; both rankings are then fused by rank.

    ``approximate`` builds an HNSW index over the vectors; without it nearness is exact, which is fast up to some
    thousands of passages a source. Call `prepare` once before use.
    """

    def __init__(
        self,
        engine: AsyncEngine,
        *,
        embedder: Embedder | None = None,
        dimensions: int | None = None,
        approximate: bool = False,
        name: str = "postgres",
    ) -> None:
        if (embedder is None) != (dimensions is None):
            raise ValueError("Give an embedder and its dimensions together, or neither.")
        self._engine = engine
        self._embedder = embedder
        self._dimensions = dimensions
        self._approximate = approximate and embedder is not None
        self._name = name

    async def prepare(self) -> None:
        """Create the table and its indexes where they are missing. Raises `IndexFailed`."""
        vector = f", embedding vector({int(self._dimensions)})" if self._dimensions else ""
        statements = [_CREATE.format(vector=vector), _INDEX, *([_NEAREST] if self._approximate else [])]
        with self._translated():
            async with self._engine.begin() as connection:
                if self._dimensions:
                    await connection.exec_driver_sql("create extension if not exists vector")
                for statement in statements:
                    await connection.exec_driver_sql(statement)

    async def upsert(self, documents: Sequence[KnowledgeDocument], context: AdapterContext) -> None:
        lines = [line for document in documents for line in _lines(document, context.source.id)]
        if self._embedder and lines:
            vectors = await self._embedder([line["content"] for line in lines])
            lines = [{**line, "vector": str(list(vector))} for line, vector in zip(lines, vectors, strict=True)]
        with self._translated():
            async with self._engine.begin() as connection:
                # In one order for all writers: two that write the same documents wait for each other, once.
                await _lock_documents(connection, context.source.id, [document.id for document in documents])
                await _delete(connection, context.source.id, [document.id for document in documents])
                if lines:
                    await connection.execute(self._insert(), lines)

    async def search(self, query: str, options: AdapterSearch) -> Sequence[IndexHit]:
        asked = {"source": options.source.id, "limit": options.limit, "filter": _containment(options.filter)}
        words = tokens(query)
        vector = (await self._embedder([query]))[0] if self._embedder else None
        rankings: list[Sequence[Any]] = []
        with self._translated():
            async with self._engine.begin() as connection:
                if words:
                    chosen = {**asked, "words": " | ".join(map(_quoted, dict.fromkeys(words)))}
                    rankings.append((await connection.execute(_typed(_BY_WORDS), chosen)).all())
                if vector is not None:
                    await connection.exec_driver_sql(_SCAN_ON)
                    near = await connection.execute(_typed(_BY_MEANING), {**asked, "vector": str(list(vector))})
                    rankings.append(near.all())
        return _fused(rankings)[: options.limit]

    async def delete(self, document_ids: Sequence[str], context: AdapterContext) -> None:
        with self._translated():
            async with self._engine.begin() as connection:
                await _delete(connection, context.source.id, document_ids)

    async def list_document_ids(self, source: KnowledgeSource, *, after: str = "", limit: int = 500) -> list[str]:
        wanted = sa.text(
            'select distinct document_id collate "C" as id from knowledge_chunks '
            'where source_id = :source and document_id collate "C" > :after order by id limit :limit'
        )
        with self._translated():
            async with self._engine.connect() as connection:
                found = await connection.execute(wanted, {"source": source.id, "after": after, "limit": limit})
                return [row[0] for row in found]

    async def health_check(self) -> AdapterHealth:
        try:
            with self._translated():
                async with self._engine.connect() as connection:
                    await connection.execute(sa.text("select 1 from knowledge_chunks limit 1"))
        except IndexFailed as error:
            return AdapterHealth(ok=False, message=error.problem)
        return AdapterHealth(ok=True)

    def _insert(self) -> sa.TextClause:
        column, value = (", embedding", ", cast(:vector as vector)") if self._embedder else ("", "")
        return sa.text(_INSERT.format(column=column, value=value)).bindparams(sa.bindparam("metadata", type_=JSONB))

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except DataError as error:
            raise DocumentRefused(self._name, "cannot hold a value of this document") from error
        except (TimeoutError, SQLAlchemyError, OSError) as error:
            raise IndexFailed(self._name, "does not answer") from error


def _lines(document: KnowledgeDocument, source_id: str) -> Iterator[dict[str, Any]]:
    heading = tokens(document.title)
    for position, text in enumerate(passages(document.content) or ([document.title] if heading else [])):
        yield {
            "source": source_id,
            "document": document.id,
            "position": position,
            "record": document.source_record_id,
            # PostgreSQL holds every character but this one.
            "content": text.replace("\0", " "),
            "metadata": json.loads(json.dumps(document.metadata).replace("\\u0000", " ")),
            "words": _vector_of(heading + tokens(text)),
        }


def _vector_of(words: list[str]) -> str:
    places: dict[str, list[int]] = defaultdict(list)
    for place, word in enumerate(words, start=1):
        places[word].append(min(place, _LAST_POSITION))
    return " ".join(f"{_quoted(word)}:{','.join(map(str, found[:200]))}" for word, found in places.items())


def _quoted(word: str) -> str:
    return "'" + word.replace("\\", "\\\\").replace("'", "''") + "'"


def _containment(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a filter that the database can apply; the service applies the whole of it to what comes back."""
    return {key: value for key, value in chosen.items() if isinstance(value, str | bool | int | float)}


def _typed(statement: str) -> sa.TextClause:
    return sa.text(statement).bindparams(sa.bindparam("filter", type_=JSONB))


def _fused(rankings: Sequence[Sequence[Any]]) -> list[IndexHit]:
    gains: dict[tuple[str, int], float] = {}
    rows: dict[tuple[str, int], Any] = {}
    for ranking in rankings:
        for rank, row in enumerate(ranking):
            key = (row.document_id, row.position)
            gains[key] = gains.get(key, 0.0) + (float(row.score) if len(rankings) == 1 else 1 / (RANK_OFFSET + rank))
            rows.setdefault(key, row)
    return [_hit(rows[key], gains[key]) for key in sorted(gains, key=lambda one: (-gains[one], one))]


def _hit(row: Any, score: float) -> IndexHit:
    return IndexHit(
        document_id=row.document_id,
        chunk_id=f"{row.document_id}#{row.position}",
        score=score,
        snippet=row.content,
        source_record_id=row.record_id,
    )


async def _lock_documents(connection: AsyncConnection, source_id: str, document_ids: Sequence[str]) -> None:
    locks = sa.text("select pg_advisory_xact_lock(hashtextextended(id, 0)) from unnest(cast(:ids as text[])) as id")
    await connection.execute(locks, {"ids": [f"{source_id}/{one}" for one in sorted(document_ids)]})


async def _delete(connection: AsyncConnection, source_id: str, document_ids: Sequence[str]) -> None:
    gone = sa.text("delete from knowledge_chunks where source_id = :source and document_id = any(:ids)")
    await connection.execute(gone, {"source": source_id, "ids": list(document_ids)})


__all__ = ["Embedder", "PostgresIndex"]
