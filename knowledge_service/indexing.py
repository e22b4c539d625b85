"""Documents on their way into an index: the ledger first, then the index, then the ledger again.

Whatever stops between two steps leaves the ledger naming at least what the index holds, and a repetition mends it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from .adapter import AdapterContext, KnowledgeAdapter
from .documents import KnowledgeDocument
from .ledger import UNSURE, Entry, Ledger


@dataclass(frozen=True, slots=True)
class Changes:
    """What a set of documents would change: ``stale`` ones are older than what is already indexed."""

    added: tuple[KnowledgeDocument, ...] = ()
    changed: tuple[KnowledgeDocument, ...] = ()
    unchanged: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()

    @property
    def to_write(self) -> tuple[KnowledgeDocument, ...]:
        return self.added + self.changed


def compare(documents: Sequence[KnowledgeDocument], entries: dict[str, Entry]) -> Changes:
    """Sort documents by what the ledger says of them. Of two documents of one id the last counts."""
    latest = {document.id: document for document in documents}
    sorted_ids: dict[str, list[KnowledgeDocument]] = {"added": [], "changed": [], "unchanged": [], "stale": []}
    for document in latest.values():
        sorted_ids[_kind(document, entries.get(document.id))].append(document)
    return Changes(
        added=tuple(sorted_ids["added"]),
        changed=tuple(sorted_ids["changed"]),
        unchanged=tuple(document.id for document in sorted_ids["unchanged"]),
        stale=tuple(document.id for document in sorted_ids["stale"]),
    )


def _kind(document: KnowledgeDocument, entry: Entry | None) -> str:
    if entry is None:
        return "added"
    if document.version is not None and entry.version is not None and document.version < entry.version:
        return "stale"
    return "unchanged" if entry.content_hash == document.content_hash() else "changed"


class IndexWriter:
    """Writes to one index and keeps the ledger true. Raises what the adapter raises, after which it may be repeated."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    async def write(
        self, adapter: KnowledgeAdapter, documents: Sequence[KnowledgeDocument], context: AdapterContext
    ) -> Changes:
        """Index what is new or changed; unchanged and stale documents cost no call. Empty documents are removed."""
        source_id = context.source.id
        entries = await self._ledger.entries(source_id, [document.id for document in documents])
        changes = compare(documents, entries)
        if changes.to_write:
            await self._ledger.intend(source_id, changes.to_write)
            await adapter.upsert(changes.to_write, context)
            await self._ledger.confirm(source_id, changes.to_write)
        return changes

    async def remove(self, adapter: KnowledgeAdapter, document_ids: Sequence[str], context: AdapterContext) -> None:
        """Remove from the index, known to the ledger or not, and then from the ledger."""
        if document_ids:
            await adapter.delete(document_ids, context)
            await self._ledger.forget(context.source.id, document_ids)


def is_unsure(entry: Entry) -> bool:
    return entry.content_hash == UNSURE


__all__ = ["Changes", "IndexWriter", "compare", "is_unsure"]
