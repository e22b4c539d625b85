"""What a caller may read right now. An index proposes; only what is read here is ever shown."""

from collections.abc import Iterator, Sequence
from itertools import islice

from .caller import ExecutionContext
from .data_engine import DataEngine, RecordQuery
from .documents import KnowledgeDocument
from .errors import SourceNotReadable
from .ledger import Ledger
from .projection import document_from, fields_needed
from .sources import KnowledgeSource, ObjectContent

IDS_PER_LOOKUP = 200


class CurrentDocuments:
    """Documents as they stand in the system of record, or for files and pages in the ledger, for one caller."""

    def __init__(self, ledger: Ledger, data_engine: DataEngine | None) -> None:
        self._ledger = ledger
        self._data_engine = data_engine

    async def readable(
        self, source: KnowledgeSource, document_ids: Sequence[str], caller: ExecutionContext
    ) -> dict[str, KnowledgeDocument]:
        """Those of ``document_ids`` that exist, meet the source's ``where`` and may be read by ``caller``.

        Raises `DataEngineFailed` or `SourceNotReadable`; the caller then shows nothing.
        """
        if caller.is_anonymous:
            return {}
        content = source.object_content()
        if content is None:
            return await self._documents(source, document_ids, caller)
        if self._data_engine is None:
            raise SourceNotReadable(source.id, "data engine")
        return await self._records(self._data_engine, source, content, document_ids, caller)

    async def _records(
        self,
        engine: DataEngine,
        source: KnowledgeSource,
        content: ObjectContent,
        document_ids: Sequence[str],
        caller: ExecutionContext,
    ) -> dict[str, KnowledgeDocument]:
        records = (source.record_id(document_id) for document_id in document_ids)
        found: dict[str, KnowledgeDocument] = {}
        for ids in _chunks([record for record in records if record]):
            query = RecordQuery(
                object=content.object,
                fields=fields_needed(content),
                where=content.where or {},
                ids=tuple(dict.fromkeys(ids)),
                limit=len(ids),
            )
            for record in await engine.find(query, caller):
                document = document_from(source, content, record)
                found[document.id] = document
        # An engine may answer with rows nobody asked for; they are not the documents in question.
        return {one: found[one] for one in document_ids if one in found}

    async def _documents(
        self, source: KnowledgeSource, document_ids: Sequence[str], caller: ExecutionContext
    ) -> dict[str, KnowledgeDocument]:
        found: dict[str, KnowledgeDocument] = {}
        for ids in _chunks(list(document_ids)):
            found |= await self._ledger.bodies(source.id, ids)
        return {one: document for one, document in found.items() if _permits(document, caller)}


def _permits(document: KnowledgeDocument, caller: ExecutionContext) -> bool:
    if caller.is_system or document.permissions is None:
        return True
    return not caller.grants().isdisjoint(document.permissions)


def _chunks(ids: list[str]) -> Iterator[list[str]]:
    remaining = iter(ids)
    while chunk := list(islice(remaining, IDS_PER_LOOKUP)):
        yield chunk


__all__ = ["IDS_PER_LOOKUP", "CurrentDocuments"]
