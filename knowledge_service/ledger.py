"""What the service believes each index holds: identity, content hash, version, and the body where no record stands
behind.

The ledger is written before an index is ("intended") and after ("confirmed"), so it always names at least what is
there.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Protocol

from .documents import KnowledgeDocument

UNSURE = ""
"""The content hash of an entry whose write was begun and not confirmed."""


@dataclass(frozen=True, slots=True)
class Entry:
    content_hash: str
    version: int | None


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """How far a reindex came: its run, the source version it reads, the last key it finished, and what it counted."""

    run: str
    source_version: int
    after: str | None = None
    counts: dict[str, int] = field(default_factory=dict)


class Ledger(Protocol):
    """Remembers what was indexed. ``run`` marks documents that a reindex has seen."""

    async def entries(self, source_id: str, document_ids: Sequence[str]) -> dict[str, Entry]: ...
    async def intend(self, source_id: str, documents: Sequence[KnowledgeDocument]) -> None: ...
    async def confirm(self, source_id: str, documents: Sequence[KnowledgeDocument]) -> None: ...
    async def forget(self, source_id: str, document_ids: Sequence[str]) -> None: ...
    async def bodies(self, source_id: str, document_ids: Sequence[str]) -> dict[str, KnowledgeDocument]: ...
    async def mark_seen(self, source_id: str, document_ids: Iterable[str], run: str) -> None: ...
    async def document_ids(
        self, source_id: str, *, after: str = "", limit: int = 500, not_seen_in: str | None = None
    ) -> list[str]: ...
    async def count(self, source_id: str) -> int: ...
    async def checkpoint(self, source_id: str) -> Checkpoint | None: ...
    async def save_checkpoint(self, source_id: str, checkpoint: Checkpoint | None) -> None: ...


@dataclass(slots=True)
class _Line:
    entry: Entry
    body: KnowledgeDocument | None = None
    run: str = ""


class MemoryLedger:
    """A ledger for one process. Use `SqlLedger` wherever the index outlives it."""

    def __init__(self) -> None:
        self._lines: dict[str, dict[str, _Line]] = {}
        self._checkpoints: dict[str, Checkpoint] = {}

    async def entries(self, source_id: str, document_ids: Sequence[str]) -> dict[str, Entry]:
        held = self._lines.get(source_id, {})
        return {one: held[one].entry for one in document_ids if one in held}

    async def intend(self, source_id: str, documents: Sequence[KnowledgeDocument]) -> None:
        held = self._lines.setdefault(source_id, {})
        for document in documents:
            line = held.setdefault(document.id, _Line(Entry(UNSURE, None)))
            line.entry = replace(line.entry, content_hash=UNSURE)

    async def confirm(self, source_id: str, documents: Sequence[KnowledgeDocument]) -> None:
        held = self._lines.setdefault(source_id, {})
        for document in documents:
            line = held.setdefault(document.id, _Line(Entry(UNSURE, None)))
            line.entry = Entry(document.content_hash(), document.version)
            line.body = document if document.source_record_id is None else None

    async def forget(self, source_id: str, document_ids: Sequence[str]) -> None:
        held = self._lines.get(source_id, {})
        for document_id in document_ids:
            held.pop(document_id, None)

    async def bodies(self, source_id: str, document_ids: Sequence[str]) -> dict[str, KnowledgeDocument]:
        held = self._lines.get(source_id, {})
        found = {one: held[one].body for one in document_ids if one in held}
        return {one: body for one, body in found.items() if body is not None}

    async def mark_seen(self, source_id: str, document_ids: Iterable[str], run: str) -> None:
        held = self._lines.get(source_id, {})
        for document_id in document_ids:
            if document_id in held:
                held[document_id].run = run

    async def document_ids(
        self, source_id: str, *, after: str = "", limit: int = 500, not_seen_in: str | None = None
    ) -> list[str]:
        held = self._lines.get(source_id, {})
        wanted = (one for one in sorted(held) if one > after and (not_seen_in is None or held[one].run != not_seen_in))
        return list(islice(wanted, limit))

    async def count(self, source_id: str) -> int:
        return len(self._lines.get(source_id, {}))

    async def checkpoint(self, source_id: str) -> Checkpoint | None:
        return self._checkpoints.get(source_id)

    async def save_checkpoint(self, source_id: str, checkpoint: Checkpoint | None) -> None:
        if checkpoint is None:
            self._checkpoints.pop(source_id, None)
        else:
            self._checkpoints[source_id] = checkpoint


__all__ = ["UNSURE", "Checkpoint", "Entry", "Ledger", "MemoryLedger"]
