"""Before rows are purged their documents go: a row may outlive its index entry, an index entry never its row.

The host's retention job hands over the rows it is about to purge and purges only the ids that come back.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from .adapter import AdapterContext, KnowledgeAdapter
from .errors import UnknownAdapter, place_of
from .events import ReapGuarded
from .indexing import IndexWriter
from .service import KnowledgeService
from .sources import KnowledgeSource

logger = logging.getLogger(__name__)

RowId = Any
Guard = Callable[[str, Sequence[Mapping[str, Any]]], Awaitable[Sequence[RowId]]]
"""Takes an object's name and rows about to be purged; returns the ids that may go, as they stand in the rows."""


class ReapGuard:
    """Confirms a row only when no index holds a document of it any more.

    ``enabled`` false, or a source whose ``refresh.on_record_change`` is false, leaves the index to somebody else:
    such an index holds up nobody's retention. A row without an id is never confirmed.
    """

    def __init__(
        self, service: KnowledgeService, *, enabled: bool = True, batch: int = 100, id_field: str = "id"
    ) -> None:
        self._service = service
        self._enabled = enabled
        self._batch = batch
        self._id_field = id_field
        self._writer = IndexWriter(service.ledger)

    async def __call__(self, object_name: str, rows: Sequence[Mapping[str, Any]]) -> list[RowId]:
        ids = [row[self._id_field] for row in rows if row.get(self._id_field) is not None]
        if not self._enabled:
            return ids
        kept: set[str] = set()
        for source in self._service.sources_on(object_name):
            kept |= await self._still_indexed(source, [str(one) for one in ids])
        confirmed = [one for one in ids if str(one) not in kept]
        self._service.emit(ReapGuarded(object=object_name, confirmed=len(confirmed), kept=len(rows) - len(confirmed)))
        return confirmed

    async def _still_indexed(self, source: KnowledgeSource, records: Sequence[str]) -> set[str]:
        try:
            adapter = self._service.adapter(source.adapter)
        except UnknownAdapter:
            logger.warning("Rows of source %r are kept: its index %r is not registered", source.id, source.adapter)
            return set(records)
        kept: set[str] = set()
        async with self._service.lock(source.id):
            for start in range(0, len(records), self._batch):
                kept |= await self._removed_or_kept(source, adapter, records[start : start + self._batch])
        return kept

    async def _removed_or_kept(
        self, source: KnowledgeSource, adapter: KnowledgeAdapter, records: Sequence[str]
    ) -> set[str]:
        """Remove the documents of these records; where that fails, halve, so that one bad record keeps only itself."""
        context = AdapterContext(source=source, reason="reap")
        try:
            await self._writer.remove(adapter, [source.document_id(record) for record in records], context)
        except Exception as error:
            if len(records) == 1:
                why = place_of(error)
                logger.warning("A row of source %r is kept: its document is not gone (%s)", source.id, why)
                return set(records)
            half = len(records) // 2
            first = await self._removed_or_kept(source, adapter, records[:half])
            return first | await self._removed_or_kept(source, adapter, records[half:])
        return set()


def all_of(guards: Sequence[Guard], *, id_field: str = "id") -> Guard:
    """One guard that confirms what every guard confirms; whatever their order, none can overrule another.

    A later guard is only asked about rows that the earlier ones confirmed. A guard that raises confirms nothing.
    """

    async def guard(object_name: str, rows: Sequence[Mapping[str, Any]]) -> list[RowId]:
        left = list(rows)
        for one in dict.fromkeys(guards):
            if not left:
                break
            try:
                confirmed = {str(row_id) for row_id in await one(object_name, left)}
            except Exception:
                logger.exception("A reap guard failed; nothing of %r is purged", object_name)
                return []
            left = [row for row in left if row.get(id_field) is not None and str(row[id_field]) in confirmed]
        return [row[id_field] for row in left]

    return guard


__all__ = ["Guard", "ReapGuard", "all_of"]
