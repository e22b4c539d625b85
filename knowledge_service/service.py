"""The knowledge service: adapters and sources come and go at run time, and every search is checked for its caller."""

import asyncio
import inspect
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal

from knowledge_provider import (
    ProviderDescription,
    ProviderHealth,
    RetrievalContext,
    RetrievalRequest,
    UnsupportedFilters,
)

from . import provider_face
from .adapter import AdapterContext, AdapterHealth, KnowledgeAdapter
from .caller import ANONYMOUS, SYSTEM, ExecutionContext
from .current import CurrentDocuments
from .data_engine import DataEngine
from .documents import KnowledgeDocument
from .errors import (
    IndexFailed,
    InvalidSource,
    InvalidWhere,
    SourceNotReadable,
    UnknownAdapter,
)
from .events import Indexed, Listener, Searched, ServiceEvent, SourceChanged
from .indexing import IndexWriter
from .ledger import Ledger, MemoryLedger
from .readers import ObjectReader, PermissionRule, SourceReader
from .registry import Registry
from .reindex import Reindex, ReindexProgress, Report, with_permissions
from .search import KnowledgeSearch, search_together
from .source_search import Question, SearchLimits, SourceSearch
from .sources import KnowledgeSource
from .where import check_where

logger = logging.getLogger(__name__)

CallerRule = Callable[[str], ExecutionContext | Awaitable[ExecutionContext | None] | None]
"""Maps the owner a gateway vouches for to a caller of the system of record; `None` means nobody."""

DEFAULT_TOP_K = 10
MAX_TOP_K = 100
MAX_HEALTH_SECONDS = 5.0


