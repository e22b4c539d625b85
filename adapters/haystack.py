"""`HaystackProvider`: a Haystack component, super component or pipeline. Nothing of Haystack is imported."""

from collections.abc import Mapping, Sequence
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
    UnsupportedFilters,
)

from ._config import NamedConfig, imported_options, made, read_config
from ._description import description
from ._failures import OurError, by_name, failed, unreadable, vendor_call
from ._filters import OwnerFilters, filters_for
from ._haystack_target import is_pipeline, read_target, unfiltered
from ._threads import BoundedThreads, Mode
from ._values import ScoreKind, SourceFields, check_min_score, kept, result_of


def _filter_refused(provider: str) -> UnsupportedFilters:
    return UnsupportedFilters(provider, "does not understand these filters")


ERRORS: Mapping[str, OurError] = {
    "FilterError": _filter_refused,
    "MissingDocumentError": unreadable,
    "DuplicateDocumentError": unreadable,
    "DocumentStoreError": ProviderUnavailable,
    "ComponentError": ProviderUnconfigured,
    "ComponentDeserializationError": ProviderUnconfigured,
    "DeserializationError": ProviderUnconfigured,
    "SerializationError": ProviderUnconfigured,
    "InvalidMappingTypeError": ProviderUnconfigured,
    "InvalidMappingValueError": ProviderUnconfigured,
    "BreakpointException": failed,
    "PipelineInvalidPipelineSnapshotError": failed,
    "PipelineComponentsBlockedError": ProviderUnconfigured,
    "PipelineMaxComponentRuns": failed,
    "PipelineError": ProviderUnconfigured,
}
"""Haystack's exceptions against ours. `PipelineRuntimeError` only wraps what a component raised: that decides."""


class HaystackProvider:
    """Runs a Haystack component or pipeline and takes the documents that come out.

    The question goes to every input that must have one, the number of results to the component the documents leave.
    ``query_inputs``, ``output`` and ``top_k_inputs`` name others as "component.socket". With ``filters=True`` the
    filters of the owner, of the request and those fixed in each retriever are joined by AND; Haystack itself would let
    a later filter replace a fixed one. What Haystack would run in the loop's default executor runs in threads here.
    """

    def __init__(
        self,
        target: Any,
        *,
        key: str,
        label: str,
        query_inputs: Sequence[str] = (),
        output: str = "",
        top_k_inputs: Sequence[str] | None = None,
        filters: bool = False,
        owner_filters: OwnerFilters | None = None,
        score_kind: ScoreKind = "raw",
        min_score: float | None = None,
        source_fields: SourceFields | None = None,
        mode: Mode = "auto",
        workers: int = 4,
        waiting: int = 32,
        timeout_seconds: float = 8.0,
        owns_target: bool = False,
    ) -> None:
        check_min_score(min_score, score_kind)
        self._places = read_target(target, query_inputs=query_inputs, output=output, top_k_inputs=top_k_inputs)
        if owner_filters is not None and not filters:
            raise ValueError("owner_filters needs filters=True")
        if filters and (loose := unfiltered(target, self._places.filters)):
            raise ValueError(
                f"filters would not reach {', '.join(loose)}; leave its 'filters' input open, or filters out"
            )
        self._target = target
        self._accepts_filters = filters
        self._owner_filters = owner_filters
        self._score_kind = score_kind
        self._min_score = min_score
        self._source_fields = source_fields
        self._timeout_seconds = timeout_seconds
        self._owns_target = owns_target
        self._uses_coroutine = mode == "async" or (mode == "auto" and self._places.native)
        self._is_warm = not hasattr(target, "warm_up")
        self._threads = BoundedThreads(key, workers=workers, waiting=waiting)
        self._translate = by_name(ERRORS)
        self._description = description(key, label, filters=filters, scores=score_kind == "raw")

    def describe(self) -> ProviderDescription:
        return self._description

    async def retrieve(self, request: RetrievalRequest, context: RetrievalContext) -> list[KnowledgeResult]:
        """Run the target once; cancelling frees the caller at once, and ends components that are coroutines."""
        key = self._description.key
        async with vendor_call(key, context, self._timeout_seconds, self._translate):
            filters = filters_for(key, request, context, self._owner_filters)
            if filters and not self._accepts_filters:
                raise UnsupportedFilters(key)
            answer = await self._run(self._places.arguments(request.query, request.top_k, filters))
            documents = self._places.documents(answer)
            if not isinstance(documents, list):
                raise InvalidRetrievalResult(key, "no list of documents")
            return kept((self._result(document) for document in documents), self._min_score)[: request.top_k]

    async def _run(self, arguments: Mapping[str, Any]) -> Any:
        if not self._is_warm:  # loads models; Haystack's own coroutine for it would do that on the event loop
            await self._threads.run(self._target.warm_up)
            self._is_warm = True
        if self._uses_coroutine:
            return await self._target.run_async(**arguments)
        return await self._threads.run(lambda: self._target.run(**arguments))

    def _result(self, document: Any) -> KnowledgeResult | None:
        return result_of(
            getattr(document, "id", None),
            content=getattr(document, "content", None),
            metadata=getattr(document, "meta", None),
            score=getattr(document, "score", None),
            score_kind=self._score_kind,
            fields=self._source_fields,
        )

    async def close(self) -> None:
        """Take no more calls; close the target too when the host said that it is this provider's."""
        self._threads.close()
        if self._owns_target and is_pipeline(self._target):
            await self._target.close_async()


class _HaystackConfig(NamedConfig):
    target: str
    query_inputs: list[str] = Field(default_factory=list)
    output: str = ""
    top_k_inputs: list[str] | None = None
    filters: bool = False
    score_kind: ScoreKind = "raw"
    min_score: float | None = None
    source_fields: dict[str, str] | None = None
    mode: Mode = "auto"
    workers: int = Field(default=4, ge=1)
    owner_filters: str | None = None


def from_config(config: Mapping[str, Any]) -> HaystackProvider:
    """Build a provider from settings. ``target`` names an object of the host's, or a function that makes one."""
    settings = read_config(_HaystackConfig, config, "haystack")
    paths = {"owner_filters": settings.owner_filters}
    values = settings.model_dump(exclude={"target", *paths})
    return HaystackProvider(made(settings.target, "haystack"), **values, **imported_options(paths, "haystack"))


__all__ = ["HaystackProvider", "from_config"]
