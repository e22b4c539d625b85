"""A whole source read again: paged, resumable, and with a last step that removes what is gone."""

import asyncio
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from .adapter import AdapterContext, EnumeratingAdapter, KnowledgeAdapter
from .documents import KnowledgeDocument
from .indexing import Changes, IndexWriter, compare
from .ledger import Checkpoint, Ledger
from .readers import Page, PermissionRule, SourceReader
from .sources import KnowledgeSource

PAGE = 500

StillThere = Callable[[Sequence[str]], Awaitable[set[str]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReindexProgress:
    """Counts so far. ``complete`` is true when every document was seen, and only then is anything removed."""

    source_id: str
    discovered: int = 0
    added: int = 0
    changed: int = 0
    unchanged: int = 0
    stale: int = 0
    unreadable: int = 0
    removed: int = 0
    complete: bool = False
    dry_run: bool = False


Report = Callable[[ReindexProgress], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reindex:
    """One run over one source. Start it again after a crash and it goes on where it stopped.

    ``still_there`` says which documents exist after all: one that sync wrote behind the reader's back is not removed.
    """

    source: KnowledgeSource
    adapter: KnowledgeAdapter
    reader: SourceReader
    ledger: Ledger
    still_there: StillThere | None = None
    permissions: PermissionRule | None = None
    report: Report | None = None
    trace_id: str = ""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def run(self, limit: int | None = None) -> ReindexProgress:
        """Index every document, or the next ``limit`` of them, which removes nothing."""
        checkpoint = await self._start()
        if checkpoint.after is None:
            await self._forget_missing()
        counts = Counter(checkpoint.counts)
        after = checkpoint.after
        read = 0
        while limit is None or read < limit:
            page, changes = await self._index_page(after, PAGE if limit is None else min(PAGE, limit - read))
            read += await self._mark_seen(page, checkpoint.run)
            counts += _counted(page, changes)
            after = page.next_after
            self._tell(counts)
            if after is None:
                return await self._finish(checkpoint.run, counts)
            await self.ledger.save_checkpoint(
                self.source.id, Checkpoint(checkpoint.run, self.source.version, after, dict(counts))
            )
        return self._progress(counts)

    async def dry_run(self, limit: int | None = None) -> ReindexProgress:
        """What a run would do, by content hash, with nothing written anywhere."""
        counts: Counter[str] = Counter()
        known = 0
        after: str | None = None
        held = await self._held()
        while limit is None or counts["discovered"] < limit:
            page = await self._page(after, PAGE if limit is None else min(PAGE, limit - counts["discovered"]))
            entries = await self.ledger.entries(self.source.id, _ids(page))
            known += len(entries)
            entries = {one: entry for one, entry in entries.items() if held is None or hash(one) in held}
            counts += _counted(page, compare(page.documents, entries))
            after = page.next_after
            if after is None:
                counts["removed"] = await self.ledger.count(self.source.id) - known
                counts["removed"] += sum([len(unknown) async for unknown in self._unknown_to_ledger()])
                return self._progress(counts, complete=True, dry_run=True)
        return self._progress(counts, dry_run=True)

    async def _start(self) -> Checkpoint:
        saved = await self.ledger.checkpoint(self.source.id)
        if saved is not None and saved.source_version == self.source.version:
            return saved
        return Checkpoint(uuid.uuid4().hex, self.source.version)

    async def _forget_missing(self) -> None:
        """Forget what the ledger believes and the index has lost (emptied by somebody, restored from a backup)."""
        held = await self._held()
        after = ""
        while held is not None and (known := await self.ledger.document_ids(self.source.id, after=after, limit=PAGE)):
            after = known[-1]
            await self.ledger.forget(self.source.id, [one for one in known if hash(one) not in held])

    async def _held(self) -> set[int] | None:
        """The ids that the index says it holds, as hashes to stay small; `None` where it cannot say."""
        if not isinstance(self.adapter, EnumeratingAdapter):
            return None
        held: set[int] = set()
        after = ""
        while page := await self.adapter.list_document_ids(self.source, after=after, limit=PAGE):
            after = page[-1]
            held.update(map(hash, page))
        return held

    async def _index_page(self, after: str | None, limit: int) -> tuple[Page, Changes]:
        # Reading and writing under one lock: a row that changes in between would be overwritten by its own past.
        async with self.lock:
            page = await self._page(after, limit)
            return page, await IndexWriter(self.ledger).write(self.adapter, page.documents, self._context())

    async def _mark_seen(self, page: Page, run: str) -> int:
        seen = _ids(page)
        await self.ledger.mark_seen(self.source.id, seen, run)
        return len(seen)

    async def _finish(self, run: str, counts: Counter[str]) -> ReindexProgress:
        counts["removed"] += await self._prune(run)
        await self.ledger.save_checkpoint(self.source.id, None)
        self._tell(counts)
        return self._progress(counts, complete=True)

    async def _prune(self, run: str) -> int:
        removed = 0
        while unseen := await self.ledger.document_ids(self.source.id, limit=PAGE, not_seen_in=run):
            async with self.lock:
                kept = await self.still_there(unseen) if self.still_there else set()
                gone = [one for one in unseen if one not in kept]
                await IndexWriter(self.ledger).remove(self.adapter, gone, self._context())
            await self.ledger.mark_seen(self.source.id, kept, run)
            removed += len(gone)
        async for unknown in self._unknown_to_ledger():
            await IndexWriter(self.ledger).remove(self.adapter, unknown, self._context())
            removed += len(unknown)
        return removed

    async def _unknown_to_ledger(self) -> AsyncIterator[list[str]]:
        if not isinstance(self.adapter, EnumeratingAdapter):
            return
        after = ""
        while held := await self.adapter.list_document_ids(self.source, after=after, limit=PAGE):
            after = held[-1]
            known = await self.ledger.entries(self.source.id, held)
            if unknown := [one for one in held if one not in known]:
                yield unknown

    async def _page(self, after: str | None, limit: int) -> Page:
        page = await self.reader.page(self.source, after=after, limit=limit)
        if self.permissions is None:
            return page
        documents = tuple(with_permissions(document, self.permissions) for document in page.documents)
        return Page(documents, page.next_after, page.unreadable)

    def _context(self) -> AdapterContext:
        return AdapterContext(source=self.source, reason="reindex", trace_id=self.trace_id)

    def _tell(self, counts: Counter[str]) -> None:
        if self.report is not None:
            self.report(self._progress(counts))

    def _progress(self, counts: Counter[str], *, complete: bool = False, dry_run: bool = False) -> ReindexProgress:
        return ReindexProgress(source_id=self.source.id, complete=complete, dry_run=dry_run, **counts)


def with_permissions(document: KnowledgeDocument, rule: PermissionRule) -> KnowledgeDocument:
    """``document`` with the grants that ``rule`` gives it."""
    found = rule(document)
    return document.model_copy(update={"permissions": None if found is None else tuple(found)})


def _ids(page: Page) -> list[str]:
    return [document.id for document in page.documents] + list(page.unreadable)


def _counted(page: Page, changes: Changes) -> Counter[str]:
    return Counter(
        discovered=len(_ids(page)),
        added=len(changes.added),
        changed=len(changes.changed),
        unchanged=len(changes.unchanged),
        stale=len(changes.stale),
        unreadable=len(page.unreadable),
    )


__all__ = ["Reindex", "ReindexProgress", "Report", "StillThere", "with_permissions"]
