"""Declarations of sources that were added at run time, with every version they ever had."""

import json

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine

from ..errors import SourceVersionConflict, UnknownSource
from ..sources import KnowledgeSource, source_from
from .schema import declarations

_d = declarations.c


class SourceStore:
    """Keeps declarations in the table ``knowledge_sources``."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._engine = engine

    async def sources(self) -> list[KnowledgeSource]:
        """The newest version of every source that was not removed."""
        async with self._engine.connect() as connection:
            rows = await connection.execute(sa.select(declarations).order_by(_d.source_id, _d.version))
            newest = {row.source_id: row for row in rows}
        return [source_from(json.loads(row.declaration)) for row in newest.values() if not row.removed]

    async def add(self, source: KnowledgeSource) -> None:
        """Keep a new version; the same one again changes nothing. Raises `SourceVersionConflict`."""
        async with self._engine.begin() as connection:
            history = sa.select(declarations).where(_d.source_id == source.id).order_by(_d.version.desc())
            last = (await connection.execute(history)).first()
            if last is not None and not last.removed:
                if source_from(json.loads(last.declaration)) == source:
                    return
                if last.version >= source.version:
                    raise SourceVersionConflict(source.id, registered=last.version, offered=source.version)
            line = {"source_id": source.id, "declaration": source.model_dump_json(by_alias=True), "removed": False}
            version = source.version if last is None else max(source.version, last.version + 1)
            await connection.execute(sa.insert(declarations).values(**line, version=version))

    async def remove(self, source_id: str) -> None:
        """Mark a source as removed; its history stays. Raises `UnknownSource`."""
        async with self._engine.begin() as connection:
            gone = sa.update(declarations).where(_d.source_id == source_id).values(removed=True)
            if not (await connection.execute(gone)).rowcount:
                raise UnknownSource(source_id, [])


__all__ = ["SourceStore"]
