"""The ledger in a database, so that it lives as long as the indexes it speaks of."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from ..documents import KnowledgeDocument
from ..ledger import UNSURE, Checkpoint, Entry
from .schema import checkpoints, documents

_d = documents.c


class SqlLedger:
    """`Ledger` over the table ``knowledge_documents``; create the tables with `schema.create_tables` first."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def entries(self, source_id: str, document_ids: Sequence[str]) -> dict[str, Entry]:
        wanted = sa.select(_d.document_id, _d.content_hash, _d.version).where(_among(source_id, document_ids))
        async with self._engine.connect() as connection:
            return {row[0]: Entry(row[1], row[2]) for row in await connection.execute(wanted)}

    async def intend(self, source_id: str, documents: Sequence[KnowledgeDocument]) -> None:
        lines = [
            {"source_id": source_id, "document_id": one.id, "content_hash": UNSURE, "run": ""} for one in documents
        ]
        await self._put(lines, keep=("version", "body", "run"))

    async def confirm(self, source_id: str, documents: Sequence[KnowledgeDocument]) -> None:
        await self._put([_line(source_id, one) for one in documents], keep=("run",))

    async def forget(self, source_id: str, document_ids: Sequence[str]) -> None:
        async with self._engine.begin() as connection:
            await connection.execute(sa.delete(documents).where(_among(source_id, document_ids)))

    async def bodies(self, source_id: str, document_ids: Sequence[str]) -> dict[str, KnowledgeDocument]:
        wanted = sa.select(_d.document_id, _d.body).where(_among(source_id, document_ids), _d.body.is_not(None))
        async with self._engine.connect() as connection:
            found = await connection.execute(wanted)
            return {row[0]: KnowledgeDocument.model_validate_json(row[1]) for row in found}

    async def mark_seen(self, source_id: str, document_ids: Iterable[str], run: str) -> None:
        async with self._engine.begin() as connection:
            seen = sa.update(documents).where(_among(source_id, list(document_ids))).values(run=run)
            await connection.execute(seen)

    async def document_ids(
        self, source_id: str, *, after: str = "", limit: int = 500, not_seen_in: str | None = None
    ) -> list[str]:
        wanted = sa.select(_d.document_id).where(_d.source_id == source_id, _d.document_id > after)
        if not_seen_in is not None:
            wanted = wanted.where(_d.run != not_seen_in)
        async with self._engine.connect() as connection:
            return list((await connection.scalars(wanted.order_by(_d.document_id).limit(limit))).all())

    async def count(self, source_id: str) -> int:
        wanted = sa.select(sa.func.count()).select_from(documents).where(_d.source_id == source_id)
        async with self._engine.connect() as connection:
            return int((await connection.execute(wanted)).scalar_one())

    async def checkpoint(self, source_id: str) -> Checkpoint | None:
        wanted = sa.select(checkpoints).where(checkpoints.c.source_id == source_id)
        async with self._engine.connect() as connection:
            row = (await connection.execute(wanted)).one_or_none()
        return None if row is None else Checkpoint(row.run, row.source_version, row.after, json.loads(row.counts))

    async def save_checkpoint(self, source_id: str, checkpoint: Checkpoint | None) -> None:
        async with self._engine.begin() as connection:
            await connection.execute(sa.delete(checkpoints).where(checkpoints.c.source_id == source_id))
            if checkpoint is not None:
                line = {
                    "source_id": source_id,
                    "run": checkpoint.run,
                    "source_version": checkpoint.source_version,
                    "after": checkpoint.after,
                    "counts": json.dumps(checkpoint.counts),
                }
                await connection.execute(sa.insert(checkpoints).values(line))

    async def _put(self, lines: list[dict[str, Any]], keep: tuple[str, ...]) -> None:
        if lines:
            async with self._engine.begin() as connection:
                await connection.execute(_upsert(connection, keep), lines)


def _line(source_id: str, document: KnowledgeDocument) -> dict[str, Any]:
    return {
        "source_id": source_id,
        "document_id": document.id,
        "content_hash": document.content_hash(),
        "version": document.version,
        "body": document.model_dump_json() if document.source_record_id is None else None,
        "run": "",
    }


def _among(source_id: str, document_ids: Sequence[str]) -> sa.ColumnElement[bool]:
    return sa.and_(_d.source_id == source_id, _d.document_id.in_(document_ids))


def _upsert(connection: AsyncConnection, keep: tuple[str, ...]) -> sa.Executable:
    """One statement that both databases know: insert, or change all columns but the key and those to ``keep``."""
    changed = [name for name in ("content_hash", "version", "body", "run") if name not in keep]
    key = ["source_id", "document_id"]
    if connection.dialect.name == "postgresql":
        into_postgres = postgresql.insert(documents)
        new = into_postgres.excluded
        return into_postgres.on_conflict_do_update(index_elements=key, set_={name: new[name] for name in changed})
    into_sqlite = sqlite.insert(documents)
    old = into_sqlite.excluded
    return into_sqlite.on_conflict_do_update(index_elements=key, set_={name: old[name] for name in changed})


__all__ = ["SqlLedger"]
