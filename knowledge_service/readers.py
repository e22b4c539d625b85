"""The content of a source, page by page and in a steady order, so that reading can stop and go on."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from .caller import SYSTEM
from .data_engine import DataEngine, RecordQuery
from .documents import KnowledgeDocument
from .projection import document_from, fields_needed
from .sources import KnowledgeSource

PermissionRule = Callable[[KnowledgeDocument], Sequence[str] | None]
"""Says at index time which grants may read a document of a file or http source; `None` means every identified
caller.
"""


@dataclass(frozen=True, slots=True)
class Page:
    """Some documents, and the key to continue after; `None` when this was the last page.

    ``unreadable`` names documents that exist but could not be read now: they are neither written nor removed.
    """

    documents: tuple[KnowledgeDocument, ...]
    next_after: str | None
    unreadable: tuple[str, ...] = ()


class SourceReader(Protocol):
    """Reads the documents of one kind of source."""

    async def page(self, source: KnowledgeSource, *, after: str | None, limit: int) -> Page: ...


class ObjectReader:
    """Every record of the source's object that meets its ``where``, read as the system."""

    def __init__(self, data_engine: DataEngine) -> None:
        self._data_engine = data_engine

    async def page(self, source: KnowledgeSource, *, after: str | None, limit: int) -> Page:
        content = source.object_content()
        assert content is not None  # noqa: S101  (the service asks by kind)
        query = RecordQuery(
            object=content.object,
            fields=fields_needed(content),
            where=content.where or {},
            after=after,
            limit=limit,
        )
        records = await self._data_engine.find(query, SYSTEM)
        documents = tuple(document_from(source, content, record) for record in records)
        return Page(documents, records[-1].id if len(records) == limit else None)


__all__ = ["ObjectReader", "Page", "PermissionRule", "SourceReader"]
