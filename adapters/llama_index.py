"""`LlamaIndexProvider`: a LlamaIndex retriever or index. Nothing of LlamaIndex is imported unless filters are built."""

import copy
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from pydantic import Field

from knowledge_provider import (
    InvalidRetrievalResult,
    KnowledgeResult,
    ProviderDescription,
    ProviderUnavailable,
    ProviderUnconfigured,
    RetrievalContext,
    RetrievalRequest,
    RetrievalTimedOut,
    UnsupportedFilters,
)

from ._config import NamedConfig, imported_options, made, read_config
from ._description import description
from ._failures import OurError, by_name, failed, unreadable, vendor_call
from ._filters import OwnerFilters, filters_for
from ._threads import BoundedThreads, Mode
from ._values import ScoreKind, SourceFields, check_min_score, kept, result_of

FilterBuilder = Callable[[Mapping[str, Any]], Any]

ERRORS: Mapping[str, OurError] = {
    "ValidationError": unreadable,
    "OutputParserException": unreadable,
    "WorkflowTimeoutError": RetrievalTimedOut,
    "WorkflowRuntimeError": ProviderUnavailable,
    "WorkflowValidationError": ProviderUnconfigured,
    "WorkflowConfigurationError": ProviderUnconfigured,
    "WorkflowStepDoesNotExistError": ProviderUnconfigured,
    "WorkflowCancelledByUser": ProviderUnavailable,
    "WorkflowDone": failed,
    "ContextSerdeError": failed,
    "ContextStateError": failed,
}
"""Exceptions that LlamaIndex raises beside Python's own, against ours; stores raise those of their clients."""


def equal_filters(conditions: Mapping[str, Any]) -> Any:
    """A `FilterBuilder`: every key must have exactly this value."""
    types = import_module("llama_index.core.vector_stores")
    return types.MetadataFilters(
        filters=[types.MetadataFilter(key=key, value=value) for key, value in conditions.items()]
    )


class LlamaIndexProvider:
    """Asks a LlamaIndex retriever, or the default retriever of an index, for nodes.

    LlamaIndex calls blocking code right on the event loop when a class has no coroutine of its own, so such
    retrievers run in threads. Each call works on a copy of the retriever: the number of results and the filters are
    attributes there, and two sessions would overwrite each other's. Filters of the retriever, of ``owner_filters`` and
    of the request are joined by AND. Without a ``filter_builder`` (see `equal_filters`) filters are refused.
    """

    def __init__(
        self,
        target: Any,
        *,
        key: str,
        label: str,
        filter_builder: FilterBuilder | None = None,
        owner_filters: OwnerFilters | None = None,
        score_kind: ScoreKind = "raw",
        min_score: float | None = None,
        source_fields: SourceFields | None = None,
        mode: Mode = "auto",
        workers: int = 4,
        waiting: int = 32,
        timeout_seconds: float = 8.0,
    ) -> None:
        check_min_score(min_score, score_kind)
        retriever = target.as_retriever() if hasattr(target, "as_retriever") else target
        if not hasattr(retriever, "aretrieve"):
            raise TypeError(f"LlamaIndexProvider needs a retriever or an index, not {type(target).__name__}")
        if owner_filters is not None and filter_builder is None:
            raise ValueError("owner_filters needs a filter_builder, for instance adapters.llama_index.equal_filters")
        if filter_builder is not None and "_filters" not in vars(retriever):
            raise ValueError(f"{type(retriever).__name__} applies no filters; use the retriever of a vector index")
        self._retriever = retriever
        self._filter_builder = filter_builder
        self._owner_filters = owner_filters
        self._score_kind = score_kind
        self._min_score = min_score
        self._source_fields = source_fields
        self._timeout_seconds = timeout_seconds
        self._uses_coroutine = mode == "async" or (mode == "auto" and is_async(retriever))
        self._threads = BoundedThreads(key, workers=workers, waiting=waiting)
        self._translate = by_name(ERRORS)
        self._description = description(key, label, filters=filter_builder is not None, scores=score_kind == "raw")

    def describe(self) -> ProviderDescription:
        return self._description

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> list[KnowledgeResult]:
        """Ask a copy of the retriever once; cancelling frees the caller at once."""
        async with vendor_call(self._description.key, context, self._timeout_seconds, self._translate):
            retriever = self._prepared(request, context)
            if self._uses_coroutine:
                nodes = await retriever.aretrieve(request.query)
            else:
                nodes = await self._threads.run(lambda: retriever.retrieve(request.query))
            if not isinstance(nodes, list | tuple):
                raise InvalidRetrievalResult(self._description.key, "no list of nodes")
            return kept((self._result(node) for node in nodes), self._min_score)[: request.top_k]

    def _prepared(self, request: RetrievalRequest, context: RetrievalContext) -> Any:
        filters = filters_for(self._description.key, request, context, self._owner_filters)
        counts = hasattr(self._retriever, "similarity_top_k")
        if not counts and not filters:
            return self._retriever
        retriever = copy.copy(self._retriever)
        if counts:
            corpus = getattr(retriever, "corpus", None)  # BM25 fails when more is asked for than there is
            retriever.similarity_top_k = min(request.top_k, len(corpus)) if corpus else request.top_k
        if filters:
            retriever._filters = self._joined(filters)
        return retriever

    def _joined(self, filters: Sequence[Mapping[str, Any]]) -> Any:
        if self._filter_builder is None:
            raise UnsupportedFilters(self._description.key)
        built = [self._filter_builder(part) for part in filters]
        fixed = self._retriever._filters
        return all_of([fixed, *built] if fixed is not None else built)

    def _result(self, found: Any) -> KnowledgeResult | None:
        node = getattr(found, "node", found)
        start, end = getattr(node, "start_char_idx", None), getattr(node, "end_char_idx", None)
        metadata = getattr(node, "metadata", None) or {}
        located = any(metadata.get(name) for name in ("locator", "page_label", "page", "file_path"))
        chars = f"chars={start}-{end}" if start is not None and end is not None and not located else None
        return result_of(
            getattr(node, "node_id", None),
            content=node.get_content(metadata_mode="none"),  # the default would mix paths and tags into the text
            metadata=metadata,
            score=getattr(found, "score", None),
            score_kind=self._score_kind,
            fields=self._source_fields,
            id=getattr(node, "ref_doc_id", None),
            locator=chars,
        )

    async def close(self) -> None:
        """Take no more calls; the host's LlamaIndex objects stay as they are."""
        self._threads.close()


