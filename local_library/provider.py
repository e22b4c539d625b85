"""The library as a knowledge provider: documents as cards (outline) or as passages."""

import asyncio
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Literal, TypeVar

from knowledge_provider import (
    PROTOCOL_VERSION,
    KnowledgeResult,
    MetadataValue,
    ProviderDescription,
    ProviderHealth,
    ProviderUnavailable,
    RetrievalContext,
    RetrievalRequest,
    Source,
    UnsupportedFilters,
)

from .errors import LibraryError
from .library import DomainLibrary
from .records import Chunk, DocumentInfo, FoundPassage

_T = TypeVar("_T")
View = Literal["outline", "passages"]
KEY = "local-library"
OUTLINE_CHARACTERS = 700
_THREADS = 2
_FILTERS = frozenset({"document_ids"})


class LocalDomainKnowledgeProvider:
    """Finds the owner's documents. All its work runs in threads of its own, never on the event loop.

    ``outline`` returns title, summary, headings and locator, never the body. ``passages`` returns bounded excerpts.
    The library belongs to the caller unless ``closes_library`` is set.
    """

    def __init__(self, library: DomainLibrary, *, view: View = "outline", closes_library: bool = False) -> None:
        if view not in ("outline", "passages"):
            raise ValueError(f"view is {view!r}; expected 'outline' or 'passages'")
        self._library = library
        self._view = view
        self._closes_library = closes_library
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="earpiece-library")
        self._closing = threading.Lock()
        self._closed = False

    def describe(self) -> ProviderDescription:
        capabilities = {"scores": True, "filters": True, "citations": True, "speculative": True}
        return ProviderDescription(
            protocol_version=PROTOCOL_VERSION, key=KEY, label="Local library", capabilities=capabilities
        )

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> list[KnowledgeResult]:
        """Results for the context's owner; filter ``document_ids`` narrows to some documents."""
        document_ids = _wanted_documents(request.filters)
        return await self._in_thread(self._retrieved, request, context, document_ids)

    async def health(self) -> ProviderHealth:
        """Unconfigured while the library holds no document; unavailable when it cannot be read."""
        try:
            documents = await self._in_thread(self._library.size)
        except (LibraryError, ProviderUnavailable):
            return ProviderHealth(status="unavailable", message="The library cannot be read.")
        if not documents:
            return ProviderHealth(status="unconfigured", message="The library holds no documents yet.")
        return ProviderHealth(status="ready", message=f"{documents:,} documents.")

    async def close(self) -> None:
        """End the threads; the second call does nothing."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
        self._threads.shutdown(wait=False, cancel_futures=True)
        if self._closes_library:
            await asyncio.to_thread(self._library.close)

    async def _in_thread(self, work: Callable[..., _T], *arguments: object) -> _T:
        if self._closed:
            raise ProviderUnavailable(KEY, "is closed")
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)

    def _retrieved(
        self, request: RetrievalRequest, context: RetrievalContext, document_ids: frozenset[str] | None
    ) -> list[KnowledgeResult]:
        if context.cancelled.is_set():
            return []
        try:
            found = self._library.search(
                request.query,
                owner_id=context.owner_id,
                limit=request.top_k,
                document_ids=document_ids,
                per_document=1 if self._view == "outline" else 3,
            )
            if self._view == "passages":
                return [_passage_result(one) for one in found]
            return self._cards(found, context.owner_id)[: request.top_k]
        except LibraryError as error:
            raise ProviderUnavailable(KEY, "cannot read its library") from error

    def _cards(self, found: tuple[FoundPassage, ...], owner_id: str) -> list[KnowledgeResult]:
        best: dict[str, FoundPassage] = {}
        for one in found:
            best.setdefault(one.passage.document_id, one)
        documents = self._library.some(best, owner_id=owner_id)
        return [_card(documents[key], one) for key, one in best.items() if key in documents]


def _wanted_documents(filters: Mapping[str, Any]) -> frozenset[str] | None:
    unknown = set(filters) - _FILTERS
    if unknown:
        raise UnsupportedFilters(KEY, f"applies 'document_ids' only, not {', '.join(map(repr, sorted(unknown)))}")
    if "document_ids" not in filters:
        return None
    wanted = filters["document_ids"]
    if isinstance(wanted, str) or not all(isinstance(one, str) for one in wanted):
        raise UnsupportedFilters(KEY, "expects 'document_ids' to be a list of ids")
    return frozenset(wanted)


def _passage_result(found: FoundPassage) -> KnowledgeResult:
    passage = found.passage
    heading = " > ".join(passage.chunk.heading_path)
    content = f"{heading}\n{found.text}" if heading else found.text
    return KnowledgeResult(
        id=passage.chunk.chunk_id,
        content=content,
        score=found.score,
        source=Source(
            id=passage.document_id,
            title=passage.title,
            uri=passage.uri or None,
            mime_type=passage.media_type,
            locator=found.locator,
        ),
        metadata=_metadata(found, passage.chunk),
    )


def _metadata(found: FoundPassage, derived: Chunk | DocumentInfo) -> dict[str, MetadataValue]:
    """How it was found, how much of the question, and the lineage, verbatim."""
    by_meaning: dict[str, MetadataValue] = (
        {} if found.similarity is None else {"similarity": round(found.similarity, 3), "embedder_id": found.embedder_id}
    )
    return {
        "found_by": found.found_by,
        "coverage": round(found.coverage, 3),
        **by_meaning,
        "source_content_hash": derived.source_content_hash,
        "extractor_id": derived.extractor_id,
        "chunker_id": derived.chunker_id,
    }


def _card(document: DocumentInfo, found: FoundPassage) -> KnowledgeResult:
    return KnowledgeResult(
        id=document.document_id,
        content=outline_card(document),
        score=found.score,
        source=Source(
            id=document.document_id,
            title=document.title,
            uri=document.uri or None,
            mime_type=document.media_type,
            locator=document.path,
        ),
        metadata=_metadata(found, document),
    )


def outline_card(document: DocumentInfo) -> str:
    """Title, one-line summary, headings verbatim and where the body lies, within `OUTLINE_CHARACTERS`."""
    closing = f"Body: {document.path}"
    lines = [document.title]
    summary = document.derived_summary or document.summary
    if summary:
        lines.append(summary)
    room = OUTLINE_CHARACTERS - sum(len(line) + 1 for line in lines) - len(closing)
    shown: list[str] = []
    for heading in document.headings:
        if len(heading.text) + 3 > room - 20:
            break
        shown.append(f"- {heading.text}")
        room -= len(heading.text) + 3
    left_out = len(document.headings) - len(shown)
    more = [f"({left_out} more sections)"] if left_out else []
    return "\n".join((*lines, *shown, *more, closing))


__all__ = ["KEY", "OUTLINE_CHARACTERS", "LocalDomainKnowledgeProvider", "View", "outline_card"]