class KnowledgeService:
    """Many sources, one search; itself a `KnowledgeRetrievalProvider`, so a gateway mounts it like any other.

    ``callers`` maps an owner to a caller; without it nobody is identified and no source answers. ``listeners`` hear
    every event. ``record_queries`` adds the text of questions to events. ``trust_index`` shows proposals that name no
    record, as a migration aid: it is logged, said by ``health()`` and written into every event.
    """

    def __init__(
        self,
        *,
        data_engine: DataEngine | None = None,
        ledger: Ledger | None = None,
        callers: CallerRule | None = None,
        readers: Mapping[str, SourceReader] | None = None,
        listeners: Sequence[Listener] = (),
        limits: SearchLimits | None = None,
        timeout_seconds: float = 2.0,
        record_queries: bool = False,
        trust_index: bool = False,
        key: str = "knowledge-service",
        label: str = "Knowledge service",
    ) -> None:
        self.ledger = ledger or MemoryLedger()
        self.data_engine = data_engine
        self.timeout_seconds = timeout_seconds
        self.trust_index = trust_index
        self.current = CurrentDocuments(self.ledger, data_engine)
        self._search = SourceSearch(self.current, limits or SearchLimits(), trust_index=trust_index)
        self._callers = callers
        self._readers = {**({"object": ObjectReader(data_engine)} if data_engine else {}), **(readers or {})}
        self._listeners = list(listeners)
        self._record_queries = record_queries
        self._registry = Registry()
        self._locks: dict[str, asyncio.Lock] = {}
        self._describe = (key, label)
        if trust_index:
            logger.warning("trust_index is on: hits that name no record are shown unchecked. Use it to migrate only.")

    # Adapters

    def register_adapter(self, adapter_id: str, adapter: KnowledgeAdapter) -> None:
        """Use ``adapter`` for every source that names ``adapter_id``, also in place of an earlier one."""
        self._registry.adapters[adapter_id] = adapter

    def unregister_adapter(self, adapter_id: str) -> None:
        self.adapter(adapter_id)
        del self._registry.adapters[adapter_id]

    def adapter(self, adapter_id: str) -> KnowledgeAdapter:
        """Raises `UnknownAdapter`."""
        return self._registry.adapter(adapter_id)

    def list_adapters(self) -> list[str]:
        return sorted(self._registry.adapters)

    # Sources

    def register_source(self, source: KnowledgeSource, *, permissions: PermissionRule | None = None) -> None:
        """Register or replace a source. The same declaration again changes nothing; a changed one needs a higher
        version.

        ``permissions`` says which grants may read a document of a file or http source. Raises `InvalidSource` or
        `SourceVersionConflict`.
        """
        known = self._registry.put(source, permissions)
        change: Literal["registered", "replaced"] = "replaced" if known else "registered"
        self.emit(SourceChanged(source_id=source.id, change=change, version=source.version))

    async def remove_source(self, source_id: str, *, keep_documents: bool = False) -> int:
        """Forget a source, and remove its documents from the index first. Returns how many were removed."""
        source = self.source(source_id)
        removed = 0 if keep_documents else await self._remove_all(source)
        self._registry.drop(source_id)
        self.emit(SourceChanged(source_id=source_id, change="removed", version=source.version))
        return removed

    def source(self, source_id: str) -> KnowledgeSource:
        """Raises `UnknownSource`."""
        return self._registry.source(source_id)

    def list_sources(self) -> list[KnowledgeSource]:
        return [source for _, source in sorted(self._registry.sources.items())]

    # Documents

    async def index_document(self, source_id: str, document: KnowledgeDocument, *, trace_id: str = "") -> None:
        """Index one document by hand. Raises `InvalidSource` when it is not a document of this source."""
        source = self.source(source_id)
        record = source.record_id(document.id) if source.object_content() else None
        if document.source_id != source_id or document.source_record_id != record:
            raise InvalidSource(source_id, f"document {document.id!r} does not belong here; check its ids.")
        if (rule := self._registry.permissions.get(source_id)) is not None:
            document = with_permissions(document, rule)
        context = AdapterContext(source=source, reason="manual", trace_id=trace_id)
        async with self.lock(source_id):
            await IndexWriter(self.ledger).write(self.adapter(source.adapter), [document], context)
        self.emit(Indexed(source_id=source_id, reason="manual", written=1, trace_id=trace_id))

    async def delete_document(self, source_id: str, document_id: str, *, trace_id: str = "") -> None:
        """Remove one document from the index; an unknown one is already gone."""
        source = self.source(source_id)
        context = AdapterContext(source=source, reason="manual", trace_id=trace_id)
        async with self.lock(source_id):
            await IndexWriter(self.ledger).remove(self.adapter(source.adapter), [document_id], context)
        self.emit(Indexed(source_id=source_id, reason="manual", removed=1, trace_id=trace_id))

    async def reindex_source(
        self,
        source_id: str,
        *,
        dry_run: bool = False,
        limit: int | None = None,
        report: Report | None = None,
        trace_id: str = "",
    ) -> ReindexProgress:
        """Read a source again, page by page; a run that was cut off goes on. ``dry_run`` only says what would change.

        Raises `SourceNotReadable` where no reader for its kind was given.
        """
        source = self.source(source_id)
        run = self._reindex(source, report, trace_id)
        if dry_run:
            return await run.dry_run(limit)
        done = await run.run(limit)
        written = done.added + done.changed
        self.emit(
            Indexed(source_id=source_id, reason="reindex", written=written, removed=done.removed, trace_id=trace_id)
        )
        return done

    # Search

    async def search(
        self,
        query: str,
        *,
        execution_context: ExecutionContext | None,
        source_ids: Sequence[str] | None = None,
        top_k: int = DEFAULT_TOP_K,
        filter: Mapping[str, Any] | None = None,
        timeout_seconds: float | None = None,
        trace_id: str = "",
        for_model: bool = False,
    ) -> KnowledgeSearch:
        """The best ``top_k`` passages that the caller may read, of the named sources or of all.

        ``source_ids`` empty asks nothing; only `None` means all. ``for_model`` also leaves out what is not
        ``ai_exposed``. Raises `InvalidWhere` for a wrong ``filter``.
        """
        check_where(filter or {})
        caller = execution_context or ANONYMOUS
        started = time.monotonic()
        chosen = None if source_ids is None else list(source_ids)
        asked, skipped = self._registry.asked(caller, chosen, for_model=for_model)
        question = Question(
            query=query.strip(),
            top_k=max(1, min(top_k, MAX_TOP_K)),
            caller=caller,
            filter=filter or {},
            trace_id=trace_id or caller.trace_id,
        )
        timeout = self.timeout_seconds if timeout_seconds is None else timeout_seconds
        found = await search_together(
            asked if question.query else [], self._search, question, timeout_seconds=timeout, skipped=skipped
        )
        self._tell_searched(question, found, time.monotonic() - started)
        return found

    # As a provider

    def describe(self) -> ProviderDescription:
        key, label = self._describe
        return provider_face.description(key, label, self.list_sources())

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> Mapping[str, Any]:
        """Search for the owner of ``context``. Sources that did not answer are named in ``partial``."""
        try:
            check_where(request.filters)
        except InvalidWhere as error:
            raise UnsupportedFilters(self._describe[0], "cannot apply these filters") from error
        found = await self.search(
            request.query,
            execution_context=await self.caller(context.owner_id),
            source_ids=request.knowledge_base_ids or None,
            top_k=request.top_k,
            filter=request.filters,
            timeout_seconds=provider_face.time_for_search(context, self.timeout_seconds),
            trace_id=context.trace_id,
            for_model=True,
        )
        return provider_face.raw_results(self._describe[0], found)

    async def health(self) -> ProviderHealth:
        """Ready when every adapter that a source uses is; degraded when some are."""
        used = sorted({source.adapter for source in self._registry.sources.values()})
        states = await asyncio.gather(*(self._adapter_health(name) for name in used))
        return provider_face.health(dict(zip(used, states, strict=True)), trust_index=self.trust_index)

    async def close(self) -> None:
        """Close the adapters that can be closed."""
        closing = [
            close() for one in self._registry.adapters.values() if (close := getattr(one, "close", None)) is not None
        ]
        for failed in await asyncio.gather(*closing, return_exceptions=True):
            if isinstance(failed, Exception):
                logger.warning("An index adapter did not close", exc_info=failed)

    # For the parts of the service

    async def caller(self, owner_id: str) -> ExecutionContext:
        """Who an owner is to the system of record; nobody where the host does not know them, and never the system."""
        found = self._callers(owner_id) if self._callers else None
        if inspect.isawaitable(found):
            found = await found
        return ANONYMOUS if found is None or found.is_system else found

    def lock(self, source_id: str) -> asyncio.Lock:
        """Held while a source's rows are read and written to its index, so that neither overtakes the other."""
        return self._locks.setdefault(source_id, asyncio.Lock())

    def sources_on(self, object_name: str) -> list[KnowledgeSource]:
        """The sources that project an object and are kept in step with it."""
        return self._registry.on_object(object_name)

    def emit(self, event: ServiceEvent) -> None:
        for listener in self._listeners:
            try:
                listener(event)
            except Exception:
                logger.exception("A listener failed on %s", type(event).__name__)

    def _tell_searched(self, question: Question, found: KnowledgeSearch, seconds: float) -> None:
        self.emit(
            Searched(
                user_id=question.caller.user_id,
                tenant_id=question.caller.tenant_id,
                sources=found.sources,
                returned=len(found.hits),
                seconds=seconds,
                query=question.query if self._record_queries else "",
                trusted_index=self.trust_index,
                trace_id=question.trace_id,
            )
        )

    def _reindex(self, source: KnowledgeSource, report: Report | None, trace_id: str) -> Reindex:
        kind = source.source.kind
        if kind not in self._readers:
            raise SourceNotReadable(source.id, "data engine" if kind == "object" else f"reader for kind {kind!r}")

        async def still_there(document_ids: Sequence[str]) -> set[str]:
            return set(await self.current.readable(source, document_ids, SYSTEM))

        return Reindex(
            source=source,
            adapter=self.adapter(source.adapter),
            reader=self._readers[kind],
            ledger=self.ledger,
            still_there=still_there if kind == "object" else None,
            permissions=self._registry.permissions.get(source.id),
            report=report,
            trace_id=trace_id,
            lock=self.lock(source.id),
        )

    async def _remove_all(self, source: KnowledgeSource) -> int:
        context = AdapterContext(source=source, reason="removal")
        removed = 0
        async with self.lock(source.id):
            while held := await self.ledger.document_ids(source.id):
                await IndexWriter(self.ledger).remove(self.adapter(source.adapter), held, context)
                removed += len(held)
            await self.ledger.save_checkpoint(source.id, None)
        return removed

    async def _adapter_health(self, adapter_id: str) -> AdapterHealth:
        try:
            async with asyncio.timeout(MAX_HEALTH_SECONDS):
                return await self.adapter(adapter_id).health_check()
        except (IndexFailed, UnknownAdapter, TimeoutError) as error:
            return AdapterHealth(ok=False, message=type(error).__name__)


__all__ = ["CallerRule", "KnowledgeService"]