def is_async(retriever: Any) -> bool:
    """Whether a coroutine of the class itself answers, and of the vector store behind it, with a client to use."""
    if not _is_own(retriever, "_aretrieve", "llama_index.core.base.base_retriever"):
        return False
    store = vars(retriever).get("_vector_store")
    if store is None:
        return True
    has_client = getattr(store, "_aclient", True) is not None
    return (
        has_client
        and _is_own(store, "aquery", "llama_index.core.vector_stores.types")
        and _embeds_async(vars(retriever).get("_embed_model"))
    )


def _embeds_async(model: Any) -> bool:
    """False for the coroutine found in many embedding packages that only calls its blocking twin."""
    code = getattr(getattr(type(model), "_aget_query_embedding", None), "__code__", None)
    return model is None or (code is not None and "_get_query_embedding" not in code.co_names)


def _is_own(target: Any, method: str, base_module: str) -> bool:
    owner = next((kind for kind in type(target).__mro__ if method in vars(kind)), None)
    return owner is not None and owner.__module__ != base_module


def all_of(filters: Sequence[Any]) -> Any:
    """Join MetadataFilters by AND; flat where possible, since the simple vector store refuses nested ones."""
    if len(filters) == 1:
        return filters[0]
    parts: list[Any] = []
    for each in filters:
        flat = getattr(each.condition, "value", each.condition) == "and" or (
            len(each.filters) == 1 and getattr(each.condition, "value", each.condition) == "or"
        )
        parts += each.filters if flat else [each]
    return type(filters[0])(filters=parts, condition="and")


class _LlamaIndexConfig(NamedConfig):
    target: str
    score_kind: ScoreKind = "raw"
    min_score: float | None = None
    source_fields: dict[str, str] | None = None
    mode: Mode = "auto"
    workers: int = Field(default=4, ge=1)
    owner_filters: str | None = None
    filter_builder: str | None = None


def from_config(config: Mapping[str, Any]) -> LlamaIndexProvider:
    """Build a provider from settings. ``target`` names an object of the host's, or a function that makes one."""
    settings = read_config(_LlamaIndexConfig, config, "llama-index")
    paths = {"owner_filters": settings.owner_filters, "filter_builder": settings.filter_builder}
    values = settings.model_dump(exclude={"target", *paths})
    return LlamaIndexProvider(made(settings.target, "llama-index"), **values, **imported_options(paths, "llama-index"))


__all__ = ["LlamaIndexProvider", "equal_filters", "from_config"]
