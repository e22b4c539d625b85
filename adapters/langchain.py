"""`LangChainProvider`: a LangChain retriever, runnable or vector store. Nothing of LangChain is imported."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import Any

from pydantic import Field

from knowledge_provider import (
    InvalidRetrievalResult,
    KnowledgeNotFound,
    KnowledgeResult,
    ProviderDescription,
    ProviderForbidden,
    ProviderRateLimited,
    ProviderUnauthorized,
    ProviderUnavailable,
    ProviderUnconfigured,
    RetrievalContext,
    RetrievalRequest,
    RetrievalTimedOut,
    UnsupportedFilters,
)

from ._config import NamedConfig, imported_options, made, read_config
from ._description import description
from ._failures import OurError, by_name, failed, refused, unreadable, vendor_call
from ._filters import OwnerFilters, filters_for, joined
from ._langchain_search import search_for
from ._threads import BoundedThreads, Mode
from ._values import ScoreKind, SourceFields, check_min_score, kept, result_of, rows_at

FilterBuilder = Callable[[Mapping[str, Any]], Any]

ERRORS: Mapping[str, OurError] = {
    "ModelAuthenticationError": ProviderUnauthorized,
    "ModelPermissionDeniedError": ProviderForbidden,
    "ModelNotFoundError": KnowledgeNotFound,
    "ModelRateLimitError": ProviderRateLimited,
    "ModelTimeoutError": RetrievalTimedOut,
    "ModelConnectionError": ProviderUnavailable,
    "ModelAPIError": ProviderUnavailable,
    "ModelInvalidRequestError": refused,
    "ContextOverflowError": refused,
    "ModelRefusalError": refused,
    "OutputParserException": unreadable,
    "ValidationError": unreadable,
    "NotImplementedError": ProviderUnconfigured,
    "TracerException": failed,
    "ModelError": ProviderUnavailable,
    "LangChainException": failed,
}
"""LangChain's exceptions, and pydantic's inside it, against ours."""


class LangChainProvider:
    """Asks a LangChain object for documents.

    A retriever gives no scores. ``scores=True`` asks the vector store behind it, or its BM25 ranking, and
    ``score_kind`` says what the numbers are: several stores answer with distances, which are passed as no score at all.
    ``filter_builder`` turns a flat mapping into what the store takes as ``filters_argument``; without it, filters are
    refused. ``owner_filters`` maps the trusted context to filters that always hold. ``tracing=False`` keeps queries
    and documents from being uploaded by LangSmith, whatever the environment says.
    """

    def __init__(
        self,
        target: Any,
        *,
        key: str,
        label: str,
        scores: bool = False,
        score_kind: ScoreKind = "raw",
        min_score: float | None = None,
        k_param: str | None = "k",
        filter_builder: FilterBuilder | None = None,
        filters_argument: str = "filter",
        owner_filters: OwnerFilters | None = None,
        source_fields: SourceFields | None = None,
        mode: Mode = "auto",
        workers: int = 4,
        waiting: int = 32,
        tracing: bool = False,
        timeout_seconds: float = 8.0,
    ) -> None:
        check_min_score(min_score, score_kind)
        self._search = search_for(target, scores=scores, k_param=k_param)
        if owner_filters is not None and filter_builder is None:
            raise ValueError("owner_filters needs a filter_builder that turns them into the store's own filters")
        if filter_builder is not None and not self._search.accepts(filters_argument):
            raise ValueError(f"the target ignores {filters_argument!r} or has fixed it already; pass its vector store")
        self._filter_builder = filter_builder
        self._filters_argument = filters_argument
        self._owner_filters = owner_filters
        self._score_kind = score_kind
        self._min_score = min_score
        self._source_fields = source_fields
        self._timeout_seconds = timeout_seconds
        self._uses_coroutine = mode == "async" or (mode == "auto" and self._search.native)
        self._threads = BoundedThreads(key, workers=workers, waiting=waiting)
        self._untraced = nullcontext if tracing else _tracing_off()
        self._translate = by_name(ERRORS)
        passes_scores = scores and score_kind == "raw"
        self._description = description(key, label, filters=filter_builder is not None, scores=passes_scores)

    def describe(self) -> ProviderDescription:
        return self._description

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> list[KnowledgeResult]:
        """Ask once; cancelling frees the caller at once, also while LangChain's own code blocks a thread."""
        async with vendor_call(self._description.key, context, self._timeout_seconds, self._translate):
            extra = self._extra(request, context)
            with self._untraced():
                documents = await self._ask(request.query, request.top_k, extra)
            return self._results(documents)[: request.top_k]

    def _extra(self, request: RetrievalRequest, context: RetrievalContext) -> dict[str, Any]:
        key = self._description.key
        filters = filters_for(key, request, context, self._owner_filters)
        if not filters:
            return {}
        if self._filter_builder is None:
            raise UnsupportedFilters(key)
        return {self._filters_argument: self._filter_builder(joined(key, filters))}

    async def _ask(self, query: str, top_k: int, extra: Mapping[str, Any]) -> Any:
        if self._uses_coroutine:
            return await self._search.coroutine(query, top_k, extra)
        return await self._threads.run(lambda: self._search.blocking(query, top_k, extra))

    def _results(self, documents: Any) -> list[KnowledgeResult]:
        rows = rows_at(documents, ("documents",))
        if rows is None:
            raise InvalidRetrievalResult(self._description.key, "no list of documents")
        return kept((self._result(row) for row in rows), self._min_score)

    def _result(self, row: Any) -> KnowledgeResult | None:
        document, score = row if isinstance(row, tuple) and len(row) == 2 else (row, None)
        if isinstance(document, str):
            return result_of(content=document, score=score, score_kind=self._score_kind)
        metadata = getattr(document, "metadata", None) or {}
        if score is None:
            score = _first(metadata, ("relevance_score", "score", "_score"))
        return result_of(
            getattr(document, "id", None),
            _first(metadata, ("_id", "id", "chunk_id")),
            content=getattr(document, "page_content", None),
            metadata=metadata,
            score=score,
            score_kind=self._score_kind,
            fields=self._source_fields,
        )

    async def close(self) -> None:
        """Take no more calls; the host's LangChain objects stay as they are."""
        self._threads.close()


def _first(metadata: Any, keys: Iterable[str]) -> Any:
    if not isinstance(metadata, Mapping):
        return None
    return next((metadata[key] for key in keys if metadata.get(key) is not None), None)


def _tracing_off() -> Callable[[], AbstractContextManager[Any]]:
    try:
        tracing_context = import_module("langsmith").tracing_context
    except ImportError:
        return nullcontext
    return lambda: tracing_context(enabled=False)


class _LangChainConfig(NamedConfig):
    target: str
    scores: bool = False
    k_param: str | None = "k"
    tracing: bool = False
    filters_argument: str = "filter"
    score_kind: ScoreKind = "raw"
    min_score: float | None = None
    source_fields: dict[str, str] | None = None
    mode: Mode = "auto"
    workers: int = Field(default=4, ge=1)
    owner_filters: str | None = None
    filter_builder: str | None = None


def from_config(config: Mapping[str, Any]) -> LangChainProvider:
    """Build a provider from settings. ``target`` names an object of the host's, or a function that makes one."""
    settings = read_config(_LangChainConfig, config, "langchain")
    paths = {"owner_filters": settings.owner_filters, "filter_builder": settings.filter_builder}
    values = settings.model_dump(exclude={"target", *paths})
    return LangChainProvider(made(settings.target, "langchain"), **values, **imported_options(paths, "langchain"))


__all__ = ["LangChainProvider", "from_config"]
